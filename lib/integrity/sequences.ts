import { encodeValue } from '../records/codec.ts'
import { sequenceKey } from '../records/keys.ts'
import { numbered } from '../records/schema/index.ts'
import type { Bytes } from '../storage/driver.ts'
import { describeKey, type Fault, putAction } from './faults.ts'
import { parseCount } from './records.ts'

/** Checks that each sequence is above every number that a record has, so that no number is given twice. */
export class SequenceCheck {
  readonly #sequences = numbered.map((records) => ({
    ...records,
    key: sequenceKey(records.sequence),
    /** The next number that the sequence gives; undefined when what is stored is not a number. */
    next: 1 as number | undefined,
    highest: 0,
  }))

  observeRecord(collection: string, record: unknown): void {
    for (const sequence of this.#sequences)
      if (sequence.collection === collection)
        sequence.highest = Math.max(sequence.highest, ...sequence.numbersOf(record))
  }

  /** @returns false when the key is not that of a sequence */
  observeSequence(key: Bytes, value: Bytes): boolean {
    const sequence = this.#sequences.find((each) => Buffer.compare(each.key, key) === 0)
    if (sequence !== undefined) sequence.next = parseCount(value)
    return sequence !== undefined
  }

  faults(): Fault[] {
    return this.#sequences
      .filter(({ next, highest }) => next === undefined || next <= highest)
      .map(({ key, next, highest }) => ({
        message: `the sequence ${describeKey(key)} continues at ${next ?? 'no number'}, but ${highest} is already in use`,
        repair: putAction(key, encodeValue(highest + 1)),
      }))
  }
}
