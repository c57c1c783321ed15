import type { ReadTransaction, StorageDriver, WriteTransaction } from '../storage/driver.ts'
import { decodeValue, encodeValue } from './codec.ts'
import { decodeKey, rangeBelow } from './key-codec.ts'
import { sequenceKey } from './keys.ts'

/** How many numbers are claimed in the store at once, so that a sequence is no hot spot of every insertion. */
const BLOCK = 32

export interface Sequences {
  /**
   * The next number of the named sequence, from 1 up. A restart leaves a gap of less than one block.
   * To be called before a write transaction, never within one: claiming a block is a write of its own.
   */
  next(name: string): Promise<number>
}

/** Where each sequence goes on: numbers that are claimed count as used. */
export async function* sequencesIn(tx: ReadTransaction): AsyncGenerator<{ name: string; next: number }> {
  for await (const [key, value] of tx.range(rangeBelow(['sequence'])))
    yield { name: decodeKey(key)[1] as string, next: decodeValue<number>(value) }
}

/** Only for a store in which nobody claims numbers yet. */
export const setSequence = (tx: WriteTransaction, name: string, next: number): void =>
  tx.put(sequenceKey(name), encodeValue(next))

interface Block {
  next: number
  end: number
}

export const createSequences = (driver: StorageDriver): Sequences => {
  const blocks = new Map<string, Block>()
  const claims = new Map<string, Promise<void>>()

  const claim = async (name: string) => {
    const key = sequenceKey(name)
    const start = await driver.write(async (tx) => {
      const bytes = await tx.get(key)
      const first = bytes === undefined ? 1 : decodeValue<number>(bytes)
      tx.put(key, encodeValue(first + BLOCK))
      return first
    })
    blocks.set(name, { next: start, end: start + BLOCK })
  }

  const claimOnce = (name: string): Promise<void> => {
    const underway = claims.get(name)
    if (underway !== undefined) return underway
    const started = claim(name).finally(() => claims.delete(name))
    claims.set(name, started)
    return started
  }

  return {
    async next(name) {
      for (;;) {
        const block = blocks.get(name)
        if (block !== undefined && block.next < block.end) return block.next++
        await claimOnce(name)
      }
    },
  }
}
