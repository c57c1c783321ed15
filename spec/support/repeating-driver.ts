import { decodeKey } from '../../lib/records/key-codec.ts'
import type { StorageDriver, WriteTransaction } from '../../lib/storage/index.ts'
import { notingKeys } from '../counted.ts'

/**
 * A driver that runs a write in vain before it runs it again, as PostgreSQL does after a conflict.
 * @returns `repeatNext`: the next write that puts a record of the collection is the one; `meanwhile` runs
 * between its two runs
 */
export const repeatingDriver = (database: StorageDriver) => {
  let next: { collection: string; meanwhile: () => Promise<unknown> } | undefined
  const discarded = new Error('this run was in vain')
  const isNext = async (body: Parameters<StorageDriver['write']>[0]): Promise<boolean> => {
    const collections = new Set<unknown>()
    const run = async (tx: WriteTransaction) => {
      await body(
        notingKeys(
          tx,
          () => undefined,
          (key) => collections.add(decodeKey(key)[0]),
        ),
      )
      throw discarded
    }
    await database.write(run).catch(() => undefined)
    return collections.has(next?.collection)
  }
  const driver: StorageDriver = {
    ...database,
    async write(body) {
      if (next !== undefined && (await isNext(body))) {
        const { meanwhile } = next
        next = undefined
        await meanwhile()
      }
      return database.write(body)
    },
  }
  return {
    driver,
    repeatNext(collection: string, meanwhile: () => Promise<unknown>): void {
      next = { collection, meanwhile }
    },
  }
}
