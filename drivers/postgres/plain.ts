import {
  buffered,
  guarded,
  type PendingChange,
  type ReadTransaction,
  StorageError,
  WriteBuffer,
  type WriteTransaction,
} from '../../lib/storage/index.ts'
import type { Connections, Session, Writer } from './connections.ts'
import { isConflict, isLost } from './errors.ts'
import { askKeys, askPage, type Query, type QueryResult, transactionOver } from './queries.ts'
import { byteas, type Statements } from './statements.ts'

/** One snapshot, from before the work begins until it ends. */
export const readAtOnce = <T>(
  connections: Connections,
  work: (tx: ReadTransaction) => Promise<T>,
): Promise<T> =>
  untilReached(async () => {
    const outcome = await connections.withReader((session) => readOnce(connections, session, work))
    return outcome === 'lost' ? outcome : { value: outcome.give() }
  })

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
  const outcome = await outcomeOf(work, tx)
  end()
  if (session.failure !== undefined) throw explain(session.failure)
  await session.run({ text: 'COMMIT' }).catch(() => session.discard())
  return outcome
}

/** Told of what was written, once it is durable. */
type Written = (changes: Iterable<PendingChange>) => void

/** Serialisable and durable, begun again when others are in the way. */
export const writeAtOnce = <T>(
  connections: Connections,
  retries: number,
  work: (tx: WriteTransaction) => Promise<T>,
  onWritten: Written = () => undefined,
): Promise<T> =>
  untilReached(async () => {
    for (let attempt = 0; ; attempt++) {
      const outcome = await connections.withWriter(async (session, writer) => {
        const end = await writeOnce(connections, session, writer, work, onWritten)
        if (end === 'again') await session.rollBack()
        return end
      })
      if (outcome === 'lost') return outcome
      if (outcome !== 'again') return { value: outcome.give() }
      if (attempt >= retries)
        throw new StorageError('busy', 'too many writes of the same things at once: try again in a moment')
      await backoff(attempt)
    }
  })

const untilReached = async <T>(attempt: () => Promise<{ value: T } | 'lost'>): Promise<T> => {
  for (let times = 1; times <= MAX_BROKEN_CONNECTIONS; times++) {
    const outcome = await attempt()
    if (outcome !== 'lost') return outcome.value
  }
  throw new StorageError('away', 'the connections to the database break again and again')
}

/** `lost`: the connection broke before anything could be written. */
const writeOnce = async <T>(
  connections: Connections,
  session: Session,
  writer: Writer,
  work: (tx: WriteTransaction) => Promise<T>,
  onWritten: Written,
): Promise<Outcome<T> | 'again' | 'lost'> => {
  const { statements, explain } = connections
  const failed = (error: unknown): 'again' | 'lost' => {
    if (isConflict(error)) return 'again'
    if (isLost(error)) return 'lost'
    throw explain(error)
  }
  let outcome: Outcome<T>
  let kept: WriteBuffer
  try {
    await session.run({ text: 'BEGIN ISOLATION LEVEL SERIALIZABLE' })
    const { tx, end, buffer } = buffered(readingIn(session, statements, new Map()), [])
    outcome = await outcomeOf(work, tx)
    end()
    if (session.failure !== undefined) throw session.failure
    kept = outcome.isRight ? buffer : new WriteBuffer()
    if (kept.size > 0 && !(await flush(session, statements, writer, kept))) return 'again'
  } catch (error) {
    return failed(error)
  }
  try {
    // Work that failed has read as well: what it goes by must hold too.
    await session.run({ text: 'COMMIT' })
  } catch (error) {
    if (kept.size === 0 || !isLost(error)) return failed(error)
    if ((await recoverOutcome(connections, writer)) === 'not written') return 'again'
  }
  onWritten(kept.changes())
  return outcome
}

/** @returns false when the database does not know the writer any more: then nothing may be written by it. */
const flush = async (
  session: Session,
  { mark, put, remove }: Statements,
  writer: Writer,
  buffer: WriteBuffer,
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

/** @param answered what was asked of this transaction before, where it is worth keeping: it does not change in it. */
const readingIn = (
  session: Session,
  statements: Statements,
  answered?: Map<string, QueryResult>,
): ReadTransaction => {
  const run: Session['run'] = (statement, values) => session.run(statement, values)
  const ofKeys = async (queries: readonly Query[]): Promise<Map<string, QueryResult>> => {
    const open = queries.filter(({ id }) => !answered?.has(id))
    const answers = open.length > 0 ? await askKeys(run, statements, open) : []
    const found = answered ?? new Map<string, QueryResult>()
    for (const [at, { id }] of open.entries()) found.set(id, answers[at]!)
    return found
  }
  return transactionOver(async (queries) => {
    const known = await ofKeys(queries.filter(({ end }) => end === undefined))
    const answerTo = (query: Query) => known.get(query.id) ?? askPage(run, statements, query)
    return Promise.all(queries.map(answerTo))
  })
}

/** What some work came to, to be given back once what the work went by is known to hold. */
export interface Outcome<T> {
  readonly isRight: boolean
  /** The value, or the error thrown. */
  give(): T
}

export const outcomeOf = async <S, T>(work: (tx: S) => Promise<T>, tx: S): Promise<Outcome<T>> => {
  try {
    const value = await work(tx)
    return { isRight: true, give: () => value }
  } catch (error) {
    return {
      isRight: false,
      give() {
        throw error
      },
    }
  }
}

/** Longer with every attempt, and never the same for two. */
export const backoff = (attempt: number): Promise<void> =>
  new Promise((resolve) => setTimeout(resolve, Math.random() * Math.min(2 ** attempt, 100)))

/** Connections that broke while nobody used them: a pool holds a few after the database was started again. */
export const MAX_BROKEN_CONNECTIONS = 3

/** How long to look for the outcome of a write, in milliseconds, while the database is away. */
const TIMEOUTS = 15_000
const PAUSE = 200

/**
 * What became of the last write of a connection that broke before it could tell. The writer is fenced: the statement
 * waits for a transaction of it that is still under way, and one that has not begun yet finds itself shut out. So the
 * mark that is read then is the last one there will ever be.
 */
export const recoverOutcome = async (
  connections: Connections,
  writer: Writer,
): Promise<'written' | 'not written'> => {
  const { fence } = connections.statements
  const until = Date.now() + TIMEOUTS
  for (;;)
    try {
      const [row] = await connections.read(fence, [writer.id])
      if (row === undefined) throw unknown(new Error('the writer is not known to the database'))
      return Number(row[0]) === writer.last ? 'written' : 'not written'
    } catch (cause) {
      if (cause instanceof StorageError && cause.reason === 'failed') throw cause
      if (Date.now() > until) throw unknown(cause)
      await new Promise((resolve) => setTimeout(resolve, PAUSE))
    }
}

const unknown = (cause: unknown) =>
  new StorageError('away', 'the database went away during a commit, and it is not known what came of that', {
    cause,
  })
