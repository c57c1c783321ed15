import type { ClientBase } from 'pg'
import { StorageError } from '../../lib/storage/index.ts'
import { isLost } from './errors.ts'
import { query } from './statements.ts'

/** Which primary a server is. */
export interface Identity {
  /**
   * False for other databases with PostgreSQL's protocol. They may not support the statement that commits a
   * batch.
   */
  readonly isPostgres: boolean
  /** Identifier of the database cluster, which its standbys share; empty when the server does not tell. */
  readonly cluster: string
  /** Number of the timeline, which is higher after each promotion. 0 when the server does not tell. */
  readonly timeline: number
}

export const isSamePrimary = (left: Identity, right: Identity): boolean =>
  left.cluster === right.cluster && left.timeline === right.timeline

/**
 * Whether a server of the same cluster was promoted after this one, which must not be used any more. A server
 * of another cluster, such as one that was restored from a backup, is accepted as the new primary.
 */
export const isFormer = (identity: Identity, newest: Identity): boolean =>
  identity.cluster === newest.cluster && identity.timeline < newest.timeline

/**
 * The name of the present WAL file begins with the timeline. The control file would lag behind a promotion.
 */
const PRIMARY_QUERY = `SELECT (SELECT system_identifier FROM pg_control_system()),
  left(pg_walfile_name(pg_current_wal_insert_lsn()), 8)`

/**
 * Asks a server which primary it is.
 * @throws Error with the SQLSTATE 25006 when it is a standby: a standby may lag behind the primary, so that
 *   it must not be read from either
 */
export const identify = async (client: ClientBase): Promise<Identity> => {
  const [[isReadOnly] = []] = await query(client, { text: 'SHOW transaction_read_only' }, [])
  if (isReadOnly === 'on') throw standby()
  const [[version] = []] = await query(client, { text: 'SELECT version()' }, [])
  const isPostgres = /^PostgreSQL/.test(version ?? '')
  const [[cluster, timeline] = []] = isPostgres ? await tellPrimary(client) : []
  return { isPostgres, cluster: cluster ?? '', timeline: Number.parseInt(timeline ?? '0', 16) }
}

/** Some services do not allow these functions. */
const tellPrimary = (client: ClientBase) =>
  query(client, { text: PRIMARY_QUERY }, []).catch((error: unknown) => {
    if (isLost(error)) throw error
    return []
  })

const standby = () => Object.assign(new Error('this server is a standby'), { code: '25006' })

/** @param identity of a server that was reached instead of the primary that is known */
export const otherPrimary = (identity: Identity, known: Identity): StorageError => {
  const cause = new Error(`timeline ${identity.timeline} was reached, and ${known.timeline} is known`)
  const message = isFormer(identity, known)
    ? 'the database was reached at a former primary, which another server has replaced'
    : 'the database has another primary now'
  return new StorageError('away', message, { cause })
}
