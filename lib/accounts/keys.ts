import { clientOfAccount } from '../clients.ts'
import { now } from '../clock.ts'
import { AllotError } from '../errors.ts'
import type { KeyReader } from '../keys/reader.ts'
import type { Collection } from '../records/collection.ts'
import { type Page, pageOfOne, type Slice } from '../records/pages.ts'
import { accounts, type GpgKey, gpgKeys, type SshKey, sshKeys, titleHash } from '../records/schema/index.ts'
import { type Store, takeNumber, type WriteContext } from '../records/store.ts'
import { checkTexts } from '../records/text-limits.ts'
import type { ReadTransaction } from '../storage/index.ts'
import { canSee, type Identity } from './access.ts'
import { checkMaySignIn, unauthenticated } from './credentials.ts'
import { existingUser, ofExisting } from './find.ts'

type Owned = { id: number; account: number; fingerprint: string }
type KeyCollection<K> = Collection<K, 'fingerprint', 'account' | 'fingerprint', 'account'>

/**
 * Public keys of users, SSH or GPG. Invariants: a user has a key once, and the answer to adding a key reveals
 * nothing about accounts that the caller cannot see. A key of an account that the caller can see is refused,
 * as Forgejo does; a key that only hidden accounts have is added again. The account that added a key first
 * owns it: a login by key takes the first entry of the index `fingerprint` whose account exists, so that
 * adding a stranger's key does not take it over.
 */
class Keys<K extends Owned> {
  readonly #collection: KeyCollection<K>
  protected readonly store: Store
  protected readonly reader: KeyReader

  constructor(store: Store, reader: KeyReader, collection: KeyCollection<K>) {
    this.store = store
    this.reader = reader
    this.#collection = collection
  }

  /** Keys of a user, in the order of creation. */
  async list(account: number, slice: Slice): Promise<Page<K>> {
    const page = await this.store.read((tx) =>
      ofExisting(tx, account, this.#collection.page(tx, 'account', { prefix: [account], ...slice })),
    )
    return page ?? { items: [], total: 0 }
  }

  /** A key of the account itself; undefined for other accounts' keys. */
  async get(account: number, id: number): Promise<K | undefined> {
    const key = await this.store.read((tx) => ofExisting(tx, account, this.#collection.get(tx, [id])))
    return key?.account === account ? key : undefined
  }

  /**
   * Deletes a key.
   * @returns whether the key existed; false also for a key of an account that the caller cannot see
   * @throws AllotError forbidden for the key of another account
   */
  remove(account: number, id: number): Promise<boolean> {
    return this.store.write(async (tx) => {
      const key = await this.#collection.get(tx, [id])
      if (key === undefined) return false
      // The specification says 403, and not 404 as for other things of others: the keys of a user who can be
      // seen are public.
      if (key.account !== account) {
        const [viewer, owner] = await accounts.getMany(tx, [[account], [key.account]])
        if (viewer === undefined || owner === undefined || !(await canSee(tx, viewer, owner))) return false
        throw new AllotError('forbidden', 'this key belongs to another user')
      }
      await this.#collection.remove(tx, [id])
      return true
    })
  }

  /**
   * @throws AllotError conflict when the user, or an account that it can see, has the key; invalid for an
   * organization, which has no keys
   */
  protected async refuseUsed(
    tx: WriteContext,
    { account, fingerprint }: Omit<Owned, 'id'>,
    refusal: AllotError,
  ): Promise<void> {
    const viewer = await existingUser(tx, account, 'keys')
    if ((await this.#collection.findBy(tx, 'fingerprint', [account, fingerprint])) !== undefined)
      throw refusal
    const others = { prefix: [fingerprint], limit: OTHERS_LIMIT }
    const keys = await this.#collection.list(tx, 'fingerprint', others)
    for (const other of await accounts.getMany(
      tx,
      keys.map((key) => [key.account]),
    ))
      if (other !== undefined && (await canSee(tx, viewer, other))) throw refusal
  }
}

/** Refuses what is used already. The message is that of Forgejo, so pages have words of their own. */
const used = (field: 'key' | 'armored' | 'title', message: string) =>
  new AllotError('conflict', message, { field })

/** Bounds the cost of a check, since an attacker could add one key to any number of accounts. */
const OTHERS_LIMIT = 20

interface SignedInByKey {
  /** The user. */
  user: Identity
  /** Title of the key. */
  title: string
}

interface NewSshKey {
  /** Name of the key, unique among those of the user. */
  title: string
  /** The key as a line of `authorized_keys`. */
  key: string
  /** Whether it may fetch, and not push. */
  readOnly?: boolean | undefined
}

/** SSH keys of users. */
export class SshKeys extends Keys<SshKey> {
  constructor(store: Store, reader: KeyReader) {
    super(store, reader, sshKeys)
  }

  /** The account's key with the fingerprint, as a page of at most one. */
  async withFingerprint(account: number, fingerprint: string, slice: Slice): Promise<Page<SshKey>> {
    if (!FINGERPRINT.test(fingerprint)) return { items: [], total: 0 }
    const key = await this.store.read((tx) =>
      ofExisting(tx, account, sshKeys.findBy(tx, 'fingerprint', [account, fingerprint])),
    )
    return pageOfOne(key, slice)
  }

  /** The key that signs in: that of the account which added it first, among those that still exist. */
  signingIn(fingerprint: string): Promise<SshKey | undefined> {
    return this.store.read(async (tx) => {
      for await (const entry of sshKeys.entries(tx, 'fingerprint', { prefix: [fingerprint] })) {
        const [key] = await sshKeys.load(tx, [entry])
        if (key !== undefined && (await accounts.get(tx, [key.account])) !== undefined) return key
      }
      return undefined
    })
  }

  /**
   * The user who signs in with a key, and the title of the key.
   * @throws AllotError as {@link identityOfKey} does
   */
  signIn(id: number): Promise<SignedInByKey> {
    return this.store.read((tx) => identityOfKey(tx, id))
  }

  /**
   * Adds a key.
   * @param client client whose budget parsing the key counts against; by default the account's own
   * @throws AllotError invalid for an unreadable key; conflict for a key that the account or an account that
   * it can see already has, and for a title that the account has used; unavailable when too many keys wait
   */
  async add(
    account: number,
    { title, key, readOnly }: NewSshKey,
    client = clientOfAccount(account),
  ): Promise<SshKey> {
    checkTexts('sshKey', { title, key })
    if (title === '') throw new AllotError('invalid', 'Title is required', { field: 'title' })
    const { text, fingerprint } = await this.reader.ssh(client, key)
    return this.store.write(async (tx) => {
      const refusal = used('key', 'Key content has been used as non-deploy key')
      await this.refuseUsed(tx, { account, fingerprint }, refusal)
      const titled = { prefix: [account, titleHash(title)], limit: 1 }
      if ((await sshKeys.list(tx, 'title', titled)).length > 0) throw used('title', 'Key title has been used')
      const id = await takeNumber(tx, 'sshKey')
      const members = { id, account, title, key: text, fingerprint, createdAt: now() }
      const record: SshKey = readOnly === true ? { ...members, readOnly } : members
      await sshKeys.add(tx, record)
      return record
    })
  }
}

type KeyScope = 'read:repository' | 'write:repository'

/** The scope with which an SSH key signs in. */
export const scopeOfKey = ({ readOnly }: Pick<NewSshKey, 'readOnly'>): KeyScope =>
  readOnly === true ? 'read:repository' : 'write:repository'

/**
 * The user of an SSH key, who may use it for repositories only.
 * @param limit the scope beyond which it is not used; by default that of the key
 * @throws AllotError unauthenticated once the key was removed; forbidden when the account is not active
 */
export const identityOfKey = async (
  tx: ReadTransaction,
  id: number,
  limit?: KeyScope,
): Promise<SignedInByKey> => {
  const key = await sshKeys.get(tx, [id])
  const account = key && (await accounts.get(tx, [key.account]))
  if (account === undefined) throw unauthenticated('this SSH key was removed')
  checkMaySignIn(account)
  const scopes = new Set([limit === 'read:repository' ? limit : scopeOfKey(key!)])
  const { name: username, admin } = account
  const user = { id: account.id, username, admin, scopes, credential: { kind: 'key', id } as const }
  return { user, title: key!.title }
}

/**
 * A fingerprint of an SSH key. Other texts are not looked up: they could be too long for a key of the store.
 */
const FINGERPRINT = /^SHA256:[A-Za-z0-9+/]{43}$/

interface NewGpgKey {
  /** The public key in ASCII armor. */
  armored: string
}

/** GPG keys of users. */
export class GpgKeys extends Keys<GpgKey> {
  constructor(store: Store, reader: KeyReader) {
    super(store, reader, gpgKeys)
  }

  /**
   * Adds a key.
   * @param client client whose budget parsing the key counts against; by default the account's own
   * @throws AllotError invalid for an unreadable key; conflict for one that the account or an account that it
   *   can see already has
   */
  async add(account: number, { armored }: NewGpgKey, client = clientOfAccount(account)): Promise<GpgKey> {
    const { subkeys, ...key } = await this.reader.openPgp(client, armored)
    return this.store.write(async (tx) => {
      const refusal = used('armored', 'A key with the same id already exists')
      await this.refuseUsed(tx, { ...key, account }, refusal)
      const record: GpgKey = { ...key, id: await takeNumber(tx, 'gpgKey'), account, subkeys: [] }
      for (const { fingerprint: _, ...subkey } of subkeys)
        record.subkeys.push({ ...subkey, id: await takeNumber(tx, 'gpgKey') })
      await gpgKeys.add(tx, record)
      return record
    })
  }
}
