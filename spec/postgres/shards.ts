import { replaceSection } from '../readme/documents.ts'

/**
 * `npx tsx spec/postgres/shards.ts`: places owners on databases by hash, and prints how uneven the load is,
 * how many owners have to move to even it out, and what a database has to hold and to answer, by the figures
 * that were measured. The load of an owner has a Pareto distribution: most do little, a few do much. `--docs`
 * writes the tables into docs/scale.md.
 */
const [OWNERS, DATABASES, SEED] = [10_000_000, 16, 18]
/** The shape of the distribution: with 1.16, a fifth of the owners makes four fifths of the load. */
const SHAPE = 1.16
/** An owner whose writes go to one database cannot have more than about this share of all load. */
const MAX_WEIGHT = 100_000
const TOLERANCE = 1.02

/** For each owner: how many, and rows and bytes of each (docs/scale.md, Size). */
const STORED = [
  { each: 1, rows: 23, bytes: 5100 },
  { each: 1, rows: 5, bytes: 1000 },
  { each: 10, rows: 29, bytes: 7100 },
  { each: 100, rows: 3.3, bytes: 1100 },
  { each: 100, rows: 3.3, bytes: 900 },
]
/**
 * Requests per second at the peak, and the shares of them that write, and that list all owners
 * (docs/scale.md, Load).
 */
const PEAK = { requests: 20_000, writing: 1 / 20, listing: 1 / 100 }
/**
 * Milliseconds of a core of the database; a write where batches are small (docs/scale.md, Processes on one
 * machine).
 */
const CORE_MS = { read: 0.04, write: 0.41 }
/** Seconds of a processor to export and import one owner (spec/postgres/move.ts). */
const MOVE_SECONDS = 0.3

/** mulberry32 */
const randomFrom = (seed: number) => () => {
  seed = (seed + 0x6d2b79f5) | 0
  let mixed = Math.imul(seed ^ (seed >>> 15), 1 | seed)
  mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
  return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
}

const random = randomFrom(SEED)
const owners = new Uint32Array(DATABASES)
const loads = new Float64Array(DATABASES)
const largest: { weight: number; database: number }[] = []
for (let owner = 0; owner < OWNERS; owner++) {
  const database = Math.floor(random() * DATABASES)
  const weight = Math.min(MAX_WEIGHT, (1 - random()) ** (-1 / SHAPE))
  owners[database]!++
  loads[database]! += weight
  if (weight > MAX_WEIGHT / 100) largest.push({ weight, database })
}

const mean = loads.reduce((sum, load) => sum + load) / DATABASES
const fullest = Math.max(...owners) / (OWNERS / DATABASES)
const busiest = Math.max(...loads) / mean
largest.sort((left, right) => right.weight - left.weight)

/** Moves the largest owner that fits, from the busiest database to the idlest one. */
let moved = 0
while (Math.max(...loads) > mean * TOLERANCE) {
  const from = loads.indexOf(Math.max(...loads))
  const to = loads.indexOf(Math.min(...loads))
  const fits = largest.find(
    ({ weight, database }) => database === from && loads[to]! + weight <= mean * TOLERANCE,
  )
  if (fits === undefined) break
  loads[from]! -= fits.weight
  loads[to]! += fits.weight
  fits.database = to
  moved++
}

const balance = [
  '| | of the mean of a database |',
  '|---|---|',
  `| owners of the fullest database | ${fullest.toFixed(3)} |`,
  `| load of the busiest database | ${busiest.toFixed(3)} |`,
  `| load of the busiest owner | ${(largest[0]!.weight / mean).toFixed(3)} |`,
  `| load of the busiest database, after ${moved} owners have moved | ${(Math.max(...loads) / mean).toFixed(3)} |`,
]

const sumOf = (value: (kind: (typeof STORED)[number]) => number): number =>
  STORED.reduce((sum, kind) => sum + kind.each * value(kind), 0) * (OWNERS / DATABASES)
const number = (value: number, digits = 0): string =>
  value.toLocaleString('en', { minimumFractionDigits: digits, maximumFractionDigits: digits })
const row = (what: string, value: number, factor: number, digits = 0): string =>
  `| ${what} | ${number(value, digits)} | ${number(value * factor, digits)} |`

const writes = (PEAK.requests * PEAK.writing) / DATABASES
const lists = PEAK.requests * PEAK.listing
const reads = (PEAK.requests * (1 - PEAK.writing - PEAK.listing)) / DATABASES
const cores = (writes * CORE_MS.write + (reads + lists) * CORE_MS.read) / 1000
const perDatabase = [
  '| | a database, on average | the fullest or busiest |',
  '|---|---|---|',
  row('owners', OWNERS / DATABASES, fullest),
  row(
    'rows, in millions',
    sumOf(({ rows }) => rows / 1e6),
    fullest,
  ),
  row(
    'GB on the disk',
    sumOf(({ bytes }) => bytes / 1e9),
    fullest,
  ),
  row('reads of one owner per second at the peak', reads, busiest),
  `| lists over all owners per second, which each database answers | ${number(lists)} | ${number(lists)} |`,
  row('writes per second', writes, busiest),
  row('cores of the database in use', cores, busiest, 2),
  row('percent of the requests that fail while it is away', 100 / DATABASES, busiest, 1),
  row(
    'hours of a core to move half of its owners to a new database',
    (OWNERS / DATABASES / 2) * (MOVE_SECONDS / 3600),
    fullest,
  ),
]

const table = [...balance, '', ...perDatabase].join('\n')
console.log(table)
if (process.argv.includes('--docs')) replaceSection('docs/scale.md', 'shards', table)
