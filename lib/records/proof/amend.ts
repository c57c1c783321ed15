import type { WriteTransaction } from '../../storage/driver.ts'
import type { Collection } from '../collection.ts'
import type { KeyTuple } from '../keys.ts'

/** Puts derived members of a record right; answers false where there is no such record to keep them. */
export const amend = async <R>(
  tx: WriteTransaction,
  collection: Pick<Collection<R>, 'get' | 'save'>,
  id: KeyTuple,
  right: Partial<R>,
): Promise<boolean> => {
  const before = await collection.get(tx, id)
  if (before === undefined) return false
  await collection.save(tx, { ...before, ...right })
  return true
}
