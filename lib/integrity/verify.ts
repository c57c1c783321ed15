import { metadata } from '../records/metadata.ts'
import { requireCurrentLayout } from '../records/migrate.ts'
import type { Bytes, ReadTransaction } from '../storage/driver.ts'
import { deleteAction, type Fault, type IntegrityChecks } from './checks.ts'
import { type Comparison, ExactComparison, FingerprintComparison } from './comparison.ts'
import { type ActualSource, type DerivedState, type DerivedStates, derivedStates } from './derivations.ts'
import { Lookups } from './lookups.ts'
import { isCompactionMark } from './postings.ts'
import { estimateEntries } from './progress.ts'
import { type CheckedCollection, checkedCollections, describeKey, readRecord } from './records.ts'
import { type RangeScan, rangeScan, scanRanges, withGaps } from './scan.ts'
import { SequenceCheck } from './sequences.ts'

/** What was found in a store, in numbers. */
export interface Totals {
  records: number
  entries: number
  counters: number
}

/** Indexes, counters and sequences are the store's own; what floors have declared rests on them. */
export type OnFault = (fault: Fault, isOwn: boolean) => void

/** How far a recount has come, in entries that are read; `total` is an estimate. */
export type OnProgress = (progress: { done: number; total: number }) => void

export interface VerifyListener {
  /** Told of everything that is wrong. */
  onFault: OnFault
  onProgress?: OnProgress | undefined
  /** Waited for after each thing that the closer look has found, of which there may be millions. */
  pause?: (() => Promise<void>) | undefined
}

/** As many things are looked at one by one at the same time: some tens of megabytes. */
const MAX_COMPARED_KEYS = 150_000

/**
 * Recounts a store within one snapshot, in memory that does not grow with it: facts first (eight bytes for each account
 * and repository), then one pass over everything, then a closer look at what differs, if anything does.
 * @throws AllotError unavailable for a store of another layout
 */
export const verifyRecords = async (
  tx: ReadTransaction,
  proofs: readonly IntegrityChecks[],
  { onFault, onProgress, pause = async () => undefined }: VerifyListener,
): Promise<Totals> => {
  await requireCurrentLayout(tx)
  const read = onProgress === undefined ? () => undefined : meter(await estimateEntries(tx), onProgress)
  const books = derivedStates(proofs.flatMap((proof) => proof.recounts))
  const facts = await gatherFacts(tx, proofs, read)
  const sums = new Map(books.states.map((balance) => [balance, new FingerprintComparison()]))
  const counted = await recount(tx, { books, comparison: sums, facts, proofs, onFault }, read)
  for (const comparison of closerLooks(sums)) {
    await recompare(tx, { books, comparison, facts }, read)
    for (const [balance, compared] of comparison)
      for (const difference of compared.differing()) {
        onFault(balance.explain(difference), balance.isOwn)
        await pause()
      }
  }
  return counted
}

/** Tells how far it has come, and never of more than there is. */
const meter = (total: number, told: OnProgress) => {
  let done = 0
  return (entries: number) => {
    done += entries
    told({ done, total: Math.max(done, total) })
  }
}

const gatherFacts = async (
  tx: ReadTransaction,
  proofs: readonly IntegrityChecks[],
  read: (entries: number) => void,
): Promise<Lookups> => {
  const facts = new Lookups(proofs.flatMap((proof) => proof.lookups))
  const sections = checkedCollections
    .filter(({ name }) => facts.collections.has(name))
    .map((collection) =>
      rangeScan([collection.name, 'r'], (key, value) => {
        const reading = readRecord(collection, key, value)
        if ('record' in reading) facts.remember(collection.name, reading.id[0]!, reading.record)
      }),
    )
  await scanRanges(tx, sections, read)
  return facts
}

interface Recounting {
  books: DerivedStates
  comparison: ReadonlyMap<DerivedState, Comparison>
  facts: Lookups
  proofs: readonly IntegrityChecks[]
  onFault: OnFault
}

/** The pass over everything: each entry is told to its side, each record is held against what is known. */
const recount = async (
  tx: ReadTransaction,
  { books, comparison, facts, proofs, onFault }: Recounting,
  read: (entries: number) => void,
): Promise<Totals> => {
  const counted = { records: 0, entries: 0, counters: 0 }
  const sequences = new SequenceCheck()
  const stranger = (key: Bytes) =>
    onFault({ message: `${describeKey(key)} belongs to nothing that this version knows` }, true)

  const records = checkedCollections.map((collection) => {
    const tell = teller(books, comparison, facts, collection)
    const looks = proofs.flatMap((proof) => proof.checks).filter((one) => one.collection === collection.name)
    const isDerived = proofs.some(({ derived }) => derived.includes(collection.name))
    return rangeScan([collection.name, 'r'], (key, value) => {
      counted.records++
      const reading = readRecord(collection, key, value)
      if ('message' in reading) return onFault(isDerived ? mendedWithout(reading, key) : reading, true)
      tell(reading.record, key)
      sequences.see(collection.name, reading.record)
      for (const look of looks)
        for (const fault of look.at(reading.record, facts.value)) onFault(fault, false)
    })
  })
  const kept = keptSections(books, comparison, ({ kind }, key, number) => {
    counted[kind === 'index' ? 'entries' : 'counters'] += number ?? 1
    if (number === undefined) onFault(kind === 'index' ? noPack(key) : noCount(key), true)
  })
  const rest = [
    ...checkedCollections.flatMap(({ name, spread }) =>
      spread.flatMap(({ index, isPacked, counted: head }) =>
        isPacked
          ? [
              rangeScan(
                [name, 'g', index],
                (key) => isCompactionMark(key, head) || onFault(noList(key), true),
              ),
            ]
          : [],
      ),
    ),
    rangeScan(['sequence'], (key, value) => sequences.hold(key, value) || stranger(key)),
    rangeScan(
      ['mark'],
      (key) => metadata.some((mark) => Buffer.compare(mark.key, key) === 0) || stranger(key),
    ),
  ]
  await scanRanges(tx, withGaps([...records, ...kept, ...rest], stranger), read)
  for (const fault of sequences.faults()) onFault(fault, true)
  return counted
}

/** The pass for a closer look: only what is told to the balances in question is read. */
const recompare = async (
  tx: ReadTransaction,
  { books, comparison, facts }: Pick<Recounting, 'books' | 'comparison' | 'facts'>,
  read: (entries: number) => void,
): Promise<void> => {
  const concerned = checkedCollections.filter(({ name }) =>
    books.expectedBy.get(name)!.some(({ balance }) => comparison.has(balance)),
  )
  const records = concerned.map((collection) => {
    const tell = teller(books, comparison, facts, collection)
    return rangeScan([collection.name, 'r'], (key, value) => {
      const reading = readRecord(collection, key, value)
      if ('record' in reading) tell(reading.record, key)
    })
  })
  await scanRanges(tx, [...records, ...keptSections(books, comparison, () => undefined)], read)
}

const teller = (
  books: DerivedStates,
  comparison: ReadonlyMap<DerivedState, Comparison>,
  { value }: Lookups,
  { name }: CheckedCollection,
) => {
  const told = books.expectedBy.get(name)!.flatMap(({ balance, expect }) => {
    const to = comparison.get(balance)
    return to === undefined ? [] : [(record: unknown, key: Bytes) => expect(to, record, key, value)]
  })
  return (record: unknown, key: Bytes) => {
    for (const tell of told) tell(record, key)
  }
}

const keptSections = (
  books: DerivedStates,
  comparison: ReadonlyMap<DerivedState, Comparison>,
  seen: (kept: ActualSource, key: Bytes, number: number | undefined) => void,
): RangeScan[] =>
  books.actual.flatMap((kept) => {
    const to = comparison.get(kept.balance)
    if (to === undefined) return []
    const take: RangeScan['visit'] = (key, value) => {
      const number = kept.observe(to, key, value)
      seen(kept, key, number)
      return number
    }
    return [rangeScan(kept.prefix, take)]
  })

const noCount = (key: Bytes): Fault =>
  mendedWithout({ message: `the counter ${describeKey(key)} is no number above 0` }, key)

const noPack = (key: Bytes): Fault =>
  mendedWithout({ message: `${describeKey(key)} holds no pack of entries` }, key)

const noList = (key: Bytes): Fault =>
  mendedWithout({ message: `${describeKey(key)} says of no list that it has grown` }, key)

/** Mended by taking it away: the next recount finds that it is missing. */
const mendedWithout = (fault: Fault, key: Bytes): Fault => ({
  ...fault,
  repair: deleteAction(new Uint8Array(key)),
})

/** The balances that differ, in portions that fit into memory. */
function* closerLooks(
  sums: ReadonlyMap<DerivedState, FingerprintComparison>,
): Iterable<Map<DerivedState, ExactComparison>> {
  let portion = new Map<DerivedState, Set<number>>()
  let size = 0
  for (const [balance, comparison] of sums)
    for (const { bucket, told } of comparison.differing()) {
      if (size > 0 && size + told > MAX_COMPARED_KEYS) {
        yield compared(portion)
        portion = new Map()
        size = 0
      }
      portion.set(balance, (portion.get(balance) ?? new Set()).add(bucket))
      size += told
    }
  if (size > 0) yield compared(portion)
}

const compared = (
  portion: ReadonlyMap<DerivedState, ReadonlySet<number>>,
): Map<DerivedState, ExactComparison> =>
  new Map([...portion].map(([balance, buckets]) => [balance, new ExactComparison(buckets)]))
