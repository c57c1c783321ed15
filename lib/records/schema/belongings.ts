/** What the records of all collections belong to (`belongsTo`), and the removal of what belonged to one. */
import type { AnyCollection, BelongsTo, Parent } from '../collection.ts'
import { paced } from '../pacing.ts'
import type { WriteContext } from '../store.ts'
import { collections } from './index.ts'

/** That records of a collection belong to others. */
export interface Belonging extends BelongsTo<unknown, string> {
  readonly collection: AnyCollection
  /** The id of what a record belongs to; undefined when it belongs to none. */
  idOf(record: unknown): number | undefined
}

/** Of all collections. What belongs to something comes before what that belongs to. */
export const belongings: readonly Belonging[] = collections.toReversed().flatMap((collection) => {
  const { belongsTo = [], id } = collection.options
  return belongsTo.map((belonging) => {
    const { by } = belonging
    const keyOf = (record: unknown) => (by === undefined ? id(record) : collection.keyOf(by, record))
    const idOf = belonging.id ?? ((record: unknown) => keyOf(record)[0] as number | undefined)
    return { ...belonging, collection, idOf }
  })
})

/**
 * Removes what belonged to a record, of the collections that say when that is.
 * @param limit records to remove at most
 * @returns how many were removed
 */
export const removeBelongings = async (
  tx: WriteContext,
  parent: Parent,
  id: number,
  when: 'now' | 'later',
  limit = Number.POSITIVE_INFINITY,
): Promise<number> => {
  let removed = 0
  for (const belonging of belongings)
    if (belonging.to === parent && belonging.removed === when && removed < limit)
      removed += await removeBelonging(tx, belonging, id, limit - removed)
  return removed
}

const removeBelonging = async (
  tx: WriteContext,
  { collection, by }: Belonging,
  id: number,
  limit: number,
): Promise<number> => {
  const found: unknown[] = []
  const bound = Number.isFinite(limit) ? { limit } : {}
  if (by !== undefined) found.push(...(await collection.list(tx, by, { prefix: [id], ...bound })))
  else
    for await (const record of collection.all(tx, [id])) {
      found.push(record)
      if (found.length >= limit) break
    }
  for await (const record of paced(found)) await collection.removeLoaded(tx, record)
  return found.length
}
