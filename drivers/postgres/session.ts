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
      return await query(this.#client, statement, values, timeoutMs)
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
    await this.run({ text: 'COMMIT' }, [], timeoutMs).finally(() => this.#client.off('notice', note))
    if (warnings.length > 0) throw unknownOutcome()
  }

  /** Gives the connection back, after a rollback when the transaction has failed. */
  async release(): Promise<void> {
    const { failure } = this
    if (failure !== undefined && !isLost(failure))
      await query(this.#client, { text: 'ROLLBACK' }, [], REPLY_TIMEOUT_MS).catch(ignore)
    this.failure = new Error('a transaction was used after its callback had settled')
    this.#client.release(isLost(failure) || this.#client.getTransactionStatus() !== 'I')
    this.#onRelease(failure)
  }
}

const ignore = () => undefined
