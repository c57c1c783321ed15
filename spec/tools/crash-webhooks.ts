import { rmSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { buildProgram } from '../support/build.ts'
import { temporaryDirectory } from '../support/folder.ts'

/**
 * `npm run crash:webhooks -- --kills N --deliveries N`: exits with 1 when a delivery was lost or came out of
 * order.
 */
const { values } = parseArgs({ options: { kills: { type: 'string' }, deliveries: { type: 'string' } } })
const [kills, deliveries] = [Number(values.kills ?? 50), Number(values.deliveries ?? 10_000)]

// Kills the published program, not its source.
process.env.ALLOT_SPEC_PROGRAM = buildProgram()
const { killAmidDeliveries } = await import('../webhooks/kills.ts')
const data = temporaryDirectory()
const start = performance.now()
const onProgress = (done: object) => process.stdout.write(`${JSON.stringify(done)}\n`)
const { faults, ...result } = await killAmidDeliveries({ kills, deliveries, data, onProgress })
process.stdout.write(`
| kills | issues acknowledged | deliveries received | repeated | lost or out of order |
|---|---|---|---|---|
| ${Object.values(result).join(' | ')} | ${faults.length} |

${Math.round((performance.now() - start) / 1000)} s in all
`)
for (const fault of faults.slice(0, 50)) process.stdout.write(`${fault}\n`)
rmSync(data, { recursive: true, force: true })
if (faults.length > 0) process.exitCode = 1
