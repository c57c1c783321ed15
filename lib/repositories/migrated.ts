import { invalid } from '../errors.ts'
import { type Migrated, migrated } from '../records/schema/index.ts'
import type { Store, WriteContext } from '../records/store.ts'

export interface NewMigrated extends Omit<Migrated, 'source' | 'ids' | 'grants'> {
  readonly ids: readonly number[]
  readonly grants: readonly string[]
}

/** Records that one transaction writes. */
const BATCH_SIZE = 200
/** Longest name: that of an owner and that of a repository with a slash between them. */
export const MAX_NAME = 512

/** Records of what `allot migrate` copied from one server, so that a later run can update and withdraw it. */
export class MigratedRecords {
  readonly #store: Store
  readonly #source: string

  /** @param source address of the server that was copied from */
  constructor(store: Store, source: string) {
    this.#store = store
    this.#source = source
  }

  get(kind: Migrated['kind'], scope: string, name: string): Promise<Migrated | undefined> {
    return this.#store.read((tx) => migrated.get(tx, [this.#source, kind, scope, name]))
  }

  /** @param scope absent: all scopes of the kind */
  list(kind: Migrated['kind'], scope?: string): Promise<Migrated[]> {
    return this.#store.read(async (tx) => {
      const found: Migrated[] = []
      const prefix = [this.#source, kind, ...(scope === undefined ? [] : [scope])]
      for await (const record of migrated.all(tx, prefix)) found.push(record)
      return found
    })
  }

  /** @throws AllotError invalid for names that are too long */
  async save(records: readonly NewMigrated[]): Promise<void> {
    if (this.#source.length > MAX_NAME)
      throw invalid(`source: must not be longer than ${MAX_NAME} characters`)
    if (records.some(({ scope, name }) => scope.length > MAX_NAME || name.length > MAX_NAME))
      throw invalid(`name: must not be longer than ${MAX_NAME} characters`)
    await this.#inBatches(records, (tx, record) => migrated.save(tx, record))
  }

  remove(records: readonly NewMigrated[]): Promise<void> {
    return this.#inBatches(records, (tx, record) => migrated.remove(tx, migrated.options.id(record)))
  }

  async #inBatches(
    records: readonly NewMigrated[],
    write: (tx: WriteContext, record: Migrated) => Promise<unknown>,
  ): Promise<void> {
    for (let start = 0; start < records.length; start += BATCH_SIZE)
      await this.#store.write(async (tx) => {
        for (const record of records.slice(start, start + BATCH_SIZE))
          await write(tx, {
            ...record,
            ids: [...record.ids],
            grants: [...record.grants],
            source: this.#source,
          })
      })
  }
}
