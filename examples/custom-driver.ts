// A storage driver of one's own: ordered bytes and two kinds of transaction, nothing optional. This one keeps a sorted
// array in memory, and is as plain as a driver can be; `allot/storage` has the pieces that drivers share. Its proof is
// the published suite `allot/driver-spec`: three lines, as in spec/examples/custom-driver.spec.ts.
// Run it with: npx tsx examples/custom-driver.ts
import { createAllot } from 'allot'
import {
  compareKeys,
  type Entry,
  GroupCommit,
  guarded,
  Lifecycle,
  type PendingChange,
  type ReadTransaction,
  type StorageDriver,
} from 'allot/storage'

/** What a transaction reads, of the given entries. */
const reading = (entries: () => readonly Entry[]): ReadTransaction => {
  const get: ReadTransaction['get'] = async (wanted) =>
    entries().find(([key]) => compareKeys(key, wanted) === 0)?.[1]
  return {
    get,
    getMany: (keys) => Promise.all(keys.map(get)),
    async *range({ start, end, reverse = false, limit }) {
      const within = entries().filter(([key]) => compareKeys(key, start) >= 0 && compareKeys(key, end) < 0)
      yield* (reverse ? within.reverse() : within).slice(0, limit)
    },
  }
}

/** The entries after a batch: whole or not at all, for the old array is left as it is. */
const after = (entries: readonly Entry[], changes: Iterable<PendingChange>): readonly Entry[] => {
  let next = [...entries]
  for (const [changed, value] of changes) {
    next = next.filter(([key]) => compareKeys(key, changed) !== 0)
    if (value !== undefined) next.push([changed, value])
  }
  return next.sort(([one], [other]) => compareKeys(one, other))
}

export const sortedArray = (): StorageDriver => {
  let entries: readonly Entry[] = []
  // One write after another, each seeing those before it; here is where a real driver would wait for its disk.
  const begin = async () =>
    new GroupCommit(
      reading(() => entries),
      async (changes) => {
        entries = after(entries, changes)
      },
    )
  const life = new Lifecycle(begin, async () => undefined)

  return {
    name: 'sorted array',
    shared: false,
    open: () => life.open(),
    read: (work) =>
      life.use(async () => {
        const snapshot = entries
        const { tx, end } = guarded(reading(() => snapshot))
        try {
          return await work(tx)
        } finally {
          end()
        }
      }),
    write: (work) => life.use((commits) => commits.run(work)),
    close: () => life.close(),
  }
}

if (process.argv[1] === import.meta.filename) {
  const allot = await createAllot({ driver: sortedArray(), repositories: false })
  const alice = await allot.hosting.accounts.createUser({ name: 'alice' })
  await allot.hosting.repositories.create(alice, alice, { name: 'demo' })
  console.log(
    `${alice.name} is kept in a sorted array, with usage:`,
    (await allot.quota.info('alice')).used.size,
  )
  await allot.close()
}
