import { openSync, writeSync } from 'node:fs'
import { inspect } from 'node:util'

/**
 * A reporter of Node's test runner: writes what `Totals` counts to the file that ALLOT_SPEC_RECORD names, a line of JSON
 * for each event. It writes the file itself: Node does not wait for a destination when it ends a process by force.
 *
 * @param {import('node:test').TestsStream} source
 */
// biome-ignore lint/correctness/useYield: a reporter is a generator, and this one prints nothing.
export default async function* record(source) {
  const file = openSync(process.env.ALLOT_SPEC_RECORD ?? '/dev/null', 'w')
  for await (const { type, data } of source) {
    if (!['test:dequeue', 'test:complete', 'test:pass', 'test:fail'].includes(type)) continue
    const { name, nesting, skip, details } = data
    const { type: kind, error } = details ?? {}
    const failure = error && { type: error.failureType, text: inspect(error.cause ?? error) }
    writeSync(file, `${JSON.stringify({ type, name, nesting, skip, isSuite: kind === 'suite', failure })}\n`)
  }
}
