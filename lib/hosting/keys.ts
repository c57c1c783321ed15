import { AllotError, invalid } from '../errors.ts'
import type { OpenPgpKey } from '../keys/openpgp.ts'
import type { KeyReader } from '../keys/reader.ts'
import type { Collection } from '../records/collection.ts'
import { type GpgKey, gpgKeys, type SshKey, sshKeys } from '../records/schema.ts'
import type { Store } from '../records/store.ts'
import { now } from './clock.ts'
import type { Page, Slice } from './listing.ts'
import { existingAccount } from './lookup.ts'

/** The public keys of accounts, of either kind. */
export interface Keys<K, New> {
  /**
   * @param client whose budget reading the key counts against; the account's own, by default
   * @throws AllotError invalid for what is no such key, or one that is already known to anyone.
   */
  add(account: number, key: New, client?: string): Promise<K>
  list(account: number, slice: Slice): Promise<Page<K>>
  /** The account's own key. */
  get(account: number, id: number): Promise<K | undefined>
  /** Answers whether there was one. @throws AllotError forbidden for another account's key. */
  remove(account: number, id: number): Promise<boolean>
}

export type SshKeys = Keys<SshKey, { title: string; key: string }>
export type GpgKeys = Keys<GpgKey, { armored: string }>

export const createSshKeys = (store: Store, reader: KeyReader): SshKeys => ({
  ...keysIn(store, sshKeys),
  async add(account, { title, key }, client = clientOf(account)) {
    if (title.trim() === '') throw invalid('Title is required')
    const parsed = await reader.ssh(client, key)
    const id = await store.sequences.next('sshKey')
    const record = { id, account, title, key: parsed.text, fingerprint: parsed.fingerprint, createdAt: now() }
    return addOnce(store, sshKeys, record)
  },
})

export const createGpgKeys = (store: Store, reader: KeyReader): GpgKeys => ({
  ...keysIn(store, gpgKeys),
  async add(account, { armored }, client = clientOf(account)) {
    const parsed = await reader.openPgp(client, armored)
    const number = () => store.sequences.next('gpgKey')
    const subkeys: GpgKey['subkeys'] = []
    const primary = { id: await number(), ...partOf(parsed) }
    for (const subkey of parsed.subkeys) subkeys.push({ id: await number(), ...partOf(subkey) })
    const { fingerprint, emails } = parsed
    return addOnce(store, gpgKeys, { ...primary, account, fingerprint, emails, subkeys })
  },
})

const clientOf = (account: number) => `user ${account}`

type Owned = { id: number; account: number; fingerprint: string }
type KeyCollection<K> = Collection<K, 'fingerprint', 'account', 'account'>

const keysIn = <K extends Owned>(
  store: Store,
  collection: KeyCollection<K>,
): Omit<Keys<K, never>, 'add'> => ({
  list: (account, slice) =>
    store.read(async (tx) => ({
      items: await collection.list(tx, 'account', { prefix: [account], ...slice }),
      total: await collection.count(tx, 'account', [account]),
    })),
  get: (account, id) =>
    store.read(async (tx) => {
      const key = await collection.get(tx, [id])
      return key?.account === account ? key : undefined
    }),
  remove: (account, id) =>
    store.write(async (tx) => {
      const key = await collection.get(tx, [id])
      if (key === undefined) return false
      // "403: caller not permitted (admin endpoints, quota endpoints, deleting another user's key)"
      if (key.account !== account) throw new AllotError('forbidden', 'this key belongs to another user')
      await collection.remove(tx, [id])
      return true
    }),
})

const addOnce = <K extends Owned>(store: Store, collection: KeyCollection<K>, key: K): Promise<K> =>
  store.write(async (tx) => {
    await existingAccount(tx, key.account)
    if ((await collection.findBy(tx, 'fingerprint', [key.fingerprint])) !== undefined)
      throw invalid('this key is already in use')
    await collection.save(tx, key)
    return key
  })

type Part = Omit<OpenPgpKey, 'fingerprint' | 'emails' | 'subkeys'>

const partOf = (key: Part) => ({
  keyId: key.keyId,
  publicKey: key.publicKey,
  canSign: key.canSign,
  canEncryptComms: key.canEncryptComms,
  canEncryptStorage: key.canEncryptStorage,
  canCertify: key.canCertify,
  createdAt: secondsOf(key.createdAt),
  expiresAt: key.expiresAt === null ? null : secondsOf(key.expiresAt),
})

const secondsOf = (date: Date) => Math.floor(date.getTime() / 1000)
