import pg from 'pg'
import { atEnd } from '../support/cleanup.ts'
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

let created = 0

/** The URL of a new schema, and a function that drops it. */
export const emptyStore = async (): Promise<{ url: string; drop: () => Promise<void> }> => {
  const url = new URL(await sharedUrl())
  const schema = `spec_${process.pid}_${++created}`
  const drop = async () => {
    const client = new pg.Client({ connectionString: url.href.replace(/[?&]schema=\w+/, '') })
    await client.connect()
    await client.query(`DROP SCHEMA IF EXISTS ${schema} CASCADE`)
    await client.end()
  }
  url.searchParams.set('schema', schema)
  return { url: url.href, drop }
}
