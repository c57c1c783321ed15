import { spawn, spawnSync } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** The command: `SCHEMATHESIS`, or schemathesis on the path. */
export const COMMAND = process.env.SCHEMATHESIS ?? 'schemathesis'

/** The version of schemathesis; undefined when it is not installed. */
export const installedVersion = (): string | undefined => {
  const { status, stdout } = spawnSync(COMMAND, ['--version'], { encoding: 'utf8' })
  return status === 0 ? stdout.trim() : undefined
}

export interface Campaign {
  /** URL of the API, with the base path. */
  api: string
  token: string
  document: unknown
  /** Options of schemathesis that select operations. */
  filters: readonly string[]
  examples: number
  seed: number
}

export interface Outcome {
  /** Generated requests whose answers were checked. */
  cases: number
  passed: boolean
}

/**
 * The checks that hold for every answer. Left out: that all invalid input is refused (an invalid page number
 * is ignored, as in Gitea), and that all valid input is accepted (a schema cannot say which names are taken).
 */
const CHECKS = [
  'not_a_server_error',
  'status_code_conformance',
  'content_type_conformance',
  'response_headers_conformance',
  'response_schema_conformance',
  'unsupported_method',
  'allow_header_conformance',
  'ignored_auth',
]

export const run = async ({ api, token, document, filters, examples, seed }: Campaign): Promise<Outcome> => {
  const folder = mkdtempSync(join(tmpdir(), 'allot-fuzz-'))
  try {
    const [schema, report] = [join(folder, 'openapi.json'), join(folder, 'report.json')]
    writeFileSync(schema, JSON.stringify(document))
    const args = ['run', schema, '--url', api, '--header', `Authorization: token ${token}`, ...filters]
    args.push('--checks', CHECKS.join(), '--max-examples', `${examples}`, '--seed', `${seed}`, '--no-color')
    args.push('--generation-database', 'none', '--warnings', 'off', '--continue-on-failure')
    args.push('--report', 'json', '--report-json-path', report)
    const passed = (await exitCodeOf(args, folder)) === 0
    return { cases: existsSync(report) ? countCases(readFileSync(report, 'utf8')) : 0, passed }
  } finally {
    rmSync(folder, { recursive: true })
  }
}

const exitCodeOf = (args: string[], cwd: string): Promise<number | null> =>
  new Promise((resolve, reject) => {
    const hooks = join(import.meta.dirname, 'media_types.py')
    const env = { ...process.env, SCHEMATHESIS_HOOKS: hooks }
    const child = spawn(COMMAND, args, { cwd, env, stdio: ['ignore', 'inherit', 'inherit'] })
    child.on('error', reject)
    child.on('close', resolve)
  })

/** Leaves out generated cases whose answers no check looked at. */
const countCases = (report: string): number => {
  const { test_cases: cases } = JSON.parse(report) as {
    test_cases: { generated: number; without_checks: number }
  }
  return cases.generated - cases.without_checks
}
