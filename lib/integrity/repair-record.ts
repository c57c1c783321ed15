import * as v from 'valibot'
import type { Collection } from '../records/collection.ts'
import type { KeyTuple } from '../records/key-codec.ts'
import type { ReadTransaction, WriteTransaction } from '../storage/driver.ts'

type Readable<R> = Pick<Collection<R>, 'get'> & { readonly options: { readonly schema: v.GenericSchema<R> } }

/** The record; undefined where there is none, `broken` for one that is not what it ought to be. */
export const readable = async <R>(
  tx: ReadTransaction,
  collection: Readable<R>,
  id: KeyTuple,
): Promise<R | undefined | 'broken'> => {
  try {
    const record = await collection.get(tx, id)
    return record === undefined || v.is(collection.options.schema, record) ? record : 'broken'
  } catch (error) {
    if (error instanceof SyntaxError) return 'broken'
    throw error
  }
}

/** Puts derived members of a record right; answers false where there is no record to keep them. */
export const repairMembers = async <R>(
  tx: WriteTransaction,
  collection: Readable<R> & Pick<Collection<R>, 'save'>,
  id: KeyTuple,
  right: Partial<R>,
): Promise<boolean> => {
  const before = await readable(tx, collection, id)
  if (before === undefined || before === 'broken') return false
  await collection.save(tx, { ...before, ...right })
  return true
}
