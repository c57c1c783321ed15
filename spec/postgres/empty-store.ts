import pg from 'pg'
import { type Cluster, startCluster } from './cluster.ts'

/** One cluster for all of a process's specs, or the one that whoever runs them has started. */
let cluster: Promise<Cluster> | undefined

const sharedUrl = async (): Promise<string> => {
  const given = process.env.ALLOT_SPEC_POSTGRES
  if (given !== undefined) return given
  cluster ??= startCluster().then((started) => {
    // Not in a hook: those of the specs that stop their servers may come after it.
    process.once('exit', started.disposeAtOnce)
    return started
  })
  return (await cluster).url
}

let made = 0

/** The URL of a store of its own, which is empty, and a way to take it away. */
export const emptyStore = async (): Promise<{ url: string; drop: () => Promise<void> }> => {
  const url = new URL(await sharedUrl())
  const schema = `spec_${process.pid}_${++made}`
  const drop = async () => {
    const client = new pg.Client({ connectionString: url.href.replace(/[?&]schema=\w+/, '') })
    await client.connect()
    await client.query(`DROP SCHEMA IF EXISTS ${schema} CASCADE`)
    await client.end()
  }
  url.searchParams.set('schema', schema)
  return { url: url.href, drop }
}
