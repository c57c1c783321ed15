// A storage driver of one's own: ordered bytes and two kinds of transaction, nothing optional. This one keeps a sorted
// array in memory, copies it for each write, and is as plain as a driver can be. Its proof is the published suite:
// see spec/examples/custom-driver.spec.ts.
// Run it with: npx tsx examples/custom-driver.ts
import { createAllot, type StorageDriver } from 'allot'

type Bytes = Uint8Array
type Entries = readonly (readonly [Bytes, Bytes])[]

export const sortedArray = (): StorageDriver => {
  let entries: Entries = []
  let open = false
  let turn: Promise<unknown> = Promise.resolve()

  const check = () => {
    if (!open) throw new Error('the store is not open')
  }
  const find = (all: Entries, key: Bytes) => all.find(([one]) => Buffer.compare(one, key) === 0)?.[1]

  /** What a transaction reads: of the entries as they are when it asks. */
  const reading = (all: () => Entries) => ({
    get: async (key: Bytes) => find(all(), key),
    getMany: async (keys: readonly Bytes[]) => keys.map((key) => find(all(), key)),
    async *range({
      start,
      end,
      reverse = false,
      limit,
    }: {
      start: Bytes
      end: Bytes
      reverse?: boolean
      limit?: number
    }) {
      const within = all().filter(([key]) => Buffer.compare(key, start) >= 0 && Buffer.compare(key, end) < 0)
      yield* (reverse ? within.reverse() : within).slice(0, limit)
    },
  })

  return {
    name: 'sorted array',
    shared: false,
    async open() {
      open = true
    },
    async read(work) {
      check()
      const snapshot = entries
      return work(reading(() => snapshot))
    },
    write(work) {
      const done = turn.then(async () => {
        check()
        let draft = entries
        const replace = (key: Bytes, value: Bytes | undefined) => {
          const others = draft.filter(([one]) => Buffer.compare(one, key) !== 0)
          const added = value === undefined ? others : [...others, [key, value] as const]
          draft = added.sort(([one], [other]) => Buffer.compare(one, other))
        }
        const result = await work({
          ...reading(() => draft),
          put: (key, value) => replace(key, value),
          delete: (key) => replace(key, undefined),
        })
        entries = draft
        return result
      })
      turn = done.catch(() => undefined)
      return done
    },
    async close() {
      await turn
      open = false
    },
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
