import { invalid } from '../errors.ts'
import type { ReadTransaction, WriteTransaction } from '../storage/index.ts'
import { isEmpty, shard as stored } from './layout.ts'

/**
 * Several databases that give out distinct ids, so that owners can move between them with their ids. The ids
 * of a shard are blocks of {@link BLOCK_SIZE}, of which it takes every `of`-th. They begin at
 * {@link FIRST_ID}: lower ids belong to the first shard, which may have been a store of its own before.
 */
interface Shard {
  /** From 1 to `of`. */
  readonly number: number
  /** How many shards there can be; it cannot be changed later, and most of them need not exist yet. */
  readonly of: number
}

/** Ids claimed in one write, so that insertions do not all contend for the sequence. */
export const BLOCK_SIZE = 32
const FIRST_ID = 2 ** 40
const MAX_SHARDS = 4096

/** Undefined for a store that is not one of several. */
export const shardOf = (tx: ReadTransaction): Promise<Shard | undefined> => stored.get(tx)

/**
 * @param text such as `3/16`
 * @throws AllotError invalid
 */
export const parseShard = (text: string): Shard => {
  const [, number, of] = /^([1-9]\d{0,3})\/([1-9]\d{0,3})$/.exec(text) ?? []
  const shard = { number: Number(number), of: Number(of) }
  if (of === undefined || shard.of < 2 || shard.of > MAX_SHARDS || shard.number > shard.of)
    throw invalid(
      `expected a shard such as 3/16, with 2 to ${MAX_SHARDS} shards, got ${JSON.stringify(text.slice(0, 40))}`,
    )
  return shard
}

export const formatShard = ({ number, of }: Shard): string => `${number}/${of}`

/**
 * Makes a store one of several.
 * @throws AllotError invalid when it is already another shard, or has records and would not be the first
 * shard
 */
export const setShard = async (tx: WriteTransaction, shard: Shard): Promise<void> => {
  const current = await shardOf(tx)
  if (current !== undefined && formatShard(current) !== formatShard(shard))
    throw invalid(`the store is already shard ${formatShard(current)}, and its ids cannot change`)
  if (current === undefined && shard.number !== 1 && !(await isEmpty(tx)))
    throw invalid('the store has records, so it can only be the first shard: the others begin empty')
  stored.set(tx, shard)
}

/**
 * The next ids that a store may give out.
 * @param next the first id that is not claimed
 * @param size ids to claim at most
 */
export const nextIds = (
  next: number,
  size: number,
  shard: Shard | undefined,
): { start: number; end: number } => {
  if (shard === undefined) return { start: next, end: next + size }
  const first = Math.max(next, FIRST_ID)
  const block = Math.floor(first / BLOCK_SIZE)
  const skipped = (shard.number - 1 - (block % shard.of) + shard.of) % shard.of
  const start = skipped === 0 ? first : (block + skipped) * BLOCK_SIZE
  return { start, end: Math.min(start + size, (block + skipped + 1) * BLOCK_SIZE) }
}
