import type { PoolClient } from 'pg'
import { StorageError } from '../../lib/storage/index.ts'
import { isCatalogRace, isPoolExhausted, isWrongHost, toStorageError } from './errors.ts'
import { disconnect, findPrimary, toSearchError } from './find-primary.ts'
import { type Identity, isSamePrimary } from './identity.ts'
import { type PoolName, Primary, type Writer } from './primary.ts'
import type { Settings } from './settings.ts'
import { type Row, Session, type Statement, type Statements, statementsFor } from './statements.ts'

/**
 * The connections of an open driver. Both engines run all their statements through them.
 *
 * All connections belong to one primary, the newest that is known. Two things make Allot look for it again
 * among the hosts of the URL: a connection that fails, and a statement without a reply. When another primary
 * is found, or none, every older connection is cut. Reads also wait for a proof that the server is still the
 * primary (control.ts).
 */
export class Connections {
  readonly statements: Statements
  /** Size of the pool for writes. */
  readonly writers: number
  readonly #settings: Settings
  #primary: Primary | undefined
  /** Identity of the newest primary that was found: an older one is not used again. */
  #newest: Identity | undefined
  #search: Promise<Primary> | undefined
  /** Why the last search found none, and when. */
  #failure: { error: unknown; at: number } | undefined
  #isClosed = false
  /** Whether the store was opened, so that the process claims it at each primary. */
  #hasTables = false
  /** Where the database is, for error messages while the driver opens. */
  #where: string | undefined

  /** @throws StorageError when the database cannot be used. */
  static async open(settings: Settings): Promise<Connections> {
    const connections = new Connections(settings)
    try {
      await connections.#createTables()
      connections.#where = undefined
      return connections
    } catch (error) {
      await connections.close()
      throw toStorageError(settings.where, error)
    }
  }

  private constructor(settings: Settings) {
    this.statements = statementsFor(settings.schema)
    this.writers = settings.writers
    this.#settings = settings
    this.#where = settings.where
  }

  get isPostgres(): boolean {
    return this.#newest?.isPostgres ?? true
  }

  /** Runs one statement outside of a transaction. */
  run(statement: Statement, values: readonly unknown[] = []): Promise<Row[]> {
    return this.withReader((session) => session.run(statement, values))
  }

  /** Holds a connection for a transaction that reads, of a server that was the primary a moment ago. */
  withReader<T>(body: (session: Session) => Promise<T>): Promise<T> {
    return this.#use('readers', body)
  }

  /** Holds a connection whose transactions are serializable. */
  withWriter<T>(body: (session: Session, writer: Writer) => Promise<T>): Promise<T> {
    return this.#use('writers', (session, writer) => body(session, writer!))
  }

  async close(): Promise<void> {
    this.#isClosed = true
    await this.#search?.catch(() => undefined)
    await this.#primary?.close()
  }

  async #use<T>(
    pool: PoolName,
    body: (session: Session, writer: Writer | undefined) => Promise<T>,
  ): Promise<T> {
    const { primary, client } = await this.#take(pool)
    const session = new Session(client, () => this.#suspect(primary))
    // Without a listener, a connection that breaks between two statements would end the process.
    const ignore = () => undefined
    client.on('error', ignore)
    try {
      return await body(session, primary.writerOf(client))
    } finally {
      client.off('error', ignore)
      client.release(session.isBroken || client.getTransactionStatus() !== 'I')
    }
  }

  /** Takes a connection of the primary, and looks for another primary once when it cannot be used. */
  async #take(pool: PoolName): Promise<{ primary: Primary; client: PoolClient }> {
    const since = performance.now()
    for (let attempt = 1; ; attempt++) {
      const primary = this.#primary ?? (await this.#findSince(since))
      try {
        if (pool === 'readers') await primary.control.prove()
        return { primary, client: await primary.take(pool) }
      } catch (cause) {
        if (isPoolExhausted(cause)) throw allInUse(cause)
        if (!isWrongHost(cause) || attempt > 1) throw toStorageError(this.#where, cause)
        this.#leave(primary)
      }
    }
  }

  /** @throws StorageError at once when a search after the given time was in vain */
  async #findSince(since: number): Promise<Primary> {
    if (this.#failure !== undefined && this.#failure.at > since) throw this.#failure.error
    return this.#find()
  }

  /**
   * Called while a server does not reply. It is left when a newer primary is found, or when it is silent for
   * others too.
   */
  #suspect(primary: Primary): void {
    if (this.#primary === primary) this.#find().catch(() => undefined)
  }

  #leave(primary: Primary): void {
    if (this.#primary === primary) this.#primary = undefined
    primary.retire()
  }

  #find(): Promise<Primary> {
    this.#search ??= this.#findPrimary()
      .catch((error: unknown) => {
        this.#failure = { error, at: performance.now() }
        throw error
      })
      .finally(() => {
        this.#search = undefined
      })
    return this.#search
  }

  async #findPrimary(): Promise<Primary> {
    const before = this.#primary
    const { found, failures } = await findPrimary(this.#settings, this.#newest)
    const isSame =
      before !== undefined && found !== undefined && isSamePrimary(found.identity, before.identity)
    if (isSame && this.#primary === before) {
      disconnect(found.client)
      return before
    }
    const isAlive =
      before !== undefined && failures.some((cause, host) => host === before.host && !isWrongHost(cause))
    if (found === undefined && isAlive) return before
    if (before !== undefined) this.#leave(before)
    if (found === undefined) throw toSearchError(this.#where, this.#settings.hosts, failures)
    if (this.#isClosed) {
      disconnect(found.client)
      throw new StorageError('closed', 'the store is not open')
    }
    this.#newest = found.identity
    const primary = new Primary(found, this.#settings, this.statements, () => this.#suspect(primary))
    if (this.#hasTables && this.isPostgres) await claimOf(primary)
    this.#primary = primary
    return primary
  }

  async #createTables(): Promise<void> {
    const { control } = await this.#find()
    if (this.isPostgres) await control.refuseSharedSessions()
    for (let attempt = 1; ; attempt++)
      try {
        for (const text of this.statements.createTables) await control.run({ text })
        break
      } catch (error) {
        if (attempt === CREATE_ATTEMPTS || !isCatalogRace(error)) throw error
        await new Promise((resolve) => setTimeout(resolve, 50 * Math.random() * attempt))
      }
    if (this.isPostgres) await control.claim()
    this.#hasTables = true
  }
}

const claimOf = async (primary: Primary): Promise<void> => {
  try {
    await primary.control.claim()
  } catch (error) {
    primary.retire()
    throw error
  }
}

const CREATE_ATTEMPTS = 10

const allInUse = (cause: unknown) =>
  new StorageError(
    'busy',
    'all connections to the database have been in use for too long: try again in a moment',
    { cause },
  )
