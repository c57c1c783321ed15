import { type Fault, type FaultOutcome, faults, runFault } from '../../postgres/faults.ts'
import { replaceMeasured } from '../measured.ts'

/**
 * `npm run faults`: runs each fault and prints the outcomes as a table; `--docs` writes the table into
 * docs/operations.md.
 */
/** Writes of each client before and after a fault. */
const CALM_WRITES = 100

const rowOf = (
  { name }: Fault,
  { acknowledged, lost, miscounted, refused, wrong, away }: FaultOutcome,
): string => {
  const numbers = [acknowledged, lost, miscounted, refused, wrong.length].map((count) =>
    count.toLocaleString('en'),
  )
  return `| ${[name, ...numbers, `${away.toFixed(1)} s`].join(' | ')} |`
}

const rows: string[] = []
let isCorrect = true
for (const fault of faults) {
  process.stderr.write(`… ${fault.name}\n`)
  const outcome = await runFault(fault, CALM_WRITES)
  rows.push(rowOf(fault, outcome))
  isCorrect &&= outcome.lost + outcome.miscounted + outcome.wrong.length === 0
}
const table = [
  '| while 16 clients wrote: | acknowledged | lost | miscounted | 503 while away | other errors | longest without a write |',
  '|---|---|---|---|---|---|---|',
  ...rows,
].join('\n')
process.stdout.write(`${table}\n`)
if (process.argv.includes('--docs')) replaceMeasured('docs/operations.md', 'faults', table)
process.exitCode = isCorrect ? 0 : 1
