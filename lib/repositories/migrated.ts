import { hash } from 'node:crypto'
import { accountByName } from '../accounts/access.ts'
import { type AvatarImage, removeAvatar, saveAvatar } from '../accounts/avatars.ts'
import { addFormerName, takeAccountName } from '../accounts/former-names.ts'
import { checkAccountName } from '../accounts/names.ts'
import { type Actor, recordAudit } from '../audit.ts'
import { now } from '../clock.ts'
import { invalid } from '../errors.ts'
import { accounts, avatars, type Migrated, migrated, repositories } from '../records/schema/index.ts'
import type { Store, WriteContext } from '../records/store.ts'
import { countFork } from './new-repository.ts'

export interface NewMigrated extends Omit<Migrated, 'source' | 'ids' | 'grants'> {
  readonly ids: readonly number[]
  readonly grants: readonly string[]
}

/** Records that one transaction writes. */
const BATCH_SIZE = 200
/** Longest name: that of an owner and that of a repository with a slash between them. */
export const MAX_NAME = 512

/** Saves a record within a transaction that also saves what was copied. @throws AllotError invalid for names that are too long */
export const saveMigrated = async (tx: WriteContext, source: string, record: NewMigrated): Promise<void> => {
  checkNames(source, record)
  await migrated.save(tx, { ...record, ids: [...record.ids], grants: [...record.grants], source })
}

const checkNames = (source: string, { scope, name }: NewMigrated): void => {
  if (source.length > MAX_NAME) throw invalid(`source: must not be longer than ${MAX_NAME} characters`)
  if (scope.length > MAX_NAME || name.length > MAX_NAME)
    throw invalid(`name: must not be longer than ${MAX_NAME} characters`)
}

/** Records of what `allot migrate` copied from one server, so that a later run can update and withdraw it. */
export class MigratedRecords {
  readonly #store: Store
  /** Address of the server that was copied from. */
  readonly source: string

  constructor(store: Store, source: string) {
    this.#store = store
    this.source = source
  }

  get(kind: Migrated['kind'], scope: string, name: string): Promise<Migrated | undefined> {
    return this.#store.read((tx) => migrated.get(tx, [this.source, kind, scope, name]))
  }

  /** @param scope absent: all scopes of the kind */
  list(kind: Migrated['kind'], scope?: string): Promise<Migrated[]> {
    return this.#store.read(async (tx) => {
      const found: Migrated[] = []
      const prefix = [this.source, kind, ...(scope === undefined ? [] : [scope])]
      for await (const record of migrated.all(tx, prefix)) found.push(record)
      return found
    })
  }

  /** @throws AllotError invalid for names that are too long */
  async save(records: readonly NewMigrated[]): Promise<void> {
    for (const record of records) checkNames(this.source, record)
    await this.#inBatches(records, (tx, record) => saveMigrated(tx, this.source, record))
  }

  remove(records: readonly NewMigrated[]): Promise<void> {
    return this.#inBatches(records, (tx, { kind, scope, name }) =>
      migrated.remove(tx, [this.source, kind, scope, name]),
    )
  }

  /**
   * Renames a user or an organization. Its former name redirects to the new one. Nothing else changes, since records name
   * accounts by id.
   * @param by whom the audit log names; absent: the host itself, whose changes are not recorded
   * @throws AllotError invalid for a malformed, reserved or taken name
   */
  async setName(id: number, name: string, by?: Actor): Promise<void> {
    checkAccountName(name)
    await this.#store.write(async (tx) => {
      const [account, other] = [await accounts.get(tx, [id]), await accountByName(tx, name)]
      if (other !== undefined && other.id !== id) throw invalid(`name: ${name} is already taken`)
      if (account === undefined || account.name === name) return
      await addFormerName(tx, account)
      await takeAccountName(tx, name)
      await accounts.save(tx, { ...account, name, updatedAt: now() })
      const [before, after] = [{ name: account.name }, { name }]
      await recordAudit(tx, by, { action: 'account changed', subject: name, before, after })
    })
  }

  /**
   * Replaces or removes the image of an account together with the record of it, so that a run which is interrupted leaves both
   * as they were.
   * @param before the record of the image that was copied before
   * @param here SHA-256 of the image that the decision was made for; undefined: the account had none
   * @param copy the new image with its record; absent: none
   * @returns false when the account has another image by now, which it keeps
   */
  async setAvatar(
    id: number,
    before: Migrated | undefined,
    here: string | undefined,
    copy?: { image: AvatarImage; record: NewMigrated },
  ): Promise<boolean> {
    return this.#store.write(async (tx) => {
      const image = await avatars.get(tx, [id])
      if ((image && hash('sha256', Buffer.from(image.content, 'base64'))) !== here) return false
      if (before !== undefined)
        await migrated.remove(tx, [before.source, before.kind, before.scope, before.name])
      const account = await accounts.get(tx, [id])
      if (account === undefined) return true
      if (copy === undefined) await removeAvatar(tx, account)
      else {
        await saveAvatar(tx, account, copy.image)
        await saveMigrated(tx, this.source, copy.record)
      }
      return true
    })
  }

  /** Gives an account the date of its source. Writes nothing when it has that date. */
  async setCreatedAt(id: number, createdAt: number): Promise<void> {
    const before = await this.#store.read((tx) => accounts.get(tx, [id]))
    if (before === undefined || before.createdAt === createdAt) return
    await this.#store.write(async (tx) => {
      const account = await accounts.get(tx, [id])
      if (account !== undefined) await accounts.save(tx, { ...account, createdAt })
    })
  }

  /** Gives a repository the dates of its source. Writes nothing when it has them. */
  async setDates(id: number, dates: { createdAt: number; updatedAt: number }): Promise<void> {
    const before = await this.#store.read((tx) => repositories.get(tx, [id]))
    if (before === undefined) return
    if (before.createdAt === dates.createdAt && before.updatedAt === dates.updatedAt) return
    await this.#store.write(async (tx) => {
      const repository = await repositories.get(tx, [id])
      if (repository !== undefined) await repositories.save(tx, { ...repository, ...dates })
    })
  }

  /**
   * Makes a repository the fork of another one, unless it is already a fork.
   * @returns whether it is a fork of that repository now
   */
  setParent(id: number, parent: number): Promise<boolean> {
    return this.#store.write(async (tx) => {
      const repository = await repositories.get(tx, [id])
      if (repository === undefined || id === parent) return false
      if (repository.parent !== null) return repository.parent === parent
      if ((await repositories.get(tx, [parent])) === undefined) return false
      await repositories.save(tx, { ...repository, parent })
      await countFork(tx, parent, 1)
      return true
    })
  }

  async #inBatches(
    records: readonly NewMigrated[],
    write: (tx: WriteContext, record: NewMigrated) => Promise<unknown>,
  ): Promise<void> {
    for (let start = 0; start < records.length; start += BATCH_SIZE)
      await this.#store.write(async (tx) => {
        for (const record of records.slice(start, start + BATCH_SIZE)) await write(tx, record)
      })
  }
}
