import * as v from 'valibot'
import { checkRecord } from '../content/record-checks.ts'
import { AllotError, describeIssue, invalid, withLineNumber } from '../errors.ts'
import { parseExactly } from '../integers.ts'
import type { Collection } from '../records/collection.ts'
import { collections } from '../records/schema/index.ts'
import { setSequence } from '../records/store.ts'
import type { StorageDriver, WriteTransaction } from '../storage/index.ts'
import type { ContentLine } from './content-import.ts'
import { FilePartLine, FileWholeLine, HeadLine, PartLine, RecordLine, SequenceLine } from './format.ts'

/** A record or a sequence, for the store. */
interface StoredLine {
  kind: 'stored'
  save(tx: WriteTransaction): Promise<void>
}

const collectionsByName = new Map(
  (collections as unknown as readonly Collection<unknown>[]).map((collection) => [
    collection.options.name,
    collection,
  ]),
)

/** @throws AllotError invalid */
export const parseLine = (text: Buffer): StoredLine | ContentLine => {
  const value = parseObject(text)
  if ('collection' in value) return recordLine(validated(RecordLine, value))
  if ('sequence' in value) {
    const { sequence, next } = validated(SequenceLine, value)
    return { kind: 'stored', save: async (tx) => setSequence(tx, sequence, next) }
  }
  if ('file' in value) return fileLine(value)
  if ('head' in value) return { kind: 'head', ...validated(HeadLine, value) }
  const { repository, part } = validated(PartLine, value)
  return { kind: 'part', repository, part: Buffer.from(part, 'base64') }
}

const fileLine = (value: object): ContentLine => {
  const { file, ...rest } = validated('whole' in value ? FileWholeLine : FilePartLine, value)
  const [area, ownerId, name] = file
  const place = { area, ownerId, name }
  return 'part' in rest
    ? { kind: 'filePart', place, part: Buffer.from(rest.part, 'base64') }
    : { kind: 'fileWhole', place }
}

const recordLine = ({ collection: name, record }: v.InferOutput<typeof RecordLine>): StoredLine => {
  const collection = collectionsByName.get(name)
  if (collection === undefined) throw invalid(`unknown collection ${JSON.stringify(name)}`)
  const { issues } = v.safeParse(collection.options.schema, record, { abortEarly: true })
  if (issues !== undefined) throw invalid(`${name}: ${describeIssue(issues[0])}`)
  checkNames(name, record)
  return {
    kind: 'stored',
    async save(tx) {
      if ((await collection.save(tx, record)) !== undefined)
        throw invalid(`this ${name} is in the file twice`)
    },
  }
}

/** Applies the rules of the API: other names would lead to paths and keys that nothing can reach or remove. */
const checkNames = (collection: string, record: unknown): void => {
  try {
    checkRecord(collection, record)
  } catch (cause) {
    if (!(cause instanceof AllotError)) throw cause
    throw new AllotError('invalid', `${collection}: ${cause.message}`, { cause })
  }
}

/** Saves all lines in one transaction. @throws AllotError invalid, with the number of the line */
export const saveAll = (
  driver: StorageDriver,
  lines: readonly (StoredLine & { number: number })[],
): Promise<void> =>
  driver.write(async (tx) => {
    for (const { number, save } of lines) await withLineNumber(number, () => save(tx))
  })

const parseObject = (text: Buffer): object => {
  const value = parseJson(text)
  if (typeof value !== 'object' || value === null) throw invalid('expected a JSON object')
  return value
}

const parseJson = (text: Buffer): unknown => {
  try {
    return parseExactly(text.toString('utf8'))
  } catch (cause) {
    throw invalid(`is not valid JSON: ${(cause as Error).message}`)
  }
}

const validated = <S extends v.GenericSchema>(schema: S, value: unknown): v.InferOutput<S> => {
  const result = v.safeParse(schema, value, { abortEarly: true })
  if (result.success) return result.output
  throw invalid(describeIssue(result.issues[0]))
}
