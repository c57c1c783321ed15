import { parseArgs } from 'node:util'
import { buildProgram } from '../../support/build.ts'
import { replaceMeasured } from '../measured.ts'
import type { Outcome } from './load.ts'
import { missingPrograms } from './programs.ts'
import { strikes } from './strikes.ts'

/**
 * `npm run faults`: the faults of one database and its standby, then strikes at a fleet under a failover
 * manager, where its programs are installed. `--only a,b` selects strikes whose name contains a word,
 * `--docs` writes the tables into docs/operations.md.
 */
const { values } = parseArgs({ options: { only: { type: 'string' }, docs: { type: 'boolean' } } })
const note = (line: string) => void process.stderr.write(`${line}\n`)

const words = (values.only ?? '').split(',')
const isSelected = (name: string) => words.some((word) => name.includes(word))

const rowOf = (name: string, outcome: Outcome, isClean: boolean): string => {
  const { acknowledged, lost, halfDone, stale, refused, resets, wrong, databaseAway, allotAway } = outcome
  const counts = [acknowledged, lost, halfDone, stale, refused, resets, wrong.length]
  const texts = [...counts.map((count) => count.toLocaleString('en')), isClean ? 'clean' : 'FAULTS']
  return `| ${[name, ...texts, databaseAway.toFixed(1), allotAway.toFixed(1)].join(' | ')} |`
}

const HEAD = [
  '| while 16 clients wrote and 4 read | acknowledged | lost | half done | stale | 503 | resets | other | `verify` | s without a write: database | Allot |',
  '|---|---|---|---|---|---|---|---|---|---|---|',
]

const runFleet = async (): Promise<void> => {
  const missing = missingPrograms()
  if (missing.length > 0) return note(`The strikes at a fleet are not run: ${missing.join('; ')}.`)
  process.env.ALLOT_SPEC_PROGRAM = buildProgram()
  const [{ startFleet }, { emptyDataFolder, runStrike }] = await Promise.all([
    import('./patroni.ts'),
    import('./run.ts'),
  ])
  const fleet = await startFleet()
  const data = emptyDataFolder()
  const rows: string[] = []
  let token: string | undefined
  try {
    for (const strike of strikes.filter(({ name }) => isSelected(name))) {
      const reason = strike.impossible?.() ?? false
      note(reason === false ? `… ${strike.name}` : `not run: ${strike.name}: ${reason}`)
      if (reason !== false) continue
      const struck = await runStrike(fleet, strike, data, token)
      token = struck.token
      const { lost, halfDone, stale, wrong } = struck.outcome
      if (!struck.isClean || lost + halfDone + stale + wrong.length > 0) process.exitCode = 1
      for (const line of wrong.slice(0, 5)) note(`  ${line}`)
      rows.push(rowOf(strike.name, struck.outcome, struck.isClean))
      note(rows.at(-1)!)
    }
  } finally {
    if (process.env.ALLOT_SPEC_KEEP_FLEET === undefined) await fleet.dispose()
  }
  const table = [...HEAD, ...rows].join('\n')
  process.stdout.write(`${table}\n`)
  if (values.docs) replaceMeasured('docs/operations.md', 'fleet faults', table)
}

if (values.only === undefined) await import('./one-database.ts')
await runFleet()
