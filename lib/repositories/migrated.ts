import { invalid } from '../errors.ts'
import { type Migrated, migrated } from '../records/schema/index.ts'
import type { Store, WriteContext } from '../records/store.ts'

/** What was copied from one source: see bin/migrate/follow.ts. */
export interface MigratedRecords {
  get(kind: Migrated['kind'], scope: string, name: string): Promise<Migrated | undefined>
  /** @param scope all scopes of the kind when absent */
  list(kind: Migrated['kind'], scope?: string): Promise<Migrated[]>
  /** @throws AllotError invalid for a name that no account, repository or key has */
  save(records: readonly NewMigrated[]): Promise<void>
  remove(records: readonly NewMigrated[]): Promise<void>
}

export interface NewMigrated extends Omit<Migrated, 'source' | 'ids' | 'grants'> {
  readonly ids: readonly number[]
  readonly grants: readonly string[]
}

/** Records that one transaction writes; characters of a name: an owner's and a repository's with a slash between. */
const BATCH_SIZE = 200
export const MAX_NAME = 512

/** @param source address of the server that was copied from */
export const createMigrated = (store: Store, source: string): MigratedRecords => {
  const inBatches = async (
    records: readonly NewMigrated[],
    write: (tx: WriteContext, one: Migrated) => Promise<unknown>,
  ) => {
    for (let start = 0; start < records.length; start += BATCH_SIZE)
      await store.write(async (tx) => {
        for (const one of records.slice(start, start + BATCH_SIZE))
          await write(tx, { ...one, ids: [...one.ids], grants: [...one.grants], source })
      })
  }
  return {
    get: (kind, scope, name) => store.read((tx) => migrated.get(tx, [source, kind, scope, name])),
    list: (kind, scope) =>
      store.read(async (tx) => {
        const found: Migrated[] = []
        const below = scope === undefined ? [source, kind] : [source, kind, scope]
        for await (const one of migrated.all(tx, below)) found.push(one)
        return found
      }),
    async save(records) {
      if (source.length > MAX_NAME) throw invalid(`source: must not be longer than ${MAX_NAME} characters`)
      if (records.some(({ scope, name }) => scope.length > MAX_NAME || name.length > MAX_NAME))
        throw invalid(`name: must not be longer than ${MAX_NAME} characters`)
      await inBatches(records, (tx, one) => migrated.save(tx, one))
    },
    remove: (records) => inBatches(records, (tx, one) => migrated.remove(tx, migrated.options.id(one))),
  }
}
