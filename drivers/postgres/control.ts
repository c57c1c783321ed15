import { randomBytes } from 'node:crypto'
import { setTimeout } from 'node:timers/promises'
import type { Client } from 'pg'
import { StorageError } from '../../lib/storage/index.ts'
import { isTimeout, toStorageError } from './errors.ts'
import { connectTo, disconnect, type Found } from './find-primary.ts'
import { isSamePrimary, otherPrimary } from './identity.ts'
import type { Settings } from './settings.ts'
import { query, type Row, type Statement, type Statements, watched } from './statements.ts'

/**
 * Milliseconds for which a proof that a server is the primary is valid: less than a promotion takes. Without
 * a synchronous standby (`alone`) every promotion loses writes, so the proof shows only that the server is
 * not a standby itself.
 */
const LEASE_MS = { replicated: 100, alone: 1000 }

const [CLAIM_ATTEMPTS, CLAIM_PAUSE_MS] = [5, 200]

/**
 * The connection to a primary that proves that the server is still the primary, creates the tables, and holds
 * the lock that tells other processes that this one uses the store.
 */
export class Control {
  readonly #settings: Settings
  readonly #statements: Statements
  readonly #onSilence: () => void
  readonly #found: Found
  readonly #id = randomBytes(16)
  #client: Client | undefined
  #proof: Promise<void> | undefined
  #provenAt = Number.NEGATIVE_INFINITY
  #leaseMs = LEASE_MS.replicated
  #isClaimed = false

  /** @param onSilence called while a statement takes unusually long */
  constructor(found: Found, settings: Settings, statements: Statements, onSilence: () => void) {
    this.#found = found
    this.#settings = settings
    this.#statements = statements
    this.#onSilence = onSilence
    this.#use(found.client)
  }

  async run(statement: Statement, values: readonly unknown[] = []): Promise<Row[]> {
    return watched(query(this.#client ?? (await this.#reconnect()), statement, values), this.#onSilence)
  }

  /**
   * Resolves when the server was the primary a moment ago. The proof is a commit, which has to wait for the
   * synchronous standby: a standby that has been promoted does not confirm it.
   */
  async prove(): Promise<void> {
    const age = performance.now() - this.#provenAt
    if (age < this.#leaseMs / 2 || !this.#found.identity.isPostgres) return
    this.#proof ??= this.#beginProof().finally(() => {
      this.#proof = undefined
    })
    // Renewed before it expires, so that reads under load do not wait for it.
    if (age < this.#leaseMs) this.#proof.catch(() => undefined)
    else await this.#proof
  }

  /**
   * A pooler must keep a session for each connection, because prepared statements and settings belong to it.
   * Another connection must not find a setting of this one, nor must this one lose it while the other is in a
   * transaction.
   * @throws StorageError `failed` when connections share sessions
   */
  async refuseSharedSessions(): Promise<void> {
    const mark = this.#id.toString('hex')
    const [[backend] = []] = await this.run(SET_MARK, [mark])
    // Without a pooler the backend is the one that the server announced for the connection.
    const { processID } = (this.#client ?? {}) as { processID?: number }
    if (backend === String(processID)) return
    const { client } = await connectTo(this.#settings, this.#found.host)
    try {
      await query(client, { text: 'BEGIN' }, [])
      const [[others] = []] = await query(client, GET_MARK, [])
      const [[own] = []] = await this.run(GET_MARK)
      if (others === mark || own !== mark) throw sharedSessions()
    } catch (error) {
      throw /statement pooling/.test(String(error)) ? sharedSessions() : error
    } finally {
      disconnect(client)
    }
  }

  /**
   * Holds the store for this process, shared with others or, with the setting `exclusive`, alone. The lock
   * belongs to the connection, so it is taken again with each new one.
   * @throws StorageError `locked` when others use the store, `busy` when another process holds it alone
   */
  async claim(): Promise<void> {
    this.#isClaimed = true
    await this.#claimWith(this.#client ?? (await this.#reconnect()))
  }

  end(): void {
    if (this.#client !== undefined) disconnect(this.#client)
  }

  async #claimWith(client: Client): Promise<void> {
    const { claimShared, claimAlone, otherUsers } = this.#statements
    const { exclusive } = this.#settings
    for (let attempt = 1; ; attempt++) {
      const [[isHeld] = []] = await query(client, exclusive ? claimAlone : claimShared, [])
      if (isHeld === 't') return
      if (attempt === CLAIM_ATTEMPTS) break
      // The database may not have noticed yet that a process has ended.
      await setTimeout(CLAIM_PAUSE_MS)
    }
    const [[processes] = []] = await query(client, otherUsers, [])
    throw exclusive ? usedByOthers(processes) : heldAlone(processes)
  }

  async #beginProof(): Promise<void> {
    const beganAt = performance.now()
    try {
      const rows = await this.run(this.#statements.prove, [this.#id])
      this.#leaseMs = rows.length > 0 ? LEASE_MS.replicated : LEASE_MS.alone
    } catch (error) {
      const { reason } = toStorageError(undefined, error)
      if (isTimeout(error)) throw notConfirmed(error)
      // A server whose disk is full can still be read.
      if (reason !== 'full') throw error
    }
    this.#provenAt = beganAt
  }

  #use(client: Client): Client {
    this.#client = client
    client.once('end', () => {
      if (this.#client === client) this.#client = undefined
    })
    return client
  }

  async #reconnect(): Promise<Client> {
    const { identity, host } = this.#found
    const { client, identity: current } = await connectTo(this.#settings, host)
    try {
      if (!isSamePrimary(identity, current)) throw otherPrimary(current, identity)
      if (this.#isClaimed) await this.#claimWith(client)
      return this.#use(client)
    } catch (error) {
      disconnect(client)
      throw error
    }
  }
}

const SET_MARK = { text: "SELECT pg_backend_pid() FROM set_config('allot.session', $1, false)" }
const GET_MARK = { text: "SELECT current_setting('allot.session', true)" }

const sharedSessions = () =>
  new StorageError(
    'failed',
    'the pooler in front of the database shares sessions between connections: set pool_mode = session for this database',
  )

const notConfirmed = (cause: unknown) =>
  new StorageError(
    'busy',
    'the database has not confirmed in time that it is still the primary: try again in a moment',
    { cause },
  )

/** @param processes of the database, as pg_stat_activity numbers them */
const usedByOthers = (processes: string | null | undefined) =>
  new StorageError(
    'locked',
    `other processes use the database (pg_stat_activity has them as ${processes}): stop all servers and commands of Allot first`,
  )

const heldAlone = (processes: string | null | undefined) =>
  new StorageError(
    'busy',
    `another process repairs the database (pg_stat_activity has it as ${processes}): try again when it is done`,
  )
