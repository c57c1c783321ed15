/** What the records of all collections belong to (`belongsTo`), and the removal of what belonged to one. */
import type { AnyCollection, BelongsTo, Parent } from '../collection.ts'
import { paced } from '../pacing.ts'
import type { WriteContext } from '../store.ts'
import { collections } from './index.ts'

/** That records of a collection belong to others. */
export interface Belonging extends BelongsTo<string> {
  readonly collection: AnyCollection
  /** The id of what a record belongs to; undefined when it belongs to none. */
  idOf(record: unknown): number | undefined
}

/** Of all collections. What belongs to something comes before what that belongs to. */
export const belongings: readonly Belonging[] = collections.toReversed().flatMap((collection) => {
  const { belongsTo = [], id } = collection.options
  return belongsTo.map((belonging) => {
    const { by, within = [] } = belonging
    const keyOf = (record: unknown) => (by === undefined ? id(record) : collection.keyOf(by, record))
    const idOf = (record: unknown) => {
      const key = keyOf(record)
      return within.every((part, at) => key[at] === part) ? (key[within.length] as number) : undefined
    }
    return { ...belonging, collection, idOf }
  })
})

/**
 * Removes a record that belonged to another one, with what belongs to it alone.
 * @param limit records to remove at most
 * @returns how many were removed; as many as the limit when something may be left
 */
export type RemoveBelonging = (
  tx: WriteContext,
  belonging: Belonging,
  record: unknown,
  limit: number,
) => Promise<number>

const removeAlone: RemoveBelonging = async (tx, { collection }, record) => {
  await collection.removeLoaded(tx, record)
  return 1
}

/**
 * Removes what belonged to a record: `now` in the write that removes the record, `later` in its job.
 * @param limit records to remove at most
 * @param remove removes one of them
 * @returns how many were removed
 */
export const removeBelongings = async (
  tx: WriteContext,
  parent: Parent,
  id: number,
  when: 'now' | 'later',
  limit = Number.POSITIVE_INFINITY,
  remove: RemoveBelonging = removeAlone,
): Promise<number> => {
  let removed = 0
  for (const belonging of belongings) {
    if (belonging.to !== parent || (belonging.removed ?? 'later') !== when) continue
    if (removed >= limit) break
    for await (const record of paced(await listBelonging(tx, belonging, id, limit - removed))) {
      removed += await remove(tx, belonging, record, limit - removed)
      if (removed >= limit) break
    }
  }
  return removed
}

const listBelonging = async (
  tx: WriteContext,
  { collection, by, within = [] }: Belonging,
  id: number,
  limit: number,
): Promise<unknown[]> => {
  const bound = Number.isFinite(limit) ? { limit } : {}
  if (by !== undefined) return collection.list(tx, by, { prefix: [...within, id], ...bound })
  const found: unknown[] = []
  for await (const record of collection.all(tx, [id])) {
    found.push(record)
    if (found.length >= limit) break
  }
  return found
}
