import { invalid } from '../errors.ts'
import { type Migrated, migrated } from '../records/schema/index.ts'
import type { Store, WriteContext } from '../records/store.ts'

/** Records of what `allot migrate` copied from one server, so that a later run can update and withdraw it. */
export interface MigratedRecords {
  get(kind: Migrated['kind'], scope: string, name: string): Promise<Migrated | undefined>
  /** @param scope absent: all scopes of the kind */
  list(kind: Migrated['kind'], scope?: string): Promise<Migrated[]>
  /** @throws AllotError invalid for names that are too long */
  save(records: readonly NewMigrated[]): Promise<void>
  remove(records: readonly NewMigrated[]): Promise<void>
}

export interface NewMigrated extends Omit<Migrated, 'source' | 'ids' | 'grants'> {
  readonly ids: readonly number[]
  readonly grants: readonly string[]
}

/** Records that one transaction writes. */
const BATCH_SIZE = 200
/** Longest name: that of an owner and that of a repository with a slash between them. */
export const MAX_NAME = 512

/** @param source address of the server that was copied from */
export const createMigrated = (store: Store, source: string): MigratedRecords => {
  const inBatches = async (
    records: readonly NewMigrated[],
    write: (tx: WriteContext, record: Migrated) => Promise<unknown>,
  ) => {
    for (let start = 0; start < records.length; start += BATCH_SIZE)
      await store.write(async (tx) => {
        for (const record of records.slice(start, start + BATCH_SIZE))
          await write(tx, { ...record, ids: [...record.ids], grants: [...record.grants], source })
      })
  }
  return {
    get: (kind, scope, name) => store.read((tx) => migrated.get(tx, [source, kind, scope, name])),
    list: (kind, scope) =>
      store.read(async (tx) => {
        const found: Migrated[] = []
        const prefix = scope === undefined ? [source, kind] : [source, kind, scope]
        for await (const record of migrated.all(tx, prefix)) found.push(record)
        return found
      }),
    async save(records) {
      if (source.length > MAX_NAME) throw invalid(`source: must not be longer than ${MAX_NAME} characters`)
      if (records.some(({ scope, name }) => scope.length > MAX_NAME || name.length > MAX_NAME))
        throw invalid(`name: must not be longer than ${MAX_NAME} characters`)
      await inBatches(records, (tx, record) => migrated.save(tx, record))
    },
    remove: (records) => inBatches(records, (tx, record) => migrated.remove(tx, migrated.options.id(record))),
  }
}
