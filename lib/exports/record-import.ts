import * as v from 'valibot'
import { describeIssue, invalid } from '../errors.ts'
import type { AnyCollection } from '../records/collection.ts'
import { wordsOf } from '../records/layout.ts'
import { collections } from '../records/schema/index.ts'
import { setSequence } from '../records/store.ts'
import { checkTexts, TEXT_LIMITS } from '../records/text-limits.ts'
import type { WriteTransaction } from '../storage/index.ts'
import type { RecordLine, SequenceLine } from './format.ts'

const collectionsByName = new Map(collections.map((known) => [known.options.name, known]))

type Save = (tx: WriteTransaction) => Promise<void>

/**
 * @returns what saves a record or a sequence.
 * @throws AllotError invalid for a record that does not fit its schema, or has a text that is too long
 */
export const saverOf = (line: RecordLine | SequenceLine): Save => {
  if ('sequence' in line) return async (tx) => setSequence(tx, line.sequence, line.next)
  const { collection: name, record } = line
  const collection = collectionsByName.get(name)
  if (collection === undefined)
    throw invalid(
      `unknown collection ${JSON.stringify(name)}: the file is damaged, or of a newer version of Allot`,
    )
  const result = v.safeParse(collection.options.schema, record, { abortEarly: true })
  if (!result.success) throw invalid(`${name}: ${describeIssue(result.issues[0])}`)
  if (Object.hasOwn(TEXT_LIMITS, name)) checkTexts(name as keyof typeof TEXT_LIMITS, record as object)
  return async (tx) => {
    if ((await collection.save(tx, record)) !== undefined)
      throw invalid(`${labelOf(collection, record)} is in the file twice: it is damaged, so export again`)
  }
}

/** A text in a message; a long one is cut. */
const quote = (text: string): string => JSON.stringify(text.length > 60 ? `${text.slice(0, 60)}…` : text)

/** Names a record in a message, such as `the former name "ann"`. */
const labelOf = ({ options }: AnyCollection, record: unknown): string => {
  const { name } = record as { name?: unknown }
  return `the ${wordsOf(options.name)} ${typeof name === 'string' ? quote(name) : options.id(record).join('/')}`
}
