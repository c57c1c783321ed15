// A custom storage driver: ordered bytes and two kinds of transactions, nothing optional. This one keeps a
// sorted array in memory, and is as simple as a driver can be; `allot/storage` exports what drivers share.
// The published suite `allot/driver-spec` tests a driver in three lines, as in
// spec/examples/custom-driver.long.spec.ts. Run it with: npx tsx examples/custom-driver.ts
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

/** A transaction that reads the given entries. */
const readTransaction = (entries: () => readonly Entry[]): ReadTransaction => {
  const get: ReadTransaction['get'] = async (key) =>
    entries().find(([other]) => compareKeys(other, key) === 0)?.[1]
  return {
    get,
    getMany: (keys) => Promise.all(keys.map(get)),
    async *range({ start, end, reverse = false, limit }) {
      const within = entries().filter(([key]) => compareKeys(key, start) >= 0 && compareKeys(key, end) < 0)
      yield* (reverse ? within.reverse() : within).slice(0, limit)
    },
  }
}

/** A Map compares texts by their content, and bytes by their identity. */
const textOf = (key: Uint8Array): string => Buffer.from(key).toString('latin1')

/**
 * The entries after a batch. The old array stays unchanged, so readers see the batch completely or not at
 * all.
 */
const applyChanges = (entries: readonly Entry[], changes: Iterable<PendingChange>): readonly Entry[] => {
  const next = new Map(entries.map((entry) => [textOf(entry[0]), entry]))
  for (const [key, value] of changes)
    if (value === undefined) next.delete(textOf(key))
    else next.set(textOf(key), [key, value])
  return [...next.values()].sort(([left], [right]) => compareKeys(left, right))
}

export const sortedArray = (): StorageDriver => {
  let entries: readonly Entry[] = []
  // Writes run one after another, and each sees those before it. Here a real driver would wait for its disk.
  const begin = async () =>
    new GroupCommit(
      readTransaction(() => entries),
      async (changes) => {
        entries = applyChanges(entries, changes)
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
        const { tx, end } = guarded(readTransaction(() => snapshot))
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
  const alice = await allot.accounts.createUser({ name: 'alice' })
  await allot.repositories.create(alice, alice, { name: 'demo' })
  console.log(
    `${alice.name} is stored in a sorted array, with usage:`,
    (await allot.quota.info('alice')).used.size,
  )
  await allot.close()
}
