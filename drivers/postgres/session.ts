import type { ClientBase } from 'pg'
import { Mutex } from '../../lib/storage/index.ts'
import { isLost } from './errors.ts'
import type { Statement } from './statements.ts'

const broken = new WeakSet<object>()

/** A value of a row is text, or null. */
export type Row = readonly (string | null)[]

/** A connection that is held for as long as a transaction lasts; what is asked of it at once is asked one by one. */
export class Session {
  readonly #client: ClientBase
  readonly #turns = new Mutex()
  /** The first error of the database: work may hide it, but nothing that comes after it counts. */
  failure: unknown

  constructor(client: ClientBase) {
    this.#client = client
  }

  /** Ends a transaction that has come to nothing, so that the connection can be used again. */
  async rollBack(): Promise<void> {
    if (isBroken(this.#client)) return
    await rowsOf(this.#client, { text: 'ROLLBACK' }, []).catch(() => undefined)
  }

  /** Takes the connection out of use once it is given back. */
  discard(): void {
    broken.add(this.#client)
  }

  run(statement: Statement, values: readonly unknown[] = []): Promise<Row[]> {
    return this.#turns.run(async () => {
      if (this.failure !== undefined) throw this.failure
      try {
        return await rowsOf(this.#client, statement, values)
      } catch (error) {
        this.failure = error
        throw error
      }
    })
  }
}

/** Values come as the text that the server sends: the driver's own types are few. */
const asText = { getTypeParser: () => (text: string) => text }

/** Whether the connection is of no use any more; what timed out may still be under way on it. */
export const isBroken = (client: object): boolean => broken.has(client)

export const rowsOf = async (
  client: ClientBase,
  statement: Statement,
  values: readonly unknown[],
): Promise<Row[]> => {
  try {
    const { rows } = await client.query<(string | null)[]>({
      ...statement,
      values: [...values],
      rowMode: 'array',
      types: asText as never,
    })
    return rows
  } catch (error) {
    if (isLost(error)) broken.add(client)
    throw error
  }
}
