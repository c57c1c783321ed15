import { readFileSync } from 'node:fs'
import { parse } from 'smol-toml'
import * as v from 'valibot'
import { recordOf } from '../lib/http/json.ts'
import { Size } from '../lib/option-types.ts'
import { describeIssue } from '../lib/options.ts'
import { Subject } from '../lib/quota/subjects.ts'

const names = v.array(v.string())

/** Quota as code: what `allot quota apply` reads. */
const PlanFile = v.strictObject({
  prune: v.optional(v.boolean(), false),
  rules: v.optional(
    v.array(v.strictObject({ name: v.string(), limit: Size, subjects: v.optional(v.array(Subject), []) })),
    [],
  ),
  groups: v.optional(v.array(v.strictObject({ name: v.string(), rules: v.optional(names, []) })), []),
  assignments: v.optional(recordOf(names), {}),
})
export type PlanFile = v.InferOutput<typeof PlanFile>

/** @throws Error with a line for every key that is unknown or wrong. */
export const readPlan = (file: string): PlanFile => {
  const result = v.safeParse(PlanFile, parsed(file))
  if (result.success) return result.output
  throw new Error(`${file}:\n  ${result.issues.map(describeIssue).join('\n  ')}`)
}

const STANDARD_INPUT = 0

const parsed = (file: string): unknown => {
  try {
    return parse(readFileSync(file === '-' ? STANDARD_INPUT : file, 'utf8'))
  } catch (error) {
    throw new Error(`${file} cannot be read: ${(error as Error).message.split('\n')[0]}`)
  }
}
