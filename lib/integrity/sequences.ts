import { decodeValue, encodeValue } from '../records/codec.ts'
import { sequenceKey } from '../records/keys.ts'
import { numbered } from '../records/schema/index.ts'
import type { Bytes } from '../storage/driver.ts'
import { type Fault, putAction } from './checks.ts'
import { describeKey } from './records.ts'

interface Kept {
  key: Bytes
  /** The first number that nobody has claimed; undefined when what is kept is no number. */
  next: number | undefined
  highest: number
}

/** "The sequence is at or above the highest id": a number that a record has must never be given again. */
export class SequenceCheck {
  readonly #kept = new Map<string, Kept>(
    numbered.map(({ sequence }) => [sequence, { key: sequenceKey(sequence), next: 1, highest: 0 }]),
  )

  see(collection: string, record: unknown): void {
    for (const one of numbered) {
      if (one.collection !== collection) continue
      const kept = this.#kept.get(one.sequence)!
      for (const number of one.numbersOf(record)) kept.highest = Math.max(kept.highest, number)
    }
  }

  /** Answers whether this is the key of a sequence. */
  hold(key: Bytes, value: Bytes): boolean {
    for (const kept of this.#kept.values()) {
      if (Buffer.compare(kept.key, key) !== 0) continue
      kept.next = wholeNumber(value)
      return true
    }
    return false
  }

  faults(): Fault[] {
    return [...this.#kept.values()].filter(({ next, highest }) => !((next ?? 0) > highest)).map(behind)
  }
}

const behind = ({ key, next, highest }: Kept): Fault => ({
  message: `the sequence ${describeKey(key)} goes on at ${next ?? 'no number'}, and ${highest} is given already`,
  repair: putAction(key, encodeValue(highest + 1)),
})

/** A number above 0, as counters and sequences are kept; undefined for anything else. */
export const wholeNumber = (value: Bytes): number | undefined => {
  try {
    const number = decodeValue<unknown>(value)
    return typeof number === 'number' && Number.isSafeInteger(number) && number > 0 ? number : undefined
  } catch {
    return undefined
  }
}
