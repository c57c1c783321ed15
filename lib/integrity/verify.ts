import { metadata } from '../records/layout.ts'
import { requireUpgraded } from '../records/schema/index.ts'
import type { Bytes, ReadTransaction } from '../storage/index.ts'
import {
  deleteAction,
  describeKey,
  type Fault,
  type Find,
  type IntegrityChecks,
  LookupTable,
} from './checks.ts'
import { type Comparison, ExactComparison, FingerprintComparison } from './comparison.ts'
import { type Derivation, recountDerivation, storeDerivations } from './derivations.ts'
import {
  type CheckedCollection,
  checkedCollections,
  type OnCount,
  parseRecord,
  progressMeter,
  type Section,
  SequenceCheck,
  scanSections,
  scanStore,
  section,
} from './scan.ts'

/** How much a store has of everything. */
export interface Totals {
  records: number
  entries: number
  counters: number
}

/**
 * @param isStructural whether the fault is in a record, a key, an index, a counter or a sequence, on which
 * all recounts rely
 */
export type OnFault = (fault: Fault, isStructural: boolean) => void

interface VerifyOptions {
  onFault: OnFault
  onProgress?: OnCount | undefined
  /**
   * Awaited after each fault of an exact comparison: there may be millions, and repairs need not wait for the
   * last.
   */
  afterFault?: (() => Promise<void>) | undefined
}

/**
 * Checks a store within one snapshot (index.ts explains how).
 * @throws AllotError unavailable when the store has another layout
 */
export const verifyRecords = async (
  tx: ReadTransaction,
  domains: readonly IntegrityChecks[],
  { onFault, onProgress, afterFault }: VerifyOptions,
): Promise<Totals> => {
  await requireUpgraded(tx)
  const onRead = onProgress === undefined ? () => undefined : await progressMeter(tx, onProgress)
  const find = await readLookups(tx, onRead)
  const derivations = [
    ...storeDerivations(),
    ...domains.flatMap(({ recounts }) => recounts.map(recountDerivation)),
  ]
  const fingerprints = new Map(derivations.map((each) => [each, new FingerprintComparison()]))
  const totals = await checkStore(tx, fingerprints, { domains, find, onFault, onRead })
  for (const comparisons of exactComparisons(fingerprints)) {
    await scanSections(tx, comparedSections(comparisons, find), onRead)
    for (const [derivation, comparison] of comparisons)
      for (const difference of comparison.differences()) {
        onFault(derivation.fault(difference), derivation.kind !== 'recount')
        await afterFault?.()
      }
  }
  return totals
}

const readLookups = async (tx: ReadTransaction, onRead: (entries: number) => void): Promise<Find> => {
  const table = new LookupTable()
  const sections = checkedCollections
    .filter(({ name }) => table.readsFrom(name))
    .map((collection) =>
      recordSection(collection, (record) =>
        table.remember(collection.name, collection.id(record)[0]!, record),
      ),
    )
  await scanSections(tx, sections, onRead)
  return table.find
}

interface StoreCheck {
  domains: readonly IntegrityChecks[]
  find: Find
  onFault: OnFault
  onRead: (entries: number) => void
}

/** Reads the whole store once: checks each record and each key, and emits everything to the comparisons. */
const checkStore = async (
  tx: ReadTransaction,
  comparisons: Comparisons,
  { domains, find, onFault, onRead }: StoreCheck,
): Promise<Totals> => {
  const totals: Totals = { records: 0, entries: 0, counters: 0 }
  const sequences = new SequenceCheck()
  const records = checkedCollections.map((collection) => {
    const { name } = collection
    const emit = emitterOf(name, comparisons, find)
    const checks = domains.flatMap((domain) => domain.checks).filter((each) => each.collection === name)
    const isDerived = domains.some(({ derivedCollections = [] }) => derivedCollections.includes(name))
    const onRecord = (record: unknown, key: Bytes) => {
      totals.records++
      emit(record, key)
      sequences.observeRecord(collection, record)
      for (const { run } of checks)
        run(record, find, (message, repair) => onFault({ message, repair }, false))
    }
    return recordSection(collection, onRecord, (message, key) => {
      totals.records++
      onFault({ message, repair: isDerived ? deleteAction(key) : undefined }, true)
    })
  })
  const stored = storedSections(comparisons, (kind, entry, key, count) => {
    totals[kind === 'index' ? 'entries' : 'counters'] += count ?? 1
    if (count === undefined)
      onFault({ message: `the ${entry} ${describeKey(key)} is malformed`, repair: deleteAction(key) }, true)
  })
  const other = (key: Bytes, value: Bytes) => {
    const isKnown =
      sequences.observeSequence(key, value) || metadata.some((each) => Buffer.compare(each.key, key) === 0)
    if (!isKnown)
      onFault({ message: `the key ${describeKey(key)} is not one of this version of Allot` }, true)
  }
  await scanStore(tx, [...records, ...stored], other, onRead)
  for (const fault of sequences.faults()) onFault(fault, true)
  return totals
}

type Comparisons = ReadonlyMap<Derivation, Comparison>

/** Emits the entries that the records of a collection imply. */
const emitterOf = (
  collection: string,
  comparisons: Comparisons,
  find: Find,
): ((record: unknown, key: Bytes) => void) => {
  const sources = [...comparisons].flatMap(([derivation, comparison]) =>
    derivation.sources
      .filter((source) => source.collection === collection)
      .map((source) => ({ source, emit: comparison[source.side] })),
  )
  return (record, key) => {
    for (const { source, emit } of sources) source.emitFrom(record, key, emit, find)
  }
}

const recordSection = (
  collection: CheckedCollection,
  onRecord: (record: unknown, key: Bytes) => void,
  onBroken: (message: string, key: Bytes) => void = () => undefined,
): Section =>
  section([collection.name, 'r'], (key, value) => {
    const parsed = parseRecord(collection, key, value)
    if ('record' in parsed) onRecord(parsed.record, key)
    else onBroken(parsed.message, key)
  })

/** Emits the entries that are stored outside of records. */
const storedSections = (
  comparisons: Comparisons,
  onEntry: (kind: Derivation['kind'], entry: string, key: Bytes, count: number | undefined) => void,
): Section[] =>
  [...comparisons].flatMap(([{ kind, ranges }, comparison]) =>
    ranges.map(({ prefix, entry, read }) => {
      const reader = read(comparison.actual)
      return section(prefix, (key, value) => {
        const count = reader(key, value)
        onEntry(kind, entry, key, count)
        return count
      })
    }),
  )

/** What to read again for these comparisons: the records of their sources, and the stored entries. */
const comparedSections = (comparisons: Comparisons, find: Find): Section[] => {
  const compared = new Set(
    [...comparisons.keys()].flatMap(({ sources }) => sources.map((each) => each.collection)),
  )
  const records = checkedCollections
    .filter(({ name }) => compared.has(name))
    .map((collection) => recordSection(collection, emitterOf(collection.name, comparisons, find)))
  return [...records, ...storedSections(comparisons, () => undefined)]
}

/** Keys that are compared at a time: some tens of megabytes. */
const MAX_COMPARED_KEYS = 150_000

/** Comparisons of the buckets that differ, in groups that fit into memory. */
function* exactComparisons(
  fingerprints: ReadonlyMap<Derivation, FingerprintComparison>,
): Iterable<Map<Derivation, ExactComparison>> {
  let group = new Map<Derivation, ExactComparison>()
  let groupSize = 0
  for (const [derivation, comparison] of fingerprints)
    for (const { bucket, size } of comparison.differingBuckets()) {
      if (groupSize > 0 && groupSize + size > MAX_COMPARED_KEYS) {
        yield group
        group = new Map()
        groupSize = 0
      }
      const exact = group.get(derivation) ?? new ExactComparison()
      exact.addBucket(bucket)
      group.set(derivation, exact)
      groupSize += size
    }
  if (groupSize > 0) yield group
}
