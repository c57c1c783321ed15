import { appendFileSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Route } from '../../lib/http/index.ts'

/**
 * Environment variable with the directory in which each spec process records answered statuses; spec/run.ts
 * sets it.
 */
export const COVERAGE_FOLDER = 'ALLOT_SPEC_PRODUCED'

type Declared = Pick<Route<never, never>, 'operationId' | 'responses'>

const recorded = new Set<string>()

/** Records an answer at once, in a file of this process, since the process can be killed. */
export const recordAnswer = (
  { operationId }: Declared,
  status: number,
  folder = process.env[COVERAGE_FOLDER],
): void => {
  const line = `${operationId} ${status}`
  if (folder === undefined || recorded.has(line)) return
  recorded.add(line)
  appendFileSync(join(folder, `${process.pid}`), `${line}\n`)
}

/** Each `operationId status` that a route declares and no spec has got as an answer. */
export const uncoveredStatuses = (routes: readonly Declared[], folder: string): string[] => {
  const files = readdirSync(folder).map((file) => readFileSync(join(folder, file), 'utf8'))
  const produced = new Set(files.flatMap((text) => text.split('\n')))
  return routes
    .flatMap(({ operationId, responses }) =>
      Object.keys(responses).map((status) => `${operationId} ${status}`),
    )
    .filter((line) => !produced.has(line))
}
