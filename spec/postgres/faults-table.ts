import { putBetween } from '../readme/between.ts'
import { type Fault, faults, type Struck, struckBy } from './faults.ts'

/** `npm run faults`: lets each fault strike, and prints what came of it; `--readme` puts the table into the README. */
const CALM = 2000

const rowOf = ({ name }: Fault, { acknowledged, lost, miscounted, refused, wrong, away }: Struck): string => {
  const numbers = [acknowledged, lost, miscounted, refused, wrong.length].map((one) =>
    one.toLocaleString('en'),
  )
  return `| ${[name, ...numbers, `${away.toFixed(1)} s`].join(' | ')} |`
}

const rows: string[] = []
let isSound = true
for (const fault of faults) {
  process.stderr.write(`… ${fault.name}\n`)
  const struck = await struckBy(fault, CALM)
  rows.push(rowOf(fault, struck))
  isSound &&= struck.lost + struck.miscounted + struck.wrong.length === 0
}
const table = [
  '| while 16 clients wrote: | acknowledged | lost | miscounted | 503 while away | other errors | longest without a write |',
  '|---|---|---|---|---|---|---|',
  ...rows,
].join('\n')
process.stdout.write(`${table}\n`)
if (process.argv.includes('--readme')) putBetween('faults', table)
process.exitCode = isSound ? 0 : 1
