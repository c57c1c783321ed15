import { type Bytes, compareKeys, type Entry } from '../../lib/storage/index.ts'
import { keyText } from '../../lib/storage/layer.ts'
import { byteas, bytesOf, integers } from './arrays.ts'
import type { Answer, Question } from './questions.ts'
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
  const found = entriesByKey(await run(points, [byteas([...keys.values()])]))
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

/** Questions of every kind in one statement. */
export const askAll = async (
  run: Run,
  statements: Statements,
  questions: readonly Question[],
): Promise<Answer[]> => {
  const keys = questions.filter(({ end }) => end === undefined)
  if (keys.length === questions.length) return askKeys(run, statements, questions)
  const places = [...questions.entries()].filter(([, { end }]) => end !== undefined)
  const rows = await run(statements.questions, [
    byteas(keys.map(({ start }) => start)),
    ...rangesOf(places.filter(([, { reverse }]) => !reverse)),
    ...rangesOf(places.filter(([, { reverse }]) => reverse)),
  ])
  const found = entriesByKey(rows.filter(([place]) => place === null).map(([, ...entry]) => entry))
  const pages = new Map(places.map(([at]) => [at, [] as Entry[]]))
  for (const [place, key, value] of rows)
    if (place != null) pages.get(Number(place))!.push(entryOf(key!, value!))
  // No statement that has several parts promises an order.
  for (const [at, { reverse }] of places)
    pages.get(at)!.sort(([one], [other]) => (reverse ? compareKeys(other, one) : compareKeys(one, other)))
  return questions.map(({ id }, at) => pages.get(at) ?? found.get(id) ?? NOTHING)
}

const rangesOf = (places: readonly (readonly [number, Question])[]): Buffer[] => [
  byteas(places.map(([, { start }]) => start)),
  byteas(places.map(([, { end }]) => end as Bytes)),
  integers(places.map(([, { limit }]) => limit)),
  integers(places.map(([at]) => at)),
]

const NOTHING: Answer = []

const entryOf = (key: string, value: string): Entry => [bytesOf(key), bytesOf(value)]

const entriesByKey = (rows: readonly Row[]): Map<string, Answer> =>
  new Map(
    rows.map(([key, value]) => {
      const entry = entryOf(key!, value!)
      return [keyText(entry[0]), [entry]]
    }),
  )
