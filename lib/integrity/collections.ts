import * as v from 'valibot'
import { describeIssue } from '../errors.ts'
import type { AnyCollection } from '../records/collection.ts'
import { decodeValue, recordKey } from '../records/layout.ts'
import { ownerUsages, repositoryUsages } from '../records/schema/index.ts'
import type { Bytes, Entry } from '../storage/index.ts'
import { batchesOf, deletion, describeKey, type Run, sectionOf } from './run.ts'

/** A record that is valid. */
export interface Stored {
  readonly key: Bytes
  readonly record: unknown
}

/** A positive integer, as counters and sequences hold it; undefined for anything else. */
export const parseCount = (value: Bytes): number | undefined => {
  try {
    const number = decodeValue<unknown>(value)
    return typeof number === 'number' && Number.isSafeInteger(number) && number > 0 ? number : undefined
  } catch {
    return undefined
  }
}

const parseRecord = (
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

export const recordsOf = (run: Run, { options }: AnyCollection) =>
  batchesOf(run, sectionOf([options.name, 'r']))

/** Collections whose records follow from others: a broken one is deleted and made again. */
const DERIVED: readonly string[] = [ownerUsages, repositoryUsages].map(({ options }) => options.name)

/** @param onFault called for each of the others */
export const validRecords = (
  collection: AnyCollection,
  entries: readonly Entry[],
  onFault: Run['onFault'] = () => undefined,
): Stored[] =>
  entries.flatMap(([key, value]): Stored[] => {
    const parsed = parseRecord(collection, key, value)
    if ('record' in parsed) return [{ key, record: parsed.record }]
    const repair = DERIVED.includes(collection.options.name) ? deletion(key) : undefined
    onFault({ message: parsed.message, repair })
    return []
  })
