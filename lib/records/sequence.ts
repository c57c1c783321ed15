import type { ReadTransaction, StorageDriver, WriteTransaction } from '../storage/index.ts'
import { decodeValue, encodeValue } from './codec.ts'
import { decodeKey, rangeBelow } from './key-codec.ts'
import { sequenceKey } from './layout.ts'

/** Numbers claimed in one write, so that insertions do not all contend for the sequence. */
const BLOCK = 32

export interface Sequences {
  /**
   * The next number of a sequence, which begins at 1. A restart leaves a gap of less than one block.
   * Call it before a write transaction, not within one: claiming a block is a write transaction itself.
   */
  next(name: string): Promise<number>
}

/** The first number of each sequence that is not claimed. */
export async function* sequencesIn(tx: ReadTransaction): AsyncGenerator<{ name: string; next: number }> {
  for await (const [key, value] of tx.range(rangeBelow(['sequence'])))
    yield { name: decodeKey(key)[1] as string, next: decodeValue<number>(value) }
}

/** Only for a store whose sequences are not in use yet. */
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
    const current = claims.get(name)
    if (current !== undefined) return current
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
