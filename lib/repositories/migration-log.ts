import { invalidMember } from '../errors.ts'
import { type MigrationRecord, migrationRecords } from '../records/schema/index.ts'
import type { Store, WriteContext } from '../records/store.ts'

export type NewMigrationRecord = Omit<MigrationRecord, 'source'>

/** Records that one transaction writes. */
const BATCH_SIZE = 200
/** Longest name: that of an owner and that of a repository with a slash between them. */
export const MAX_NAME = 512

/** What `allot migrate` has copied from one server, so that a later run can update and withdraw it. */
export class MigrationLog {
  readonly #store: Store
  readonly #source: string

  /** @param source address of the server that was copied from */
  constructor(store: Store, source: string) {
    this.#store = store
    this.#source = source
  }

  get(kind: MigrationRecord['kind'], scope: string, name: string): Promise<MigrationRecord | undefined> {
    return this.#store.read((tx) => migrationRecords.get(tx, [this.#source, kind, scope, name]))
  }

  /** @param scope absent: all scopes of the kind */
  list(kind: MigrationRecord['kind'], scope?: string): Promise<MigrationRecord[]> {
    return this.#store.read(async (tx) => {
      const found: MigrationRecord[] = []
      const prefix = [this.#source, kind, ...(scope === undefined ? [] : [scope])]
      for await (const record of migrationRecords.all(tx, prefix)) found.push(record)
      return found
    })
  }

  /** @throws AllotError invalid for names that are too long */
  async save(records: readonly NewMigrationRecord[]): Promise<void> {
    for (const record of records) checkNames(this.#source, record)
    await this.#inBatches(records, (tx, record) => this.saveIn(tx, record))
  }

  /**
   * Saves a record within a transaction that also saves what was copied.
   * @throws AllotError invalid for names that are too long
   */
  async saveIn(tx: WriteContext, record: NewMigrationRecord): Promise<void> {
    checkNames(this.#source, record)
    await migrationRecords.save(tx, { ...record, source: this.#source })
  }

  remove(records: readonly NewMigrationRecord[]): Promise<void> {
    return this.#inBatches(records, (tx, record) => this.removeIn(tx, record))
  }

  /** Removes a record within a transaction that also removes or replaces what was copied. */
  async removeIn(tx: WriteContext, { kind, scope, name }: NewMigrationRecord): Promise<void> {
    await migrationRecords.remove(tx, [this.#source, kind, scope, name])
  }

  async #inBatches(
    records: readonly NewMigrationRecord[],
    write: (tx: WriteContext, record: NewMigrationRecord) => Promise<unknown>,
  ): Promise<void> {
    for (let start = 0; start < records.length; start += BATCH_SIZE)
      await this.#store.write(async (tx) => {
        for (const record of records.slice(start, start + BATCH_SIZE)) await write(tx, record)
      })
  }
}

const checkNames = (source: string, { scope, name }: NewMigrationRecord): void => {
  if (source.length > MAX_NAME)
    throw invalidMember('source', `must not be longer than ${MAX_NAME} characters`)
  if (scope.length > MAX_NAME || name.length > MAX_NAME)
    throw invalidMember('name', `must not be longer than ${MAX_NAME} characters`)
}
