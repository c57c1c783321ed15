import * as v from 'valibot'
import { describeIssue } from '../errors.ts'
import type { AnyCollection } from '../records/collection.ts'
import { decodeValue, recordKey } from '../records/layout.ts'
import type { Bytes } from '../storage/index.ts'
import { describeKey } from './run.ts'

/** A positive integer, as counters and sequences hold it; undefined for anything else. */
export const parseCount = (value: Bytes): number | undefined => {
  try {
    const number = decodeValue<unknown>(value)
    return typeof number === 'number' && Number.isSafeInteger(number) && number > 0 ? number : undefined
  } catch {
    return undefined
  }
}

export const parseRecord = (
  { options: { name, schema, id: idOf } }: AnyCollection,
  key: Bytes,
  value: Bytes,
): { record: unknown } | { message: string } => {
  const broken = (reason: string) => ({ message: `the record ${describeKey(key)} ${reason}` })
  let content: unknown
  try {
    content = decodeValue(value)
  } catch {
    return broken('is not JSON')
  }
  const { success, output, issues } = v.safeParse(schema, content)
  if (!success) return broken(`is not a valid ${name}: ${describeIssue(issues[0])}`)
  const id = idOf(output)
  if (Buffer.compare(recordKey(name, id), key) !== 0)
    return broken(`is stored under the wrong key: its id is ${JSON.stringify(id)}`)
  return { record: output }
}
