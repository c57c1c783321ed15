import { createRequire } from 'node:module'
import type Pg from 'pg'
import { type Bytes, Mutex, type PendingChange } from '../../lib/storage/index.ts'
import { isLost } from './errors.ts'

const loadClient = (): typeof Pg => {
  try {
    return createRequire(import.meta.url)('pg')
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code !== 'MODULE_NOT_FOUND') throw cause
    throw new Error('PostgreSQL stores need the package pg, which is not installed: npm install pg', {
      cause,
    })
  }
}

/** The client library, an optional peer dependency. */
export const pg = loadClient()

/** A statement with a name, which each connection prepares when it first runs it. */
export interface Statement {
  readonly name?: string
  readonly text: string
}

export type Statements = ReturnType<typeof statementsFor>

/**
 * All SQL of this driver. The table `allot_entry` holds the ordered bytes. The table `allot_writer` has a row
 * for each connection that writes: every transaction updates the number of the connection's last write there,
 * so that the outcome of a commit whose reply was lost can be looked up (see `recoverOutcome`).
 */
export const statementsFor = (schema: string | undefined) => {
  const prefix = schema === undefined ? '' : `${pg.escapeIdentifier(schema)}.`
  const [entry, writer] = [`${prefix}allot_entry`, `${prefix}allot_writer`]
  /** Key of locks: stores in other schemas have other tables, and so other locks. */
  const store = `${pg.escapeLiteral(entry)}::regclass::oid::int4`
  const page = (order: 'ASC' | 'DESC') =>
    `SELECT key, value FROM ${entry} WHERE key >= $1 AND key < $2 ORDER BY key ${order} LIMIT $3`
  const ranges = (order: 'ASC' | 'DESC', first: number) => `
    SELECT r.position, e.key, e.value
    FROM unnest($${first}::bytea[], $${first + 1}::bytea[], $${first + 2}::int8[], $${first + 3}::int8[])
      AS r (start, stop, size, position)
    CROSS JOIN LATERAL (
      SELECT key, value FROM ${entry} WHERE key >= r.start AND key < r.stop ORDER BY key ${order} LIMIT r.size
    ) AS e`
  const changed = (first: number) => `
    SELECT NULL::int8 AS position, e.key, e.found FROM (
      SELECT e.key, e.value, (SELECT t.value FROM ${entry} AS t WHERE t.key = e.key) AS found
      FROM unnest($${first}::bytea[], $${first + 1}::bytea[]) AS e (key, value)
    ) AS e WHERE e.found IS DISTINCT FROM e.value`
  const points = `SELECT NULL::int8 AS position, key, value FROM ${entry} WHERE key = ANY($1::bytea[])`

  return {
    /** One after another; safe to repeat. */
    createTables: [
      ...(schema === undefined ? [] : [`CREATE SCHEMA IF NOT EXISTS ${pg.escapeIdentifier(schema)}`]),
      `CREATE TABLE IF NOT EXISTS ${entry} (key bytea PRIMARY KEY, value bytea NOT NULL)`,
      `CREATE TABLE IF NOT EXISTS ${writer} (
        id bytea PRIMARY KEY, last int8 NOT NULL, fenced boolean NOT NULL, seen timestamptz NOT NULL
      ) WITH (fillfactor = 10)`,
    ],

    // Reads whose rows are (position, key, value). The position tells which range an entry belongs to; it is
    // null for keys.
    /** $1: keys. */
    points: { name: 'allot_points', text: points },
    /**
     * $1, $2: keys and their expected values. Returns the keys that have another value; null if a key is
     * absent.
     */
    changed: { name: 'allot_changed', text: changed(1) },
    /**
     * $1: keys; $2 to $5: starts, ends, limits and positions of ascending ranges; $6 to $9: of descending
     * ranges; $10, $11: keys and expected values as in `changed`.
     */
    queries: {
      name: 'allot_queries',
      text: `${points} UNION ALL (${ranges('ASC', 2)}) UNION ALL (${ranges('DESC', 6)}) UNION ALL (${changed(10)})`,
    },

    // $1, $2: start and end; $3: limit. Rows are (key, value).
    ascending: { name: 'allot_ascending', text: page('ASC') },
    descending: { name: 'allot_descending', text: page('DESC') },

    /**
     * A whole optimistic transaction: validates what it has read, and writes only if everything is as
     * expected. $1, $2: keys and their expected values; $3 to $5: starts, ends and expected counts of ranges;
     * $6, $7: id of the writer and number of its write; $8, $9: keys and values to put; $10: keys to delete.
     * Rows: (0) if it was written; (1, key, value) for each key with another value; (2, start) for each range
     * with another count. No rows: the writer is fenced, or the transaction is not serializable.
     */
    commit: {
      name: 'allot_commit',
      text: `WITH
        stale AS (${changed(1)}),
        recounted AS (
          SELECT r.start FROM unnest($3::bytea[], $4::bytea[], $5::int8[]) AS r (start, stop, expected)
          WHERE r.expected <> (SELECT count(*) FROM ${entry} AS t WHERE t.key >= r.start AND t.key < r.stop)),
        mark AS (
          UPDATE ${writer} SET last = $7, seen = now()
          WHERE id = $6 AND NOT fenced AND current_setting('transaction_isolation') = 'serializable'
            AND NOT EXISTS (SELECT 1 FROM stale) AND NOT EXISTS (SELECT 1 FROM recounted)
          RETURNING last),
        put AS (
          INSERT INTO ${entry} (key, value)
          SELECT p.key, p.value FROM unnest($8::bytea[], $9::bytea[]) AS p (key, value)
          WHERE EXISTS (SELECT 1 FROM mark)
          ON CONFLICT (key) DO UPDATE SET value = excluded.value),
        deleted AS (DELETE FROM ${entry} WHERE key = ANY($10::bytea[]) AND EXISTS (SELECT 1 FROM mark))
        SELECT 0, NULL::bytea, NULL::bytea FROM mark
        UNION ALL SELECT 1, key, found FROM stale
        UNION ALL SELECT 2, start, NULL FROM recounted`,
    },
    contentionLock: { name: 'allot_contention_lock', text: `SELECT pg_advisory_xact_lock(${store})` },

    // A lock of the session that every process holds while it uses the store: shared, or alone for a repair.
    claimShared: { text: `SELECT pg_try_advisory_lock_shared(${store}, 1)` },
    claimAlone: { text: `SELECT pg_try_advisory_lock(${store}, 1)` },
    otherUsers: {
      text: `SELECT string_agg(pid::text, ', ') FROM pg_locks
        WHERE locktype = 'advisory' AND classid = ${pg.escapeLiteral(entry)}::regclass AND objid = 1 AND objsubid = 2 AND granted
          AND pid <> pg_backend_pid() AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`,
    },

    /** $1: keys, $2: values. */
    put: {
      name: 'allot_put',
      text: `INSERT INTO ${entry} (key, value) SELECT * FROM unnest($1::bytea[], $2::bytea[])
        ON CONFLICT (key) DO UPDATE SET value = excluded.value`,
    },
    /** $1: keys. */
    remove: { name: 'allot_remove', text: `DELETE FROM ${entry} WHERE key = ANY($1::bytea[])` },

    /** $1: id of the writer. */
    addWriter: { name: 'allot_add_writer', text: `INSERT INTO ${writer} VALUES ($1, 0, false, now())` },
    /**
     * Removes a few writers that have not written for a day, at each new connection. The limit keeps this
     * short.
     */
    removeOldWriters: {
      name: 'allot_remove_old_writers',
      text: `DELETE FROM ${writer} WHERE id IN (
        SELECT id FROM ${writer} WHERE seen < now() - interval '1 day' LIMIT 100)`,
    },
    /** $1: id of the writer, $2: number of its write. No row: the writer is fenced. */
    markWrite: {
      name: 'allot_mark_write',
      text: `UPDATE ${writer} SET last = $2, seen = now() WHERE id = $1 AND NOT fenced RETURNING last`,
    },
    /**
     * $1: id of the process. Writes, and returns a row, only where the commit has to wait for a synchronous
     * standby.
     */
    prove: {
      name: 'allot_prove',
      text: `INSERT INTO ${writer} SELECT $1::bytea, 0, false, now()
        WHERE current_setting('synchronous_standby_names') <> ''
        ON CONFLICT (id) DO UPDATE SET seen = now() RETURNING last`,
    },
    /** $1: id of the writer. Waits for a transaction of this writer that is still running. */
    fenceWriter: {
      name: 'allot_fence_writer',
      text: `UPDATE ${writer} SET fenced = true WHERE id = $1 RETURNING last`,
    },
  }
}

/** Parameters of `put` and `remove`, as lists. */
export const splitChanges = (changes: Iterable<PendingChange>) => {
  const puts: (readonly [key: Bytes, value: Bytes])[] = []
  const deletes: Bytes[] = []
  for (const [key, value] of changes)
    if (value === undefined) deletes.push(key)
    else puts.push([key, value])
  return { putKeys: puts.map(([key]) => key), putValues: puts.map(([, value]) => value), deletes }
}

const BYTEA_OID = 17
const HEADER_BYTES = 20

/**
 * A `bytea[]` in binary format, with null for undefined. The text format takes both sides several times as
 * long.
 */
export const byteaArray = (elements: readonly (Bytes | undefined)[]): Buffer => {
  const size = elements.reduce((sum, element) => sum + 4 + (element?.length ?? 0), HEADER_BYTES)
  const array = Buffer.allocUnsafe(size)
  const hasNulls = elements.includes(undefined) ? 1 : 0
  // One dimension with lower bound 1.
  for (const [index, word] of [1, hasNulls, BYTEA_OID, elements.length, 1].entries())
    array.writeInt32BE(word, index * 4)
  let offset = HEADER_BYTES
  for (const element of elements) {
    offset = array.writeInt32BE(element?.length ?? -1, offset)
    if (element === undefined) continue
    array.set(element, offset)
    offset += element.length
  }
  return array
}

/** Decodes a bytea in the server's text format, `\x00ff…`. */
export const bytesOf = (text: string): Bytes => Buffer.from(text.slice(2), 'hex')

/** Columns as the text that the server sends; this driver decodes the few types that it uses. */
export type Row = readonly (string | null)[]

/** A connection while one caller holds it. Runs one statement at a time. */
export class Session {
  readonly #client: Pg.ClientBase
  readonly #onSilence: () => void
  readonly #mutex = new Mutex()
  /**
   * The first error of the database. Every later statement fails with it, even when the caller has caught it.
   */
  failure: unknown
  /** Whether the pool must close the connection instead of using it again. */
  isBroken = false

  /** @param onSilence called while a statement takes unusually long */
  constructor(client: Pg.ClientBase, onSilence: () => void) {
    this.#client = client
    this.#onSilence = onSilence
  }

  run(statement: Statement, values: readonly unknown[] = []): Promise<Row[]> {
    return this.#mutex.run(async () => {
      if (this.failure !== undefined) throw this.failure
      try {
        return await watched(query(this.#client, statement, values), this.#onSilence)
      } catch (error) {
        this.failure = error
        // A statement that timed out may still be running on the connection.
        this.isBroken ||= isLost(error)
        throw error
      }
    })
  }

  async rollBack(): Promise<void> {
    if (!this.isBroken) await query(this.#client, { text: 'ROLLBACK' }, []).catch(() => this.discard())
  }

  discard(): void {
    this.isBroken = true
  }
}

/** Time without a reply after which a server is suspected to be silent. */
const SILENCE_MS = 1500

/** @param onSilence called again and again while the promise is pending for long */
export const watched = async <T>(reply: Promise<T>, onSilence: () => void): Promise<T> => {
  const timer = setInterval(onSilence, SILENCE_MS)
  try {
    return await reply
  } finally {
    clearInterval(timer)
  }
}

const asText = { getTypeParser: () => (text: string) => text }

export const query = async (
  client: Pg.ClientBase,
  statement: Statement,
  values: readonly unknown[],
): Promise<Row[]> => {
  const { rows } = await client.query<(string | null)[]>({
    ...statement,
    values: [...values],
    rowMode: 'array',
    types: asText as never,
  })
  return rows
}
