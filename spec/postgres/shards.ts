/**
 * `npx tsx spec/postgres/shards.ts`: places owners on databases by hash, and prints how uneven the load is, and how many owners
 * have to move to even it out. The load of an owner has a Pareto distribution: most do little, a few do much.
 */
const [OWNERS, DATABASES, SEED] = [10_000_000, 16, 18]
/** The shape of the distribution: with 1.16, a fifth of the owners makes four fifths of the load. */
const SHAPE = 1.16
/** An owner whose writes go to one database cannot have more than about this share of all load. */
const MAX_WEIGHT = 100_000
const TOLERANCE = 1.02

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
const show = (what: string, value: number) => console.log(`${what}: ${value.toFixed(3)}`)
show('owners of the fullest database, of the mean', Math.max(...owners) / (OWNERS / DATABASES))
show('load of the busiest database, of the mean', Math.max(...loads) / mean)
largest.sort((left, right) => right.weight - left.weight)
show('load of the busiest owner, of the mean of a database', largest[0]!.weight / mean)

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
show('owners moved', moved)
show('load of the busiest database afterwards, of the mean', Math.max(...loads) / mean)
