import type { Bytes, ReadTransaction } from '../../storage/driver.ts'
import { marks } from '../mark.ts'
import { refuseUnready } from '../opening.ts'
import { type Balance, type Books, type Kept, openBooks } from './balances.ts'
import { type Declared, declared, keyWords, readRecord } from './collections.ts'
import { deleting, type Fault, type Proof } from './declare.ts'
import { estimate } from './estimate.ts'
import { Facts } from './facts.ts'
import { isGrown } from './packs.ts'
import { type Section, sectionOf, walk, withGaps } from './sections.ts'
import { SequenceCheck } from './sequences.ts'
import { ComparedSides, type Sides, SummedSides } from './sides.ts'

/** What was found in a store, in numbers. */
export interface Counted {
  records: number
  entries: number
  counters: number
}

/** Indexes, counters and sequences are the store's own; what floors have declared rests on them. */
export type Found = (fault: Fault, isOwn: boolean) => void

/** How far a recount has come, in entries that are read; `total` is an estimate. */
export type Told = (progress: { done: number; total: number }) => void

export interface Listening {
  /** Told of everything that is wrong. */
  found: Found
  told?: Told | undefined
  /** Waited for after each thing that the closer look has found, of which there may be millions. */
  pause?: (() => Promise<void>) | undefined
}

/** As many things are looked at one by one at the same time: some tens of megabytes. */
const AT_ONCE = 150_000

/**
 * Recounts a store within one snapshot, in memory that does not grow with it: facts first (eight bytes for each account
 * and repository), then one pass over everything, then a closer look at what differs, if anything does.
 * @throws AllotError unavailable for a store of another layout
 */
export const verifyRecords = async (
  tx: ReadTransaction,
  proofs: readonly Proof[],
  { found, told, pause = async () => undefined }: Listening,
): Promise<Counted> => {
  await refuseUnready(tx)
  const read = told === undefined ? () => undefined : meter(await estimate(tx), told)
  const books = openBooks(proofs.flatMap((proof) => proof.recounts))
  const facts = await gatherFacts(tx, proofs, read)
  const sums = new Map(books.balances.map((balance) => [balance, new SummedSides()]))
  const counted = await recount(tx, { books, sides: sums, facts, proofs, found }, read)
  for (const sides of closerLooks(sums)) {
    await recompare(tx, { books, sides, facts }, read)
    for (const [balance, compared] of sides)
      for (const difference of compared.differing()) {
        found(balance.explain(difference), balance.isOwn)
        await pause()
      }
  }
  return counted
}

/** Tells how far it has come, and never of more than there is. */
const meter = (total: number, told: Told) => {
  let done = 0
  return (entries: number) => {
    done += entries
    told({ done, total: Math.max(done, total) })
  }
}

const gatherFacts = async (
  tx: ReadTransaction,
  proofs: readonly Proof[],
  read: (entries: number) => void,
): Promise<Facts> => {
  const facts = new Facts(proofs.flatMap((proof) => proof.facts))
  const sections = declared
    .filter(({ name }) => facts.collections.has(name))
    .map((collection) =>
      sectionOf([collection.name, 'r'], (key, value) => {
        const reading = readRecord(collection, key, value)
        if ('record' in reading) facts.remember(collection.name, reading.id[0]!, reading.record)
      }),
    )
  await walk(tx, sections, read)
  return facts
}

interface Recounting {
  books: Books
  sides: ReadonlyMap<Balance, Sides>
  facts: Facts
  proofs: readonly Proof[]
  found: Found
}

/** The pass over everything: each entry is told to its side, each record is held against what is known. */
const recount = async (
  tx: ReadTransaction,
  { books, sides, facts, proofs, found }: Recounting,
  read: (entries: number) => void,
): Promise<Counted> => {
  const counted = { records: 0, entries: 0, counters: 0 }
  const sequences = new SequenceCheck()
  const stranger = (key: Bytes) =>
    found({ says: `${keyWords(key)} belongs to nothing that this version knows` }, true)

  const records = declared.map((collection) => {
    const tell = teller(books, sides, facts, collection)
    const looks = proofs.flatMap((proof) => proof.looks).filter((one) => one.collection === collection.name)
    const isDerived = proofs.some(({ derived }) => derived.includes(collection.name))
    return sectionOf([collection.name, 'r'], (key, value) => {
      counted.records++
      const reading = readRecord(collection, key, value)
      if ('says' in reading) return found(isDerived ? mendedWithout(reading, key) : reading, true)
      tell(reading.record, key)
      sequences.see(collection.name, reading.record)
      for (const look of looks) for (const fault of look.at(reading.record, facts.known)) found(fault, false)
    })
  })
  const kept = keptSections(books, sides, ({ kind }, key, number) => {
    counted[kind === 'index' ? 'entries' : 'counters'] += number ?? 1
    if (number === undefined) found(kind === 'index' ? noPack(key) : noCount(key), true)
  })
  const rest = [
    ...declared.flatMap(({ name, spread }) =>
      spread.flatMap(({ index, isPacked, counted: head }) =>
        isPacked
          ? [sectionOf([name, 'g', index], (key) => isGrown(key, head) || found(noList(key), true))]
          : [],
      ),
    ),
    sectionOf(['sequence'], (key, value) => sequences.hold(key, value) || stranger(key)),
    sectionOf(['mark'], (key) => marks.some((mark) => Buffer.compare(mark.key, key) === 0) || stranger(key)),
  ]
  await walk(tx, withGaps([...records, ...kept, ...rest], stranger), read)
  for (const fault of sequences.faults()) found(fault, true)
  return counted
}

/** The pass for a closer look: only what is told to the balances in question is read. */
const recompare = async (
  tx: ReadTransaction,
  { books, sides, facts }: Pick<Recounting, 'books' | 'sides' | 'facts'>,
  read: (entries: number) => void,
): Promise<void> => {
  const concerned = declared.filter(({ name }) =>
    books.toldBy.get(name)!.some(({ balance }) => sides.has(balance)),
  )
  const records = concerned.map((collection) => {
    const tell = teller(books, sides, facts, collection)
    return sectionOf([collection.name, 'r'], (key, value) => {
      const reading = readRecord(collection, key, value)
      if ('record' in reading) tell(reading.record, key)
    })
  })
  await walk(tx, [...records, ...keptSections(books, sides, () => undefined)], read)
}

const teller = (books: Books, sides: ReadonlyMap<Balance, Sides>, { known }: Facts, { name }: Declared) => {
  const told = books.toldBy.get(name)!.flatMap(({ balance, tell }) => {
    const to = sides.get(balance)
    return to === undefined ? [] : [(record: unknown, key: Bytes) => tell(to, record, key, known)]
  })
  return (record: unknown, key: Bytes) => {
    for (const tell of told) tell(record, key)
  }
}

const keptSections = (
  books: Books,
  sides: ReadonlyMap<Balance, Sides>,
  seen: (kept: Kept, key: Bytes, number: number | undefined) => void,
): Section[] =>
  books.kept.flatMap((kept) => {
    const to = sides.get(kept.balance)
    if (to === undefined) return []
    const take: Section['take'] = (key, value) => {
      const number = kept.hold(to, key, value)
      seen(kept, key, number)
      return number
    }
    return [sectionOf(kept.prefix, take)]
  })

const noCount = (key: Bytes): Fault =>
  mendedWithout({ says: `the counter ${keyWords(key)} is no number above 0` }, key)

const noPack = (key: Bytes): Fault =>
  mendedWithout({ says: `${keyWords(key)} holds no pack of entries` }, key)

const noList = (key: Bytes): Fault =>
  mendedWithout({ says: `${keyWords(key)} says of no list that it has grown` }, key)

/** Mended by taking it away: the next recount finds that it is missing. */
const mendedWithout = (fault: Fault, key: Bytes): Fault => ({ ...fault, mend: deleting(new Uint8Array(key)) })

/** The balances that differ, in portions that fit into memory. */
function* closerLooks(sums: ReadonlyMap<Balance, SummedSides>): Iterable<Map<Balance, ComparedSides>> {
  let portion = new Map<Balance, Set<number>>()
  let size = 0
  for (const [balance, sides] of sums)
    for (const { bucket, told } of sides.differing()) {
      if (size > 0 && size + told > AT_ONCE) {
        yield compared(portion)
        portion = new Map()
        size = 0
      }
      portion.set(balance, (portion.get(balance) ?? new Set()).add(bucket))
      size += told
    }
  if (size > 0) yield compared(portion)
}

const compared = (portion: ReadonlyMap<Balance, ReadonlySet<number>>): Map<Balance, ComparedSides> =>
  new Map([...portion].map(([balance, buckets]) => [balance, new ComparedSides(buckets)]))
