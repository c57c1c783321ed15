import { openAudiences, type Viewer } from '../accounts/access.ts'
import type { Collection, IndexEntry } from '../records/collection.ts'
import type { KeyTuple } from '../records/key-codec.ts'
import { except, merge, pageOf, recordKeyText } from '../records/merge.ts'
import type { Page, Slice } from '../records/pages.ts'
import { type Audience, PRIVATE } from '../records/schema/index.ts'
import type { ReadTransaction } from '../storage/index.ts'

interface VisiblePageQuery<R, O extends string> {
  relation: Collection<R, string, O, string>
  index: O
  prefix: KeyTuple
  viewer: Viewer
  isReadable: (record: R) => Promise<boolean>
  /** A superset of the private relations that the viewer can see: `isReadable` decides on each. */
  candidates: (viewer: NonNullable<Viewer>) => Promise<readonly R[]>
  /**
   * Relations whose audience in the index can be stale, see visibility.ts: each is checked by `isReadable`.
   */
  pending: readonly R[]
}

/**
 * A page of the relations below a prefix that the viewer can see. Relations with an open audience come from
 * the index and its counter, at a constant cost. Private ones are found from what the viewer belongs to,
 * which is limited, and not from the relations, of which other users can add any number.
 */
export const visiblePage = async <R, O extends string>(
  tx: ReadTransaction,
  { relation, index, prefix, viewer, isReadable, candidates, pending }: VisiblePageQuery<R, O>,
  slice: Slice,
): Promise<Page<R>> => {
  /** The key of a relation has its audience after the prefix. */
  const audienceOf = (record: R) => relation.keyOf(index, record)[prefix.length]!
  const entryOf = (record: R) => relation.entryOf(index, [...prefix, audienceOf(record)], record)
  const keyOf = (record: R) => recordKeyText(entryOf(record))
  /** Relations with an audience in the index. */
  const withAudience = (audience: Audience, records: readonly R[]) =>
    records.filter((record) => audienceOf(record) === audience)
  const openListing = async (audience: Audience) => {
    const key = [...prefix, audience]
    const entries = relation.entries(tx, index, { prefix: key })
    const stale = new Set(withAudience(audience, pending).map(keyOf))
    return { entries: except(stale, entries), total: (await relation.count(tx, index, key)) - stale.size }
  }
  const open = openAudiences(viewer)
  const checked = [...pending]
  if (
    viewer !== null &&
    !open.includes(PRIVATE) &&
    (await relation.count(tx, index, [...prefix, PRIVATE])) > 0
  ) {
    const known = new Set(pending.map(keyOf))
    const own = withAudience(PRIVATE, await candidates(viewer))
    checked.push(...own.filter((record) => !known.has(keyOf(record))))
  }
  const readable: IndexEntry[] = []
  for (const record of checked) if (await isReadable(record)) readable.push(entryOf(record))
  readable.sort((left, right) => Buffer.compare(left.order, right.order))
  const listings = [
    ...(await Promise.all(open.map(openListing))),
    { entries: readable, total: readable.length },
  ]
  const page = await pageOf(merge(listings.map(({ entries }) => entries)), slice)
  return {
    items: await relation.load(tx, page),
    total: listings.reduce((sum, { total }) => sum + total, 0),
  }
}
