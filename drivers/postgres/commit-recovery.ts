import { StorageError } from '../../lib/storage/index.ts'
import type { Connections, Writer } from './connections.ts'

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
