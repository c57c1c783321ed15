import * as v from 'valibot'
import { checkRecord } from '../content/record-checks.ts'
import { AllotError, invalid } from '../errors.ts'
import type { FilePlace } from '../files/index.ts'
import { parseExactly } from '../integers.ts'
import type { Collection } from '../records/collection.ts'
import { collections } from '../records/schema/index.ts'
import { setSequence } from '../records/sequence.ts'
import type { StorageDriver, WriteTransaction } from '../storage/index.ts'
import {
  FilePartLine,
  FileWholeLine,
  HeadLine,
  type Line,
  PartLine,
  RecordLine,
  SequenceLine,
} from './format.ts'

/** What a line holds: something for the store, or a piece of a repository or a file. */
export type ParsedLine =
  | { kind: 'stored'; save(tx: WriteTransaction): Promise<void> }
  | { kind: 'part'; repository: number; part: Buffer }
  | { kind: 'head'; repository: number; head: string }
  | { kind: 'filePart'; file: FilePlace; part: Buffer }
  | { kind: 'fileWhole'; file: FilePlace }

const named = new Map(
  (collections as unknown as readonly Collection<unknown>[]).map((one) => [one.options.name, one]),
)

/** @throws AllotError invalid that names the line. */
export const parseLine = ({ number, text }: Line): ParsedLine => withLine(number, () => read(objectIn(text)))

const read = (value: object): ParsedLine => {
  if ('collection' in value) return recordOf(parsed(RecordLine, value))
  if ('sequence' in value) {
    const { sequence, next } = parsed(SequenceLine, value)
    return { kind: 'stored', save: async (tx) => setSequence(tx, sequence, next) }
  }
  if ('file' in value) return fileOf(value)
  if ('head' in value) return { kind: 'head', ...parsed(HeadLine, value) }
  const { repository, part } = parsed(PartLine, value)
  return { kind: 'part', repository, part: Buffer.from(part, 'base64') }
}

const fileOf = (value: object): ParsedLine => {
  const { file, ...rest } = parsed('whole' in value ? FileWholeLine : FilePartLine, value)
  const [area, keeper, name] = file
  const place = { area, keeper, name }
  return 'part' in rest
    ? { kind: 'filePart', file: place, part: Buffer.from(rest.part, 'base64') }
    : { kind: 'fileWhole', file: place }
}

const recordOf = ({ collection: name, record }: v.InferOutput<typeof RecordLine>): ParsedLine => {
  const collection = named.get(name)
  if (collection === undefined) throw invalid(`there is no collection ${name}`)
  const { issues } = v.safeParse(collection.options.schema, record, { abortEarly: true })
  if (issues !== undefined) throw invalid(`${name}: ${sentence(issues[0])}`)
  checkNames(name, record)
  return {
    kind: 'stored',
    async save(tx) {
      if ((await collection.save(tx, record)) !== undefined) throw invalid(`this ${name} is there twice`)
    },
  }
}

/** A record must have names and texts that the API takes: others lead to paths and keys that nothing can reach or remove. */
const checkNames = (collection: string, record: unknown): void => {
  try {
    checkRecord(collection, record)
  } catch (cause) {
    if (!(cause instanceof AllotError)) throw cause
    throw new AllotError('invalid', `${collection}: ${cause.message}`, { cause })
  }
}

/** All of them, or none. @throws AllotError invalid that names the line. */
export const saveAll = (
  driver: StorageDriver,
  all: readonly { number: number; save(tx: WriteTransaction): Promise<void> }[],
): Promise<void> =>
  driver.write(async (tx) => {
    for (const { number, save } of all)
      await save(tx).catch((error) => {
        throw errorWithLine(number, error)
      })
  })

const objectIn = (text: Buffer): object => {
  const value = jsonIn(text)
  if (typeof value !== 'object' || value === null) throw invalid('expected a JSON object')
  return value
}

const jsonIn = (text: Buffer): unknown => {
  try {
    return parseExactly(text.toString('utf8'))
  } catch (cause) {
    throw invalid(`is no JSON: ${(cause as Error).message}`)
  }
}

const parsed = <S extends v.GenericSchema>(schema: S, value: unknown): v.InferOutput<S> => {
  const result = v.safeParse(schema, value, { abortEarly: true })
  if (result.success) return result.output
  throw invalid(sentence(result.issues[0]))
}

const sentence = (issue: v.BaseIssue<unknown>): string => {
  const path = v.getDotPath(issue)
  return path === null ? issue.message : `${path}: ${issue.message}`
}

export const withLine = <T>(number: number, work: () => T): T => {
  try {
    return work()
  } catch (error) {
    throw errorWithLine(number, error)
  }
}

/** What the input is to blame for names its line; everything else is as it was. */
export const errorWithLine = (number: number, error: unknown): unknown =>
  error instanceof AllotError && (error.code === 'invalid' || error.code === 'conflict')
    ? new AllotError('invalid', `line ${number}: ${error.message}`, { cause: error })
    : error
