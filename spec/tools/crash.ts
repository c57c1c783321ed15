import { parseArgs } from 'node:util'
import type { Totals } from '../crash/rounds.ts'
import { buildProgram } from '../support/build.ts'

/**
 * `npm run crash -- --rounds N --seed S`: exits with 1 when a write was lost or the data are inconsistent.
 */
const { values } = parseArgs({ options: { rounds: { type: 'string' }, seed: { type: 'string' } } })
const rounds = numberIn('rounds', values.rounds ?? '500')
const seed = numberIn('seed', values.seed ?? String(Date.now() % 2 ** 32))

function numberIn(option: string, text: string): number {
  if (/^\d{1,10}$/.test(text)) return Number(text)
  process.stderr.write(`--${option} ${text}: expected a number of at most 10 digits\n`)
  process.exit(2)
}

const start = performance.now()
const clock = (): string => {
  const seconds = Math.round((performance.now() - start) / 1000)
  return `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, '0')}`
}

const progress = (totals: Totals): void => {
  const { kills, acknowledged, inFlight } = totals
  const line = `${totals.rounds}/${rounds} rounds, ${kills} kills, ${acknowledged} writes acknowledged, ${inFlight} in flight, ${clock()}`
  if (process.stdout.isTTY) process.stdout.write(`\r\x1b[K${line}`)
  else if (totals.rounds % 25 === 0) process.stdout.write(`${line}\n`)
}

process.stdout.write(`seed ${seed}\n`)
// Kills the published program, not its source.
process.env.ALLOT_SPEC_PROGRAM = buildProgram()
const { crash } = await import('../crash/rounds.ts')
const { faults, data, ...totals } = await crash({
  rounds,
  seed,
  maxWrites: 400,
  recountEvery: 5,
  progress,
})
if (process.stdout.isTTY) process.stdout.write('\r\x1b[K')

const numbers = Object.values(totals).map((total) => total.toLocaleString('en'))
process.stdout.write(`
| rounds | kills | writes acknowledged | in flight at a kill | lost | inconsistent |
|---|---|---|---|---|---|
| ${numbers.join(' | ')} |

${clock()} in all, seed ${seed}
`)
for (const fault of faults.slice(0, 50)) process.stdout.write(`\n${fault}\n`)
if (faults.length > 0) {
  process.stdout.write(`\n${faults.length} faults; the data are in ${data}\n`)
  process.exitCode = 1
}
