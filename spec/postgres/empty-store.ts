import { randomBytes } from 'node:crypto'
import pg from 'pg'
import { atEnd, once } from '../support/cleanup.ts'
import { type Cluster, startCluster } from './cluster.ts'

/** One cluster for all tests of a file, unless ALLOT_SPEC_POSTGRES names a running one. */
let cluster: Promise<Cluster> | undefined

const sharedUrl = async (): Promise<string> => {
  const given = process.env.ALLOT_SPEC_POSTGRES
  if (given !== undefined) return given
  if (cluster === undefined) {
    cluster = startCluster()
    atEnd(() => {
      cluster = undefined
    })
  }
  return (await cluster).url
}

/** How long a schema that a connection still uses is waited for. */
const DROP_MS = 20_000

/** The URL of a new schema, and a function that drops it, which the end of the file calls, too. */
export const emptyStore = async (): Promise<{ url: string; drop: () => Promise<void> }> => {
  const url = new URL(await sharedUrl())
  const schema = `spec_${randomBytes(6).toString('hex')}`
  const drop = once(async () => {
    const client = new pg.Client({ connectionString: url.href.replace(/[?&]schema=\w+/, '') })
    await client.connect()
    try {
      await client.query(`SET lock_timeout = ${DROP_MS}; DROP SCHEMA IF EXISTS ${schema} CASCADE`)
    } finally {
      await client.end()
    }
  })
  atEnd(drop)
  url.searchParams.set('schema', schema)
  return { url: url.href, drop }
}
