import { add, type Sum } from '../integers.ts'
import type { Bytes, WriteTransaction } from '../storage/driver.ts'
import type { BatchScan } from './batch-scan.ts'
import { decodeValue, encodeValue } from './codec.ts'
import { decodeKey, encodeKey } from './key-codec.ts'
import { orderedKey, recordKey } from './keys.ts'
import { rekeying } from './rekey.ts'

export type { BatchScan } from './batch-scan.ts'

/** From one layout of the store to the next. */
export interface MigrationStep {
  from: number
  to: number
  /** Changes records that have another shape now. */
  migrate: readonly BatchScan[]
  /** Names of the collections whose indexes or counts have changed: they are derived anew when every step is done. */
  derive?: readonly string[]
}

const edited = (record: Bytes, change: object): Bytes =>
  encodeValue({ ...decodeValue<object>(record), ...change })

const LENT = 500
const NONE = { attachments: null, artifacts: null, packages: null }

interface Shelf {
  lent: number
  kept: number
  largest: Record<string, number | null>
}

const shelve = async (tx: WriteTransaction, key: Bytes, value: Bytes): Promise<void> => {
  const {
    container: id,
    kind,
    size,
  } = decodeValue<{ container: number | null; kind: string; size: number }>(value)
  const at = id === null ? undefined : recordKey('container', [id])
  const container = at && (await tx.get(at))
  if (container === undefined) return
  const { lent, kept, largest } = decodeValue<Shelf>(container)
  if (lent < LENT) return tx.put(at!, edited(container, { lent: lent + 1 }))
  const larger = kind in NONE ? { [kind]: Math.max(largest[kind] ?? 0, size) } : {}
  tx.put(at!, edited(container, { kept: kept + 1, largest: { ...largest, ...larger } }))
  tx.put(key, edited(value, { owner: null }))
}

const sayGrown = (tx: WriteTransaction, collection: string, key: Bytes, value: Bytes): void => {
  const [, ...list] = decodeKey(key)
  const [count] = decodeValue<[number, number]>(value)
  if (count >= 256) tx.put(encodeKey([collection, 'g', 'grams', ...list]), new Uint8Array(0))
}

interface RepositoryOfLayout6 {
  id: number
  owner: number
  audience: number
  size: number
}

/** Adds the LFS bytes of a repository to its record, and to the index that orders by size. */
const addLfs = async (tx: WriteTransaction, key: Bytes, value: Bytes): Promise<void> => {
  const { id, owner, audience, size } = decodeValue<RepositoryOfLayout6>(value)
  const container = await tx.get(recordKey('container', [id]))
  const lfs = container === undefined ? 0 : decodeValue<{ lfs: Sum }>(container).lfs
  tx.put(key, edited(value, { lfs }))
  tx.delete(orderedKey('repository', 'size', [owner, audience, size], [id]))
  tx.put(orderedKey('repository', 'size', [owner, audience, Number(add(size, lfs))], [id]), key)
}

/**
 * The way from every older layout to this one, in order. A step is never changed once it has been released, so its passes
 * name keys and members themselves: what schema.ts declares is the newest layout alone, which is what is derived by.
 */
export const steps: readonly MigrationStep[] = [
  {
    // 0 is every store from before the layout was marked. Those may lack the count of a group's owners and the index
    // that names are searched by, and have an index of names that nothing reads any more.
    from: 0,
    to: 1,
    migrate: [],
    derive: ['account', 'repository', 'assignment'],
  },
  {
    // 2 counts what each repository lends to its owner's shelf, and keeps what is beyond that on a shelf of its own.
    from: 1,
    to: 2,
    migrate: [
      {
        over: ['container', 'r'],
        each: (tx, key, value) => tx.put(key, edited(value, { lent: 0, kept: 0, largest: NONE })),
      },
      { over: ['ledger', 'r'], each: shelve },
    ],
    derive: ['container', 'ledger', 'star', 'watch', 'follow'],
  },
  {
    // 3 has files, issues and releases, which an older program would neither serve nor remove; it keeps sessions, and
    // with what an owner uses the day on which that changed last: this one, as far as is known.
    from: 2,
    to: 3,
    migrate: [
      {
        over: ['usage', 'r'],
        each: (tx, key, value) =>
          tx.put(key, edited(value, { day: Math.floor(Date.now() / 86_400_000), days: 0 })),
      },
    ],
  },
  {
    // 4 keeps long lists of the index that names are searched by in packs; here they are said to be long.
    from: 3,
    to: 4,
    migrate: [
      { over: ['account:grams'], each: (tx, key, value) => sayGrown(tx, 'account', key, value) },
      { over: ['repository:grams'], each: (tx, key, value) => sayGrown(tx, 'repository', key, value) },
    ],
  },
  {
    // 5 lets several accounts have the same key, and finds the SSH keys of an account by their titles.
    from: 4,
    to: 5,
    migrate: [],
    derive: ['sshKey', 'gpgKey'],
  },
  {
    // 6 has a key of its own for every string.
    from: 5,
    to: 6,
    migrate: rekeying,
  },
  {
    // 7 keeps on each repository what it has of LFS objects.
    from: 6,
    to: 7,
    migrate: [{ over: ['repository', 'r'], each: addLfs }],
  },
]

/** The layout that this program reads and writes. */
export const LAYOUT_VERSION = steps.at(-1)!.to
