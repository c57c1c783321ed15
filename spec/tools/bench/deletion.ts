import { cpSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Shape } from './filled.ts'
import { filledStore, type Instances } from './instance.ts'
import { type Bench, type Latency, latencyOf, type Measurement } from './report/measure.ts'
import { ask, type Hosted, hostOnAllCores } from './servers/index.ts'

/**
 * Of two accounts, one with two thirds of all repositories, which have more than a million ledger entries.
 */
const SHAPE: Shape = { people: 2, repos: 4000, entries: 1_500_000, stars: 0 }
const LARGEST = 'user-1'

/** Requests before the deletion. As many before them end what LevelDB merges after the fill. */
const BEFORE = 6000
/** Removing a million entries takes many minutes, in which the waits stay the same. */
const MAX_MEASURED_MS = 60_000

/** Milliseconds that another user waits for a list that is not cached, and for a durable write. */
const waitOf = async ({ port, told }: Hosted, at: number, repository: string): Promise<number> => {
  const begun = performance.now()
  await ask(port, `/api/v1/user/quota/artifacts?limit=${10 + (at % 40)}&page=${1 + (at % 50)}`, told.smallest)
  const method = at % 2 === 0 ? 'PUT' : 'DELETE'
  await ask(port, `/api/v1/user/starred/${repository}`, told.smallest, method)
  return performance.now() - begun
}

const rowsOf = (before: Latency, during: Latency, answered: number): Measurement[] => [
  {
    name: 'a list and a star of another user while an account with a million ledger entries is removed, p99',
    ...{ value: during.p99, reference: before.p99, unit: 'ms', against: 'before', latency: during },
    ...{ goal: 'within 1.5 times', isReached: during.p99 <= 1.5 * before.p99 },
  },
  { name: 'the answer to that deletion', value: answered, unit: 'ms' },
]

const removeLargest = async (served: Hosted): Promise<Measurement[]> => {
  const { port, told } = served
  const { text } = await ask(port, '/api/v1/user/repos?limit=1', told.smallest)
  const [{ full_name: repository }] = JSON.parse(text)
  let at = 0
  const waits: number[] = []
  while (at < 2 * BEFORE) waits.push(await waitOf(served, at++, repository))
  const begun = performance.now()
  await ask(port, `/api/v1/admin/users/${LARGEST}?purge=true`, told.admin, 'DELETE')
  const answered = performance.now() - begun
  const during: number[] = []
  const isPending = async () => (await ask(port, '/jobs')).text !== '0'
  const isMeasured = async () => performance.now() - begun < MAX_MEASURED_MS && (await isPending())
  while (at % 100 !== 0 || (await isMeasured())) during.push(await waitOf(served, at++, repository))
  return rowsOf(latencyOf(waits.slice(BEFORE)), latencyOf(during), answered)
}

/** How long other users wait while everything that a large account had is removed. */
export const deletionOf = ({ folder }: Instances): Bench => ({
  name: 'deletion',
  async run({ say }) {
    say(`an account with two thirds of ${SHAPE.entries.toLocaleString('en')} ledger entries`)
    const filled = await filledStore(folder, SHAPE)
    const copy = mkdtempSync(join(tmpdir(), 'allot-bench-'))
    try {
      cpSync(filled, copy, { recursive: true })
      // LevelDB compacts in a thread of its own, which one core for the whole process would put before
      // requests.
      const served = await hostOnAllCores('instance', copy, String(SHAPE.people))
      try {
        say('removing it')
        return await removeLargest(served)
      } finally {
        await served.stop()
      }
    } finally {
      rmSync(copy, { recursive: true })
    }
  },
})
