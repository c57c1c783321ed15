import type { Collection, IndexEntry } from '../records/collection.ts'
import type { KeyTuple } from '../records/key-codec.ts'
import { except, merge, pageOf, recordKeyText } from '../records/merge.ts'
import type { Audience } from '../records/schema/index.ts'
import type { ReadTransaction } from '../storage/driver.ts'
import { openAudiences, type Viewer } from './access.ts'

export interface Slice {
  offset: number
  limit: number
}

export interface Page<T> {
  items: T[]
  /** "Totals are what the viewer can list." */
  total: number
}

interface VisiblePageQuery<R, O extends string> {
  relation: Collection<R, string, O, string>
  index: O
  prefix: KeyTuple
  viewer: Viewer
  isReadable: (one: R) => Promise<boolean>
  /** Those of the relations for a few that are to what a signed-in viewer belongs to; undefined: to look at all of them. */
  belonging: (viewer: NonNullable<Viewer>) => Promise<R[] | undefined>
  /** Relations whose place in the index may be wrong: they are judged by themselves. See pending-visibility.ts. */
  pending: readonly R[]
}

type Entries = AsyncIterable<IndexEntry> | IndexEntry[]

/**
 * A page of the relations below a prefix that the viewer may know of. What is open to the viewer comes from the index
 * and its counter, at a cost that does not grow. What is only for a few is found from what the viewer belongs to, which
 * others can make grow to a limit only, and not from the relations, of which others can add any number.
 */
export const visiblePage = async <R, O extends string>(
  tx: ReadTransaction,
  asked: VisiblePageQuery<R, O>,
  slice: Slice,
): Promise<Page<R>> => {
  const { relation, index, prefix } = asked
  const open = openAudiences(asked.viewer)
  const entriesOf = (audience: Audience) =>
    settledOnly(asked, relation.entries(tx, index, { prefix: [...prefix, audience] }))
  const listings: Entries[] = open.map(entriesOf)
  let total = 0
  for (const audience of open) total += await relation.count(tx, index, [...prefix, audience])
  total -= asked.pending.filter((one) => open.includes(audienceIn(asked, one))).length
  if (
    !open.includes(FEW) &&
    asked.viewer !== null &&
    (await relation.count(tx, index, [...prefix, FEW])) > 0
  ) {
    const belonging = await asked.belonging(asked.viewer)
    const few = await readableEntries(tx, asked, belonging ? settledFew(asked, belonging) : entriesOf(FEW))
    listings.push(few)
    total += few.length
  }
  const settled = await readableUnsettled(asked)
  return {
    items: await relation.load(tx, await pageOf(merge([...listings, settled]), slice)),
    total: total + settled.length,
  }
}

const FEW: Audience = 2

const readableEntries = async <R, O extends string>(
  tx: ReadTransaction,
  { relation, isReadable }: VisiblePageQuery<R, O>,
  entries: Entries,
): Promise<IndexEntry[]> => {
  const readable: IndexEntry[] = []
  for await (const entry of entries) {
    const [one] = await relation.load(tx, [entry])
    if (one !== undefined && (await isReadable(one))) readable.push(entry)
  }
  return readable
}

/** The audience under which the index has a relation. */
const audienceIn = <R, O extends string>(
  { relation, index, prefix }: VisiblePageQuery<R, O>,
  one: R,
): Audience => relation.options.ordered![index](one)![prefix.length] as Audience

const entryIn = <R, O extends string>(
  { relation, index, prefix }: VisiblePageQuery<R, O>,
  one: R,
): IndexEntry => relation.entryOf(index, prefix.length + 1, one)

const settledOnly = <R, O extends string>(
  asked: VisiblePageQuery<R, O>,
  entries: AsyncIterable<IndexEntry>,
): AsyncIterable<IndexEntry> => {
  if (asked.pending.length === 0) return entries
  const held = new Set(asked.pending.map((one) => recordKeyText(entryIn(asked, one))))
  return except(held, entries)
}

/** The entries of relations that are found otherwise, as those of the index are: in its order, without the unsettled. */
const settledFew = <R, O extends string>(
  asked: VisiblePageQuery<R, O>,
  found: readonly R[],
): IndexEntry[] => {
  const held = new Set(asked.pending.map((one) => recordKeyText(entryIn(asked, one))))
  return found
    .filter((one) => audienceIn(asked, one) === FEW)
    .map((one) => entryIn(asked, one))
    .filter((entry) => !held.has(recordKeyText(entry)))
    .sort((left, right) => Buffer.compare(left.order, right.order))
}

const readableUnsettled = async <R, O extends string>(
  asked: VisiblePageQuery<R, O>,
): Promise<IndexEntry[]> => {
  const readable: IndexEntry[] = []
  for (const one of asked.pending) if (await asked.isReadable(one)) readable.push(entryIn(asked, one))
  return readable.sort((one, other) => Buffer.compare(one.order, other.order))
}
