import { clientOfAccount } from '../clients.ts'
import { now } from '../clock.ts'
import { AllotError, invalid } from '../errors.ts'
import type { KeyReader, OpenPgpKey } from '../keys/reader.ts'
import type { Collection, Page, Slice } from '../records/collection.ts'
import { accounts, type GpgKey, gpgKeys, type SshKey, sshKeys, titleHash } from '../records/schema/index.ts'
import type { Store, WriteContext } from '../records/store.ts'
import { canSee, existingAccount } from './access.ts'
import { pageOfOne } from './list-page.ts'
import { checkTexts } from './names.ts'

/**
 * Public keys of accounts, SSH or GPG. Invariants: an account has a key once, and the answer to adding a key reveals
 * nothing about accounts that the caller cannot see. A key of an account that the caller can see is refused, as Forgejo
 * does; a key that only hidden accounts have is added again. The account that added a key first owns it: a login by key
 * must take the first entry of the index `fingerprint`, so that adding a stranger's key does not take it over.
 */
interface Keys<K, New> {
  /**
   * @param client client whose budget parsing the key counts against; by default the account's own
   * @throws AllotError invalid for an unreadable key, a key that the account or an account that it can see has already,
   *   and a title that the account has used
   */
  add(account: number, key: New, client?: string): Promise<K>
  list(account: number, slice: Slice): Promise<Page<K>>
  /** A key of the account itself; undefined for other accounts' keys. */
  get(account: number, id: number): Promise<K | undefined>
  /** @returns whether the key existed. @throws AllotError forbidden for another account's key */
  remove(account: number, id: number): Promise<boolean>
}

export interface SshKeys extends Keys<SshKey, { title: string; key: string }> {
  /** The account's key with the fingerprint, as a page of at most one. */
  withFingerprint(account: number, fingerprint: string, slice: Slice): Promise<Page<SshKey>>
}
export type GpgKeys = Keys<GpgKey, { armored: string }>

export const createSshKeys = (store: Store, reader: KeyReader): SshKeys => ({
  ...keysIn(store, sshKeys),
  withFingerprint: (account, fingerprint, slice) =>
    store.read(async (tx) => {
      const key = FINGERPRINT.test(fingerprint)
        ? await sshKeys.findBy(tx, 'fingerprint', [account, fingerprint])
        : undefined
      return pageOfOne(key, slice)
    }),
  async add(account, { title, key }, client = clientOfAccount(account)) {
    checkTexts('sshKey', { title, key })
    if (title === '') throw invalid('Title is required')
    const parsed = await reader.ssh(client, key)
    const id = await store.sequences.next('sshKey')
    const record = { id, account, title, key: parsed.text, fingerprint: parsed.fingerprint, createdAt: now() }
    return store.write(async (tx) => {
      await refuseUsed(tx, sshKeys, record, 'Key content has been used as non-deploy key')
      const titled = { prefix: [account, titleHash(title)], limit: 1 }
      if ((await sshKeys.list(tx, 'title', titled)).length > 0) throw invalid('Key title has been used')
      await sshKeys.save(tx, record)
      return record
    })
  },
})

export const createGpgKeys = (store: Store, reader: KeyReader): GpgKeys => ({
  ...keysIn(store, gpgKeys),
  async add(account, { armored }, client = clientOfAccount(account)) {
    const parsed = await reader.openPgp(client, armored)
    const nextId = () => store.sequences.next('gpgKey')
    const subkeys: GpgKey['subkeys'] = []
    const primary = { id: await nextId(), ...partOf(parsed) }
    for (const subkey of parsed.subkeys) subkeys.push({ id: await nextId(), ...partOf(subkey) })
    const { fingerprint, emails } = parsed
    const record = { ...primary, account, fingerprint, emails, subkeys }
    return store.write(async (tx) => {
      await refuseUsed(tx, gpgKeys, record, 'A key with the same id already exists')
      await gpgKeys.save(tx, record)
      return record
    })
  },
})

/** Other texts could be too long for a key of the store. */
const FINGERPRINT = /^SHA256:[A-Za-z0-9+/]{43}$/

type Owned = { id: number; account: number; fingerprint: string }
type KeyCollection<K> = Collection<K, 'fingerprint', 'account' | 'fingerprint', 'account'>

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

/** Bounds the cost of a check, since an attacker could add one key to any number of accounts. */
const OTHERS_LIMIT = 20

const refuseUsed = async <K extends Owned>(
  tx: WriteContext,
  collection: KeyCollection<K>,
  { account, fingerprint }: Owned,
  message: string,
): Promise<void> => {
  const viewer = await existingAccount(tx, account)
  if ((await collection.findBy(tx, 'fingerprint', [account, fingerprint])) !== undefined)
    throw invalid(message)
  const others = await collection.list(tx, 'fingerprint', { prefix: [fingerprint], limit: OTHERS_LIMIT })
  for (const other of await accounts.getMany(
    tx,
    others.map((key) => [key.account]),
  ))
    if (other !== undefined && (await canSee(tx, viewer, other))) throw invalid(message)
}

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
