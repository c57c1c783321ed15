import type { Bytes, ReadTransaction, WriteTransaction } from '../storage/driver.ts'
import type { BatchScan } from './batch-scan.ts'
import { decodeValue, encodeValue } from './codec.ts'
import type { KeyTuple } from './key-codec.ts'
import { recordKey } from './keys.ts'

/*
 * The step to layout 6. Before it, U+0000 to U+0004 were not escaped in the keys of strings of 64 characters and more, and
 * surrogates outside of a pair were replaced there, so that different strings could have one key. All other keys stay as
 * they are. A record that has such a string moves to its new key, and what follows from the records of its collection is
 * derived anew. Where two records had one key, the store has only the later one.
 */

interface Rule {
  name: string
}
interface Group {
  name: string
  rules: string[]
}
interface Assignment {
  owner: number
  group: string
}
interface LedgerEntry {
  kind: string
  key: string
  name: string
  owner: number | null
  container: number | null
}

/** The records of a collection as this step sees them. */
interface Rekeyed<R> {
  collection: string
  /** The strings that are in keys and that were not checked before. */
  texts: (record: R) => string[]
  /** Absent where ids hold no such string. */
  id?: (record: R) => KeyTuple
  /** Leaves out what does not exist; undefined removes the record. */
  repaired?: (tx: ReadTransaction, record: R) => Promise<R | undefined>
}

const exists = async (tx: ReadTransaction, collection: string, id: KeyTuple): Promise<boolean> =>
  (await tx.get(recordKey(collection, id))) !== undefined

/** Rules come before groups, and groups before assignments: each looks for the one before at its new key. */
const rules: Rekeyed<Rule> = { collection: 'rule', texts: ({ name }) => [name], id: ({ name }) => [name] }

const groups: Rekeyed<Group> = {
  collection: 'group',
  texts: ({ name, rules }) => [name, ...rules],
  id: ({ name }) => [name],
  async repaired(tx, group) {
    const found = await Promise.all(group.rules.map((name) => exists(tx, 'rule', [name])))
    return { ...group, rules: group.rules.filter((_, index) => found[index]) }
  },
}

const assignments: Rekeyed<Assignment> = {
  collection: 'assignment',
  texts: ({ group }) => [group],
  id: ({ owner, group }) => [owner, group],
  repaired: async (tx, one) => ((await exists(tx, 'group', [one.group])) ? one : undefined),
}

const ledgerEntries: Rekeyed<LedgerEntry> = {
  collection: 'ledger',
  texts: ({ key, name }) => [key, name],
  id: ({ kind, key }) => [kind, key],
  /** The removal of a repository or an account could miss an entry whose index entry was that of another. */
  async repaired(tx, entry) {
    const { container, owner } = entry
    const isHeld =
      container === null
        ? (await exists(tx, 'account', [owner!])) || (await exists(tx, 'errand', ['owner', owner!]))
        : (await exists(tx, 'container', [container])) || (await exists(tx, 'errand', ['entries', container]))
    return isHeld ? entry : undefined
  },
}

const tokens: Rekeyed<{ name: string }> = { collection: 'token', texts: ({ name }) => [name] }

const accounts: Rekeyed<{ fullName: string; email: string }> = {
  collection: 'account',
  texts: ({ fullName, email }) => [fullName, email],
}

/** JSON has an escape for each of these characters, so most records need not be parsed. */
const ESCAPES = ['\\u000', '\\ud']

const isAffected = (text: string): boolean =>
  !text.isWellFormed() || ['\0', '\x01', '\x02', '\x03', '\x04'].some((one) => text.includes(one))

const passOf = <R>({ collection, texts, id, repaired }: Rekeyed<R>): BatchScan => {
  const affected = (value: Bytes): R | undefined => {
    const json = Buffer.from(value.buffer, value.byteOffset, value.byteLength)
    if (!ESCAPES.some((start) => json.includes(start))) return undefined
    const record = decodeValue<R>(value)
    return texts(record).some(isAffected) ? record : undefined
  }

  /**
   * A record of another id that still lies at the key moves first. This ends: a record that moves either gets a longer key or
   * loses a replacement character from it.
   */
  const move = async (tx: WriteTransaction, key: Bytes, record: R): Promise<void> => {
    const after = repaired === undefined ? record : await repaired(tx, record)
    tx.delete(key)
    if (after === undefined) return
    const destination = recordKey(collection, id!(after))
    const before = await tx.get(destination)
    if (before !== undefined) await move(tx, destination, decodeValue<R>(before))
    tx.put(destination, encodeValue(after))
  }

  return {
    over: [collection, 'r'],
    async each(tx, key, value) {
      if (id === undefined || affected(value) === undefined) return
      // Another record may have moved to this key since the entry was read.
      const current = await tx.get(key)
      const record = current && affected(current)
      if (record !== undefined) await move(tx, key, record)
    },
    derives: (value) => (affected(value) === undefined ? undefined : collection),
  }
}

export const rekeying: readonly BatchScan[] = [
  passOf(rules),
  passOf(groups),
  passOf(assignments),
  passOf(ledgerEntries),
  passOf(tokens),
  passOf(accounts),
]
