import { spawn } from 'node:child_process'
import { closeSync, openSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import type { Recorded } from './totals.ts'

/**
 * `run` of node:test is not used: on Node 20 it loses a message of a process now and then, where two pieces
 * of its output meet, and with it the result of a test.
 */
const RECORD = fileURLToPath(new URL('record.mjs', import.meta.url))

interface GroupRuns {
  /** Processes at a time. */
  readonly concurrency: number
  /** After which a process is killed. */
  readonly timeoutMs: number
  /** Only the tests whose title contains this text. */
  readonly title: string | undefined
  readonly onEnd: (ended: EndedGroup) => void
}

interface EndedGroup {
  /** What it has printed. */
  readonly text: string
  readonly events: readonly Recorded[]
  /** Null when it was killed. */
  readonly code: number | null
}

/**
 * Runs each group of spec files in a process of its own.
 * @param groups paths of modules, as `writeGroup` makes them
 */
export const runGroups = async (groups: readonly string[], options: GroupRuns): Promise<void> => {
  const waiting = [...groups]
  const next = async () => {
    for (let group = waiting.shift(); group !== undefined; group = waiting.shift())
      options.onEnd(await runGroup(group, options))
  }
  await Promise.all(Array.from({ length: options.concurrency }, next))
}

/** Its output goes to files, since a process that a spec leaves behind may hold a pipe open for ever. */
const runGroup = async (group: string, { timeoutMs, title }: GroupRuns): Promise<EndedGroup> => {
  const [printed, recorded] = [`${group}.txt`, `${group}.ndjson`]
  const output = openSync(printed, 'w')
  const args = [
    ...process.execArgv,
    // A test that fails may leave a server open.
    '--test-force-exit',
    ...['spec', RECORD].flatMap((reporter) => [
      `--test-reporter=${reporter}`,
      '--test-reporter-destination=stdout',
    ]),
    ...(title === undefined ? [] : [`--test-name-pattern=${title}`]),
    group,
  ]
  const child = spawn(process.execPath, args, {
    stdio: ['ignore', output, output],
    env: { ...process.env, ALLOT_SPEC_RECORD: recorded },
    timeout: timeoutMs,
    killSignal: 'SIGKILL',
  })
  const code = await new Promise<number | null>((resolve) => child.on('exit', resolve))
  closeSync(output)
  return { text: withoutTotals(readFileSync(printed, 'utf8')), events: eventsIn(recorded), code }
}

/** Those of the group: the run prints its own. */
const withoutTotals = (text: string): string =>
  text.replace(/^ℹ (?:tests|suites|pass|fail|cancelled|skipped|todo|duration_ms) .*\n/gm, '')

/** The last line is incomplete when the process was killed. */
const eventsIn = (file: string): Recorded[] => {
  try {
    const lines = readFileSync(file, 'utf8').split('\n').slice(0, -1)
    return lines.map((line) => JSON.parse(line))
  } catch (error) {
    // It ended before it ran a test.
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return []
    throw error
  }
}
