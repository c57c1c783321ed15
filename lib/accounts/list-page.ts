import type { Collection, IndexEntry, Page, Slice } from '../records/collection.ts'
import type { KeyTuple } from '../records/key-codec.ts'
import { except, merge, pageOf, recordKeyText } from '../records/merge.ts'
import type { Audience } from '../records/schema/index.ts'
import type { ReadTransaction } from '../storage/index.ts'
import { openAudiences, type Viewer } from './access.ts'

interface VisiblePageQuery<R, O extends string> {
  relation: Collection<R, string, O, string>
  index: O
  prefix: KeyTuple
  viewer: Viewer
  isReadable: (record: R) => Promise<boolean>
  /**
   * Relations to private repositories or accounts that the viewer belongs to; undefined when checking every private
   * relation is cheaper.
   */
  belonging: (viewer: NonNullable<Viewer>) => Promise<R[] | undefined>
  /** Relations whose audience in the index can be stale, see visibility.ts: each is checked by `isReadable`. */
  pending: readonly R[]
}

type Entries = AsyncIterable<IndexEntry> | IndexEntry[]

/**
 * A page of the relations below a prefix that the viewer can see. Relations with an open audience come from the index and
 * its counter, at a constant cost. Private ones are found from what the viewer belongs to, which is limited, and not from
 * the relations, of which other users can add any number.
 */
export const visiblePage = async <R, O extends string>(
  tx: ReadTransaction,
  query: VisiblePageQuery<R, O>,
  slice: Slice,
): Promise<Page<R>> => {
  const { relation, index, prefix, viewer } = query
  const open = openAudiences(viewer)
  const entriesOf = (audience: Audience) =>
    withoutPending(query, relation.entries(tx, index, { prefix: [...prefix, audience] }))
  const listings: Entries[] = open.map(entriesOf)
  let total = 0
  for (const audience of open) total += await relation.count(tx, index, [...prefix, audience])
  total -= query.pending.filter((record) => open.includes(audienceIn(query, record))).length
  const hasPrivate = (await relation.count(tx, index, [...prefix, PRIVATE])) > 0
  if (hasPrivate && !open.includes(PRIVATE) && viewer !== null) {
    const belonging = await query.belonging(viewer)
    const candidates = belonging ? privateEntries(query, belonging) : entriesOf(PRIVATE)
    const readable = await readableEntries(tx, query, candidates)
    listings.push(readable)
    total += readable.length
  }
  const pending = await readablePending(query)
  return {
    items: await relation.load(tx, await pageOf(merge([...listings, pending]), slice)),
    total: total + pending.length,
  }
}

const PRIVATE: Audience = 2

const readableEntries = async <R, O extends string>(
  tx: ReadTransaction,
  { relation, isReadable }: VisiblePageQuery<R, O>,
  entries: Entries,
): Promise<IndexEntry[]> => {
  const readable: IndexEntry[] = []
  for await (const entry of entries) {
    const [record] = await relation.load(tx, [entry])
    if (record !== undefined && (await isReadable(record))) readable.push(entry)
  }
  return readable
}

/** The audience that the index has for a relation. */
const audienceIn = <R, O extends string>(
  { relation, index, prefix }: VisiblePageQuery<R, O>,
  record: R,
): Audience => relation.options.ordered![index](record)![prefix.length] as Audience

const entryIn = <R, O extends string>(
  { relation, index, prefix }: VisiblePageQuery<R, O>,
  record: R,
): IndexEntry => relation.entryOf(index, prefix.length + 1, record)

const withoutPending = <R, O extends string>(
  query: VisiblePageQuery<R, O>,
  entries: AsyncIterable<IndexEntry>,
): AsyncIterable<IndexEntry> => {
  if (query.pending.length === 0) return entries
  return except(pendingKeys(query), entries)
}

const pendingKeys = <R, O extends string>(query: VisiblePageQuery<R, O>): Set<string> =>
  new Set(query.pending.map((record) => recordKeyText(entryIn(query, record))))

/** Index entries of the private relations among the given ones, in the order of the index, without the pending. */
const privateEntries = <R, O extends string>(
  query: VisiblePageQuery<R, O>,
  records: readonly R[],
): IndexEntry[] => {
  const pending = pendingKeys(query)
  return records
    .filter((record) => audienceIn(query, record) === PRIVATE)
    .map((record) => entryIn(query, record))
    .filter((entry) => !pending.has(recordKeyText(entry)))
    .sort((left, right) => Buffer.compare(left.order, right.order))
}

const readablePending = async <R, O extends string>(query: VisiblePageQuery<R, O>): Promise<IndexEntry[]> => {
  const readable: IndexEntry[] = []
  for (const record of query.pending)
    if (await query.isReadable(record)) readable.push(entryIn(query, record))
  return readable.sort((left, right) => Buffer.compare(left.order, right.order))
}
