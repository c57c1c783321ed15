import type { ReadTransaction, WriteTransaction } from '../storage/driver.ts'
import { decodeValue, encodeValue } from './codec.ts'
import { type KeyTuple, lookupKey } from './key-codec.ts'
import { counterKey } from './keys.ts'

/** A number that grows and shrinks in the same transaction as what it counts, so that nothing is summed on a request. */
export interface Counter {
  readonly name: string
  get(tx: ReadTransaction, key: KeyTuple): Promise<number>
  /** @throws Error when the count would fall below zero: that is a defect, and the transaction must not be kept. */
  add(tx: WriteTransaction, key: KeyTuple, by: number): Promise<void>
}

export const counter = (name: string): Counter => {
  const at = (key: KeyTuple) => counterKey(name, key)
  const get = async (tx: ReadTransaction, key: KeyTuple) => {
    const bytes = await tx.get(counterKey(name, key, lookupKey))
    return bytes === undefined ? 0 : decodeValue<number>(bytes)
  }
  return {
    name,
    get,
    async add(tx, key, by) {
      if (by === 0) return
      const sum = (await get(tx, key)) + by
      if (sum < 0) throw new Error(`counter ${name} of ${key.join('/')} would become ${sum}`)
      if (sum === 0) tx.delete(at(key))
      else tx.put(at(key), encodeValue(sum))
    },
  }
}
