import {
  guarded,
  type ReadTransaction,
  StorageError,
  type WriteTransaction,
} from '../../lib/storage/index.ts'
import type { Layer } from '../../lib/storage/layer.ts'
import { buffered } from '../../lib/storage/transactions.ts'
import { byteas } from './arrays.ts'
import { askKeys, askPage } from './asking.ts'
import type { Connections, Writer } from './connections.ts'
import { isConflict, isLost } from './explain.ts'
import { fate } from './fate.ts'
import type { Question } from './questions.ts'
import { readingBy } from './questions.ts'
import type { Session } from './session.ts'
import type { Statements } from './statements.ts'

/** One snapshot, from before the work begins until it ends. */
export const readAtOnce = <T>(
  connections: Connections,
  work: (tx: ReadTransaction) => Promise<T>,
): Promise<T> =>
  untilReached(async () => {
    const outcome = await connections.withReader((session) => readOnce(connections, session, work))
    return outcome === 'lost' ? outcome : { value: outcome() }
  }, connections)

const readOnce = async <T>(
  { statements, explain }: Connections,
  session: Session,
  work: (tx: ReadTransaction) => Promise<T>,
): Promise<Outcome<T> | 'lost'> => {
  try {
    await session.run({ text: 'BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY' })
    // The snapshot is of the first statement's moment, not of BEGIN's.
    await session.run({ text: 'SELECT 1' })
  } catch (error) {
    if (isLost(error)) return 'lost'
    throw explain(error)
  }
  const { tx, end } = guarded(readingIn(session, statements))
  const outcome = await settled(work, tx)
  end()
  if (session.failure !== undefined) throw explain(session.failure)
  await session.run({ text: 'COMMIT' }).catch(() => session.discard())
  return outcome
}

/** Serialisable and durable, begun again when others are in the way. */
export const writeAtOnce = <T>(
  connections: Connections,
  retries: number,
  work: (tx: WriteTransaction) => Promise<T>,
): Promise<T> =>
  untilReached(async () => {
    for (let attempt = 0; ; attempt++) {
      const outcome = await connections.withWriter((session, writer) =>
        writeOnce(connections, session, writer, work),
      )
      if (outcome === 'lost') return outcome
      if (outcome !== 'again') return { value: outcome() }
      if (attempt >= retries)
        throw new StorageError('busy', 'too many writes of the same things at once: try again in a moment')
      await jitter(attempt)
    }
  }, connections)

/** Connections that broke while nobody used them: a pool holds a few of them after the database was started again. */
const BROKEN = 3

const untilReached = async <T>(
  attempt: () => Promise<{ value: T } | 'lost'>,
  { where }: Connections,
): Promise<T> => {
  for (let times = 1; times <= BROKEN; times++) {
    const outcome = await attempt()
    if (outcome !== 'lost') return outcome.value
  }
  throw new StorageError('away', `the connections to ${where} break again and again`)
}

type Outcome<T> = () => T

/** `lost`: the connection broke before anything could be written. */
const writeOnce = async <T>(
  connections: Connections,
  session: Session,
  writer: Writer,
  work: (tx: WriteTransaction) => Promise<T>,
): Promise<Outcome<T> | 'again' | 'lost'> => {
  const { statements, explain } = connections
  const failed = (error: unknown): 'again' | 'lost' => {
    if (isConflict(error)) return 'again'
    if (isLost(error)) return 'lost'
    throw explain(error)
  }
  let isKept: boolean
  let outcome: Outcome<T> & { isRight: boolean }
  try {
    await session.run({ text: 'BEGIN ISOLATION LEVEL SERIALIZABLE' })
    const { tx, end, buffer } = buffered(readingIn(session, statements), [])
    outcome = await settled(work, tx)
    end()
    if (session.failure !== undefined) throw session.failure
    isKept = outcome.isRight && buffer.size > 0
    if (isKept && !(await flush(session, statements, writer, buffer))) return 'again'
  } catch (error) {
    return failed(error)
  }
  try {
    // Work that failed has read as well: what it goes by must hold too.
    await session.run({ text: 'COMMIT' })
    return outcome
  } catch (error) {
    if (!isKept || !isLost(error)) return failed(error)
    return (await fate(connections, writer)) === 'written' ? outcome : 'again'
  }
}

/** @returns false when the database does not know the writer any more: then nothing may be written by it. */
const flush = async (
  session: Session,
  { mark, put, remove }: Statements,
  writer: Writer,
  buffer: Layer,
): Promise<boolean> => {
  const changes = [...buffer.changes()]
  const puts = changes.filter(([, value]) => value !== undefined)
  const deletes = changes.filter(([, value]) => value === undefined)
  const marked = await session.run(mark, [writer.id, ++writer.last])
  if (marked.length === 0) {
    session.discard()
    return false
  }
  if (puts.length > 0)
    await session.run(put, [byteas(puts.map(([key]) => key)), byteas(puts.map(([, value]) => value))])
  if (deletes.length > 0) await session.run(remove, [byteas(deletes.map(([key]) => key))])
  return true
}

const readingIn = (session: Session, statements: Statements): ReadTransaction => {
  const run: Session['run'] = (statement, values) => session.run(statement, values)
  return readingBy(async (questions) => {
    const keys = questions.filter(({ end }) => end === undefined)
    const answers = keys.length > 0 ? await askKeys(run, statements, keys) : []
    const ofKey = new Map(keys.map(({ id }, at) => [id, answers[at]!]))
    const answerTo = (question: Question) => ofKey.get(question.id) ?? askPage(run, statements, question)
    return Promise.all(questions.map(answerTo))
  })
}

/** What the work came to, to be given back once it is known to hold. */
const settled = async <S, T>(
  work: (tx: S) => Promise<T>,
  tx: S,
): Promise<Outcome<T> & { isRight: boolean }> => {
  try {
    const value = await work(tx)
    return Object.assign(() => value, { isRight: true })
  } catch (error) {
    const fail = (): never => {
      throw error
    }
    return Object.assign(fail, { isRight: false })
  }
}

/** Longer with every attempt, and never the same for two. */
export const jitter = (attempt: number): Promise<void> =>
  new Promise((resolve) => setTimeout(resolve, Math.random() * Math.min(2 ** attempt, 100)))
