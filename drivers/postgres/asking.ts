import { type Bytes, compareKeys, type Entry } from '../../lib/storage/index.ts'
import { keyText } from '../../lib/storage/layer.ts'
import { byteas, bytesOf, integers } from './arrays.ts'
import type { Answer, Question } from './questions.ts'
import type { Known } from './recollection.ts'
import type { Row } from './session.ts'
import type { Statement, Statements } from './statements.ts'

export type Run = (statement: Statement, values: readonly unknown[]) => Promise<Row[]>

/** The same key twice is asked once; answers come as one statement's rows, so they are of one moment. */
export const askKeys = async (
  run: Run,
  { points }: Statements,
  questions: readonly Question[],
): Promise<Answer[]> => {
  const keys = new Map(questions.map(({ id, start }) => [id, start]))
  const found = answersByKey(await run(points, [byteas([...keys.values()])]))
  return questions.map(({ id }) => found.get(id) ?? NOTHING)
}

export const askPage = async (
  run: Run,
  { forward, reverse }: Statements,
  question: Question,
): Promise<Answer> => {
  const rows = await run(question.reverse ? reverse : forward, [
    ...[question.start, question.end],
    question.limit,
  ])
  return rows.map(([key, value]) => entryOf(key!, value!))
}

/** What is to be found out at one moment. */
export interface Asked {
  readonly questions: readonly Question[]
  /** Answers about keys: those that are right need not be sent once more. */
  readonly expected: readonly Known[]
}

export interface Told {
  /** In the order of the questions. */
  readonly answers: Answer[]
  /** By the question's id, for what is expected and is not so. */
  readonly others: ReadonlyMap<string, Answer>
}

/** Everything in one statement. */
export const askAll = async (
  run: Run,
  statements: Statements,
  { questions, expected }: Asked,
): Promise<Told> => {
  if (expected.length === 0 && questions.every(isOfKey))
    return { answers: await askKeys(run, statements, questions), others: NONE }
  if (questions.length === 0) {
    const rows = await run(statements.changed, expectedOf(expected))
    return { answers: [], others: answersByKey(rows) }
  }
  const places = [...questions.entries()].filter(([, question]) => !isOfKey(question))
  const rows = await run(statements.questions, [
    byteas(questions.filter(isOfKey).map(({ start }) => start)),
    ...rangesOf(places.filter(([, { reverse }]) => !reverse)),
    ...rangesOf(places.filter(([, { reverse }]) => reverse)),
    ...expectedOf(expected),
  ])
  const found = answersByKey(rows.filter(([place]) => place === null).map(([, ...entry]) => entry))
  const pages = pagesOf(rows, places)
  return { answers: questions.map(({ id }, at) => pages.get(at) ?? found.get(id) ?? NOTHING), others: found }
}

const isOfKey = ({ end }: Question): boolean => end === undefined

const pagesOf = (
  rows: readonly Row[],
  places: readonly (readonly [number, Question])[],
): Map<number, Answer> => {
  const pages = new Map(places.map(([at]) => [at, [] as Entry[]]))
  for (const [place, key, value] of rows)
    if (place != null) pages.get(Number(place))!.push(entryOf(key!, value!))
  // No statement that has several parts promises an order.
  for (const [at, { reverse }] of places)
    pages.get(at)!.sort(([one], [other]) => (reverse ? compareKeys(other, one) : compareKeys(one, other)))
  return pages
}

const expectedOf = (expected: readonly Known[]): Buffer[] => [
  byteas(expected.map(({ question }) => question.start)),
  byteas(expected.map(({ answer }) => answer[0]?.[1])),
]

const rangesOf = (places: readonly (readonly [number, Question])[]): Buffer[] => [
  byteas(places.map(([, { start }]) => start)),
  byteas(places.map(([, { end }]) => end as Bytes)),
  integers(places.map(([, { limit }]) => limit)),
  integers(places.map(([at]) => at)),
]

const NOTHING: Answer = []
const NONE: ReadonlyMap<string, Answer> = new Map()

const entryOf = (key: string, value: string): Entry => [bytesOf(key), bytesOf(value)]

/** A key that is gone comes without a value. */
const answersByKey = (rows: readonly Row[]): Map<string, Answer> =>
  new Map(
    rows.map(([text, value]) => {
      const key = bytesOf(text!)
      return [keyText(key), value == null ? NOTHING : [[key, bytesOf(value)]]]
    }),
  )
