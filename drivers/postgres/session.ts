import type { PoolClient } from 'pg'
import { isLost, unknownOutcome } from './errors.ts'
import { query, type Row, type Statement } from './statements.ts'

/** Limit for the reply to a statement that takes the server no time, so that a silent one is left soon. */
export const REPLY_TIMEOUT_MS = 5000

/** A connection while one transaction holds it. Statements are sent without waiting for those before them. */
export class Session {
  readonly #client: PoolClient
  readonly #onRelease: (failure: unknown) => void
  /** The first error of the database. Every later statement fails with it. */
  failure: unknown
  /** Resolves with the reply to the last statement. */
  #replied: Promise<unknown> = Promise.resolve()

  constructor(client: PoolClient, onRelease: (failure: unknown) => void) {
    this.#client = client
    this.#onRelease = onRelease
  }

  async run(
    statement: Statement,
    values: readonly unknown[] = [],
    timeoutMs = REPLY_TIMEOUT_MS,
  ): Promise<Row[]> {
    if (this.failure !== undefined) throw this.failure
    try {
      const reply = query(this.#client, statement, values, timeoutMs)
      this.#replied = reply.catch(ignore)
      return await reply
    } catch (error) {
      this.failure ??= error
      throw error
    }
  }

  /** @throws StorageError `away` after a warning: an operator ended the wait for a synchronous standby */
  async commit(timeoutMs: number): Promise<void> {
    const warnings: unknown[] = []
    const note = ({ code = '' }: { code?: string | undefined }) => /^01/.test(code) && warnings.push(code)
    this.#client.on('notice', note)
    await this.run(COMMIT, [], timeoutMs).finally(() => this.#client.off('notice', note))
    if (warnings.length > 0) throw unknownOutcome()
  }

  /**
   * Ends a transaction that has only read. Nothing waits for the reply: the next statement on the connection
   * shares its round trip.
   */
  async end(): Promise<void> {
    // A body that has failed need not have waited for all of its reads.
    await this.#replied
    if (this.failure !== undefined) return this.release()
    query(this.#client, COMMIT, [], REPLY_TIMEOUT_MS).catch(this.#onRelease)
    this.failure = usedLater()
    this.#client.release()
  }

  /** Gives the connection back, after a rollback when the transaction has failed. */
  async release(): Promise<void> {
    const { failure } = this
    if (failure !== undefined && !isLost(failure))
      await query(this.#client, { text: 'ROLLBACK' }, [], REPLY_TIMEOUT_MS).catch(ignore)
    this.failure = usedLater()
    this.#client.release(isLost(failure) || this.#client.getTransactionStatus() !== 'I')
    this.#onRelease(failure)
  }
}

const COMMIT = { text: 'COMMIT' }

const ignore = () => undefined

const usedLater = () => new Error('a transaction was used after its callback had settled')
