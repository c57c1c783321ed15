import { createRequire } from 'node:module'
import type Pg from 'pg'
import type { Bytes } from '../../lib/storage/index.ts'

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

/** Any number that other programs do not lock. */
const CREATE_LOCK = 7_237_105_944

export type Statements = ReturnType<typeof statementsFor>

/** All SQL of this driver. The table `allot_entry` holds the ordered bytes. */
export const statementsFor = (schema: string | undefined) => {
  const prefix = schema === undefined ? '' : `${pg.escapeIdentifier(schema)}.`
  const entry = `${prefix}allot_entry`
  /** Key of locks: stores in other schemas have other tables, and so other locks. */
  const store = `${pg.escapeLiteral(entry)}::regclass::oid::int4`
  const page = (condition: string, order: 'ASC' | 'DESC') => `(
      SELECT key, value FROM ${entry} WHERE ${condition} AND key >= r.start AND key < r.stop
      ORDER BY key ${order} LIMIT r.size)`

  return {
    /** Locked, because IF NOT EXISTS does not prevent collisions of two processes in the catalog. */
    createTables: {
      text: `BEGIN; SELECT pg_advisory_xact_lock(${CREATE_LOCK});
        ${schema === undefined ? '' : `CREATE SCHEMA IF NOT EXISTS ${pg.escapeIdentifier(schema)};`}
        CREATE TABLE IF NOT EXISTS ${entry} (key bytea PRIMARY KEY, value bytea NOT NULL);
        COMMIT`,
    },

    /**
     * $1: keys; $2 to $5: starts, ends, limits and directions of ranges. Rows are (position, key, value): the
     * position, from 1 on, tells which range an entry belongs to; it is null for keys.
     */
    read: {
      name: 'allot_read',
      text: `SELECT NULL::int8 AS position, key, value FROM ${entry} WHERE key = ANY($1::bytea[])
        UNION ALL SELECT r.position, e.key, e.value
        FROM unnest($2::bytea[], $3::bytea[], $4::int8[], $5::bool[]) WITH ORDINALITY
          AS r (start, stop, size, reverse, position)
        CROSS JOIN LATERAL (
          ${page('NOT r.reverse', 'ASC')} UNION ALL ${page('r.reverse', 'DESC')}) AS e`,
    },

    /** $1, $2: keys and values to put; $3: keys to delete. No key is in both. */
    change: {
      name: 'allot_change',
      text: `WITH deleted AS (DELETE FROM ${entry} WHERE key = ANY($3::bytea[]))
        INSERT INTO ${entry} (key, value) SELECT * FROM unnest($1::bytea[], $2::bytea[])
        ON CONFLICT (key) DO UPDATE SET value = excluded.value`,
    },

    // A lock of the session that every connection holds: shared, or alone by the one of a repair.
    claimShared: { text: `SELECT pg_try_advisory_lock_shared(${store}, 1)` },
    claimAlone: { text: `SELECT pg_try_advisory_lock(${store}, 1)` },
    otherUsers: {
      text: `SELECT string_agg(pid::text, ', ') FROM pg_locks
        WHERE locktype = 'advisory' AND classid = ${pg.escapeLiteral(entry)}::regclass AND objid = 1 AND objsubid = 2
          AND granted AND pid <> pg_backend_pid()
          AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`,
    },
  }
}

/** Decodes a bytea in the server's text format, `\x00ff…`. */
export const bytesOf = (text: string): Bytes => Buffer.from(text.slice(2), 'hex')

/** Columns as the text that the server sends; this driver decodes the few types that it uses. */
export type Row = readonly (string | null)[]

const asText = { getTypeParser: () => (text: string) => text }

/** @param timeoutMs after which a connection whose server has not replied is cut */
export const query = async (
  client: Pg.ClientBase,
  statement: Statement,
  values: readonly unknown[],
  timeoutMs: number,
): Promise<Row[]> => {
  const { rows } = await client.query<(string | null)[]>({
    ...statement,
    ...(values.length > 0 && { values: [...values] }),
    rowMode: 'array',
    types: asText as never,
    query_timeout: timeoutMs,
  } as Pg.QueryArrayConfig)
  return rows
}
