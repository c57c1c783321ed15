import { writeFileSync } from 'node:fs'
import { cpus, tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { replaceMeasured } from '../measured.ts'
import { changes } from './changes.ts'
import { clone } from './clone.ts'
import { deletionOf } from './deletion.ts'
import { firstReads } from './first-reads.ts'
import { lfs } from './lfs.ts'
import { logins } from './logins.ts'
import { beside } from './peer.ts'
import { postgres } from './postgres/postgres.ts'
import { quota } from './quota.ts'
import { reads } from './reads.ts'
import { table } from './report/figures.ts'
import { type Measurement, ratioOf } from './report/measure.ts'
import { searchOf } from './search.ts'
import { missingGenerator } from './servers/load.ts'
import { sizesUpTo } from './sizes.ts'
import { startUp } from './start.ts'
import { verification } from './verify.ts'
import { writes } from './writes.ts'

/**
 * Measures each operation and its reference in turns, and prints medians and ratios. `--docs` writes the
 * tables into docs/performance.md.
 */
const USAGE = `npm run bench -- [options]   measures each operation and a reference in turns

  --only NAME,NAME      some of the benchmarks
  --rounds N            rounds of each (5 by default)
  --scale S             part of the largest instance, above 0 and at most 1 (0.1 by default)
  --data FOLDER         where filled instances are kept for later runs (a temporary folder by default)
  --storage postgres    a PostgreSQL that the benchmark starts
  --peer URL --peer-token TOKEN   asks another server of the same API the same, in turns;
                        creates 54 repositories there
  --peer-pid PID        its process, to compare memory
  --json FILE           writes the figures
  --docs                writes the tables into docs/performance.md
`

const options = {
  only: { type: 'string' },
  storage: { type: 'string', default: 'level' },
  rounds: { type: 'string', default: '5' },
  json: { type: 'string' },
  peer: { type: 'string' },
  'peer-token': { type: 'string' },
  'peer-pid': { type: 'string' },
  scale: { type: 'string', default: '0.1' },
  data: { type: 'string', default: join(tmpdir(), 'allot-bench-instances') },
  docs: { type: 'boolean' },
  help: { type: 'boolean', short: 'h' },
} as const

const readFlags = () => {
  try {
    return parseArgs({ options }).values
  } catch (error) {
    return fail(`${(error as Error).message.split('. ', 1)[0]}: see npm run bench -- --help`)
  }
}

const flags = readFlags()
if (flags.help) {
  process.stdout.write(USAGE)
  process.exit()
}

const rounds = Number(flags.rounds)
if (!Number.isInteger(rounds) || rounds < 1) fail(`--rounds ${flags.rounds}: expected a whole number from 1`)

const scale = Number(flags.scale)
if (!(scale > 0 && scale <= 1)) fail(`--scale ${flags.scale}: expected a number above 0 and at most 1`)

const instances = { scale, folder: flags.data }
const all = {
  level: [
    reads,
    logins,
    quota,
    writes,
    changes,
    startUp,
    verification,
    clone,
    firstReads,
    lfs,
    searchOf(instances),
    sizesUpTo(instances),
    deletionOf(instances),
  ],
  postgres: [postgres],
}
if (!(flags.storage in all)) fail(`--storage ${flags.storage}: expected level or postgres`)
const storage = flags.storage as keyof typeof all
const names = all[storage].map(({ name }) => name).join(', ')

const pid = Number(flags['peer-pid'] ?? '0')
if (!Number.isInteger(pid) || pid < 0)
  fail(`--peer-pid ${flags['peer-pid']}: expected the number of a process`)
const peer =
  flags.peer === undefined
    ? undefined
    : beside({ url: flags.peer, token: flags['peer-token'] ?? '', ...(pid === 0 ? {} : { pid }) })

const benches =
  peer !== undefined
    ? [peer]
    : flags.only === undefined
      ? all[storage]
      : all[storage].filter(({ name }) => flags.only?.split(',').includes(name))
if (benches.length === 0) fail(`--only ${flags.only}: expected ${names}`)

const missing = benches.some(({ sendsLoad }) => sendsLoad) ? missingGenerator() : undefined
if (missing !== undefined) fail(missing)

function fail(words: string): never {
  process.stderr.write(`bench: ${words}\n`)
  process.exit(2)
}

const say = (words: string) => process.stderr.write(`… ${words}\n`)

const json = (all: readonly Measurement[]): string =>
  `${JSON.stringify(
    { node: process.versions.node, cores: cpus().length, rounds, measured: all.map(withRatio) },
    null,
    2,
  )}\n`

const withRatio = (measurement: Measurement) => ({ ...measurement, ratio: ratioOf(measurement) })

const measured: Measurement[] = []
for (const bench of benches) {
  const rows = await bench.run({ rounds, say })
  if (flags.docs) replaceMeasured('docs/performance.md', `bench of ${bench.name}`, table(rows))
  measured.push(...rows)
}

process.stdout.write(
  `${table(measured)}\n\nNode ${process.versions.node}, ${cpus().length} cores, ${rounds} rounds\n`,
)
if (flags.json !== undefined) writeFileSync(flags.json, json(measured))
process.exit(measured.every((one) => one.isReached !== false) ? 0 : 1)
