import { decodeKeyIfValid } from '../records/key-codec.ts'
import type { Bytes, WriteTransaction } from '../storage/index.ts'

/** One thing that is wrong. */
export interface Fault {
  message: string
  /** Present when the right state follows from other records. */
  repair?: RepairAction | undefined
}

/** Resolves to false when there was nothing to repair after all. */
export type RepairAction = (tx: WriteTransaction) => Promise<boolean>

export const putAction =
  (key: Bytes, value: Bytes): RepairAction =>
  async (tx) => {
    tx.put(key, value)
    return true
  }

/** Copies the key, which a driver may hand out as a part of a larger buffer. */
export const deleteAction = (key: Bytes): RepairAction => {
  const copy = new Uint8Array(key)
  return async (tx) => {
    tx.delete(copy)
    return true
  }
}

/** A key for people: its parts as JSON, or its bytes when it has none. */
export const describeKey = (key: Bytes): string => {
  const tuple = decodeKeyIfValid(key)
  return tuple === undefined ? `0x${Buffer.from(key).toString('hex')}` : JSON.stringify(tuple)
}
