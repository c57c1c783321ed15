import { createHash, type Hash } from 'node:crypto'
import { readSync } from 'node:fs'
import { serveTasks } from '../workers.ts'
import type { HashTask } from './hashing.ts'

/** Bytes that are read at once: all hashes take them while they are in the cache of the processor. */
const READ_BYTES = 128 * 1024
const buffer = Buffer.allocUnsafeSlow(READ_BYTES)

/** The hashes of the files whose last part was not asked for yet. */
const unfinished = new Map<number, Hash[]>()

/** @returns the digests after the last part of the file, in the order of the algorithms; none before */
const hashPart = ({ file, algorithms, descriptor, start, end, isLast }: HashTask): string[] => {
  const hashes = unfinished.get(file) ?? algorithms.map((name) => createHash(name))
  // Nothing stays of a file that cannot be read.
  unfinished.delete(file)
  for (let position = start; position < end; ) {
    const length = readSync(descriptor, buffer, 0, Math.min(READ_BYTES, end - position), position)
    if (length === 0) throw new Error('a file is shorter than what was written to it')
    for (const hash of hashes) hash.update(buffer.subarray(0, length))
    position += length
  }
  if (isLast) return hashes.map((hash) => hash.digest('hex'))
  unfinished.set(file, hashes)
  return []
}

serveTasks(hashPart)
