import pg from 'pg'
import type { Bytes } from '../../lib/storage/index.ts'

/** With a name, each connection prepares it when it first runs it. */
export interface Statement {
  readonly name?: string
  readonly text: string
}

export interface Statements {
  /** Make the tables, one after another. */
  readonly make: readonly string[]
  /** $1: keys. */
  readonly points: Statement
  /** $1, $2: keys and the values expected of them. Rows: key and value of each that has another value. */
  readonly changed: Statement
  /**
   * $1: keys; $2 to $5: starts, ends, limits and places of ranges forward; $6 to $9: of ranges in reverse; $10, $11: keys
   * and the values expected of them, of which those come that have another value.
   */
  readonly queries: Statement
  readonly forward: Statement
  readonly reverse: Statement
  /**
   * A whole transaction in one statement: nothing is written unless all that is expected holds.
   * $1, $2: keys and the values expected of them; $3 to $5: starts, ends and counts of ranges; $6, $7: the writer and the
   * number of its write; $8, $9: keys and values to put; $10: keys to delete. Rows: 0 when it was written; 1, key and
   * value for each key that has another value; 2 for each range that has another count.
   */
  readonly commit: Statement
  /** $1: keys, $2: values. */
  readonly put: Statement
  /** $1: keys. */
  readonly remove: Statement
  /** Waits until no other transaction has the gate. */
  readonly gate: Statement
  /** $1: the writer. */
  readonly enlist: Statement
  readonly forget: Statement
  /** $1: the writer, $2: the number of its write. */
  readonly mark: Statement
  /** $1: the writer. */
  readonly fence: Statement
}

/**
 * `entry` holds the ordered bytes. `writer` has a row for each connection that writes: its last write, marked in the
 * same transaction, so that the outcome of a commit whose answer was lost can be found out.
 */
export const statementsFor = (schema: string | undefined): Statements => {
  const table = (name: string) =>
    schema === undefined ? `allot_${name}` : `${pg.escapeIdentifier(schema)}.allot_${name}`
  const [entry, writer, gate] = [table('entry'), table('writer'), table('gate')]
  const page = (order: 'ASC' | 'DESC') =>
    `SELECT key, value FROM ${entry} WHERE key >= $1 AND key < $2 ORDER BY key ${order} LIMIT $3`
  const ranges = (order: 'ASC' | 'DESC', first: number) => `
    SELECT r.place, e.key, e.value
    FROM unnest($${first}::bytea[], $${first + 1}::bytea[], $${first + 2}::int8[], $${first + 3}::int8[])
      AS r (start, stop, most, place)
    CROSS JOIN LATERAL (
      SELECT key, value FROM ${entry} WHERE key >= r.start AND key < r.stop ORDER BY key ${order} LIMIT r.most
    ) AS e`
  const changed = (first: number) => `
    SELECT e.key, e.found FROM (
      SELECT e.key, e.value, (SELECT t.value FROM ${entry} AS t WHERE t.key = e.key) AS found
      FROM unnest($${first}::bytea[], $${first + 1}::bytea[]) AS e (key, value)
    ) AS e WHERE e.found IS DISTINCT FROM e.value`
  const points = `SELECT key, value FROM ${entry} WHERE key = ANY($1::bytea[])`

  return {
    make: [
      ...(schema === undefined ? [] : [`CREATE SCHEMA IF NOT EXISTS ${pg.escapeIdentifier(schema)}`]),
      `CREATE TABLE IF NOT EXISTS ${entry} (key bytea PRIMARY KEY, value bytea NOT NULL)`,
      `CREATE TABLE IF NOT EXISTS ${writer} (
        id bytea PRIMARY KEY, last int8 NOT NULL, fenced boolean NOT NULL, seen timestamptz NOT NULL
      ) WITH (fillfactor = 10)`,
      `CREATE TABLE IF NOT EXISTS ${gate} (id int PRIMARY KEY)`,
      `INSERT INTO ${gate} VALUES (1) ON CONFLICT DO NOTHING`,
    ],
    points: { name: 'allot_points', text: points },
    changed: { name: 'allot_changed', text: changed(1) },
    queries: {
      name: 'allot_questions',
      text: `SELECT NULL::int8 AS place, key, value FROM (${points}) AS p
        UNION ALL (${ranges('ASC', 2)}) UNION ALL (${ranges('DESC', 6)})
        UNION ALL SELECT NULL, key, found FROM (${changed(10)}) AS c`,
    },
    forward: { name: 'allot_forward', text: page('ASC') },
    reverse: { name: 'allot_reverse', text: page('DESC') },
    commit: {
      name: 'allot_commit',
      text: `WITH
        stale AS (${changed(1)}),
        moved AS (
          SELECT r.start FROM unnest($3::bytea[], $4::bytea[], $5::int8[]) AS r (start, stop, expected)
          WHERE r.expected <> (SELECT count(*) FROM ${entry} AS t WHERE t.key >= r.start AND t.key < r.stop)),
        mark AS (
          UPDATE ${writer} SET last = $7, seen = now()
          WHERE id = $6 AND NOT fenced AND current_setting('transaction_isolation') = 'serializable'
            AND NOT EXISTS (SELECT 1 FROM stale) AND NOT EXISTS (SELECT 1 FROM moved)
          RETURNING last),
        put AS (
          INSERT INTO ${entry} (key, value)
          SELECT p.key, p.value FROM unnest($8::bytea[], $9::bytea[]) AS p (key, value)
          WHERE EXISTS (SELECT 1 FROM mark)
          ON CONFLICT (key) DO UPDATE SET value = excluded.value),
        gone AS (DELETE FROM ${entry} WHERE key = ANY($10::bytea[]) AND EXISTS (SELECT 1 FROM mark))
        SELECT 0, NULL::bytea, NULL::bytea FROM mark
        UNION ALL SELECT 1, key, found FROM stale
        UNION ALL SELECT 2, start, NULL FROM moved`,
    },
    put: {
      name: 'allot_put',
      text: `INSERT INTO ${entry} (key, value) SELECT * FROM unnest($1::bytea[], $2::bytea[])
        ON CONFLICT (key) DO UPDATE SET value = excluded.value`,
    },
    remove: { name: 'allot_remove', text: `DELETE FROM ${entry} WHERE key = ANY($1::bytea[])` },
    gate: { name: 'allot_gate', text: `SELECT id FROM ${gate} WHERE id = 1 FOR UPDATE` },
    enlist: { name: 'allot_enlist', text: `INSERT INTO ${writer} VALUES ($1, 0, false, now())` },
    // A few at a time: whoever opens a connection tidies up for those that are long gone, and never for long.
    forget: {
      name: 'allot_forget',
      text: `DELETE FROM ${writer} WHERE id IN (
        SELECT id FROM ${writer} WHERE seen < now() - interval '1 day' LIMIT 100)`,
    },
    mark: {
      name: 'allot_mark',
      text: `UPDATE ${writer} SET last = $2, seen = now() WHERE id = $1 AND NOT fenced RETURNING last`,
    },
    fence: { name: 'allot_fence', text: `UPDATE ${writer} SET fenced = true WHERE id = $1 RETURNING last` },
  }
}

const OID = { bytea: 17, int8: 20 } as const
const HEADER = 20

/** A `bytea[]` as the server reads it: a text of hexadecimal digits would be twice as long, and slow to make. */
export const byteas = (elements: readonly (Bytes | undefined)[]): Buffer =>
  arrayOf(
    OID.bytea,
    elements.map((element) => element?.length),
    (array, at, index) => array.set(elements[index]!, at),
  )

/** An `int8[]`. */
export const integers = (elements: readonly number[]): Buffer =>
  arrayOf(
    OID.int8,
    elements.map(() => 8),
    (array, at, index) => void array.writeBigInt64BE(BigInt(elements[index]!), at),
  )

/** One dimension, counted from 1; an element without a length is null. */
const arrayOf = (
  type: number,
  lengths: readonly (number | undefined)[],
  write: (array: Buffer, at: number, index: number) => void,
): Buffer => {
  const size = lengths.reduce<number>((sum, length) => sum + 4 + (length ?? 0), HEADER)
  const array = Buffer.allocUnsafe(size)
  const hasNulls = lengths.includes(undefined) ? 1 : 0
  for (const [index, word] of [1, hasNulls, type, lengths.length, 1].entries())
    array.writeInt32BE(word, index * 4)
  let at = HEADER
  for (const [index, length] of lengths.entries()) {
    array.writeInt32BE(length ?? -1, at)
    at += 4
    if (length === undefined) continue
    write(array, at, index)
    at += length
  }
  return array
}

/** What the server writes as `\x00ff…`. */
export const bytesOf = (text: string): Bytes => Buffer.from(text.slice(2), 'hex')
