import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync, readFileSync } from 'node:fs'
import { setTimeout } from 'node:timers/promises'
import pg from 'pg'
import { postgres } from '../../drivers/postgres/index.ts'
import { openAllot } from '../../lib/allot.ts'
import { type Cluster, startCluster } from './cluster.ts'

/**
 * `npx tsx spec/postgres/workers.ts`: one, two and four processes write entries of owners of their own, with
 * 16 writers together. Prints for each write what it costs: processor time of the processes and of the
 * database, batches, conflicts; and what the database's connections wait for. Processor time tells what is
 * ours also on a machine that does other work.
 */
const [WRITERS, SECONDS, SAMPLE_MS] = [16, 8, 20]
const quiet = { error: () => undefined, info: () => undefined }

const write = async (url: string, name: string, writers: number): Promise<void> => {
  const allot = await openAllot({ driver: postgres(url), repositories: false, log: quiet })
  for (let writer = 0; writer < writers; writer++)
    await allot.hosting.accounts.createUser({ name: `${name}-${writer}` })
  process.send!('ready')
  await once(process, 'message')
  const used = process.cpuUsage()
  const end = performance.now() + SECONDS * 1000
  let writes = 0
  const repeat = async (_: unknown, writer: number) => {
    for (let turn = 0; performance.now() < end; turn++, writes++)
      await allot.ledger.put({
        ...{ kind: 'packages', key: `${name}-${writer}-${turn}`, owner: `${name}-${writer}` },
        ...{ name: 'a', size: 1, type: 'npm', version: '1' },
      })
  }
  await Promise.all(Array.from({ length: writers }, repeat))
  const { user, system } = process.cpuUsage(used)
  process.send!({ writes, processorMs: (user + system) / 1000 })
  await allot.close()
  process.exit()
}

/** Milliseconds of a processor that the server's processes have taken, those that have ended included. */
const databaseMs = (cluster: Cluster): number => {
  const [postmaster] = readFileSync(`${cluster.folder}/data/postmaster.pid`, 'utf8').split('\n')
  let ticks = 0
  for (const pid of readdirSync('/proc').filter((name) => /^\d+$/.test(name)))
    try {
      const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
      const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
      if (fields[1] === postmaster) ticks += Number(fields[11]) + Number(fields[12])
      if (pid === postmaster) ticks += Number(fields[13]) + Number(fields[14])
    } catch {
      // The process has ended meanwhile.
    }
  return ticks * 10
}

const COUNTS = `SELECT xact_commit AS batches, xact_rollback AS conflicts FROM pg_stat_database
  WHERE datname = current_database()`
const WAITS = `SELECT coalesce(wait_event_type || ':' || wait_event, 'running') AS wait FROM pg_stat_activity
  WHERE application_name = 'allot' AND state = 'active'`

const measure = async (processes: number): Promise<void> => {
  const cluster = await startCluster({ synced: true })
  const client = new pg.Client({ connectionString: cluster.url })
  await client.connect()
  const children: ChildProcess[] = []
  for (let index = 0; index < processes; index++) {
    const child = fork(import.meta.filename, [cluster.url, `p${index}`, String(WRITERS / processes)])
    children.push(child)
    await once(child, 'message')
  }
  const [before] = (await client.query(COUNTS)).rows
  const usedBefore = databaseMs(cluster)
  const results = children.map(async (child) => {
    child.send('go')
    return (await once(child, 'message'))[0] as { writes: number; processorMs: number }
  })
  const waits = new Map<string, number>()
  let isOver = false
  const sampling = (async () => {
    while (!isOver) {
      for (const { wait } of (await client.query(WAITS)).rows) waits.set(wait, (waits.get(wait) ?? 0) + 1)
      await setTimeout(SAMPLE_MS)
    }
  })()
  const done = await Promise.all(results)
  isOver = true
  await sampling
  const used = databaseMs(cluster) - usedBefore
  await setTimeout(1500)
  const [after] = (await client.query(COUNTS)).rows
  await client.end()
  await cluster.dispose()
  const sum = (of: (one: (typeof done)[0]) => number) => done.reduce((total, one) => total + of(one), 0)
  const writes = sum((one) => one.writes)
  const batches = Number(after.batches) - Number(before.batches)
  const all = [...waits.values()].reduce((total, count) => total + count, 0)
  const shares = [...waits]
    .sort(([, left], [, right]) => right - left)
    .slice(0, 4)
    .map(([wait, count]) => `${wait} ${Math.round((100 * count) / all)} %`)
  const cells = [
    processes,
    (writes / SECONDS).toFixed(0),
    (sum((one) => one.processorMs) / writes).toFixed(2),
    (used / writes).toFixed(2),
    (writes / batches).toFixed(1),
    (Number(after.conflicts) - Number(before.conflicts)).toString(),
    shares.join(', '),
  ]
  console.log(`| ${cells.join(' | ')} |`)
}

const [url, name, writers] = process.argv.slice(2)
if (url === undefined) {
  console.log(
    '| processes | writes per s | ms of a processor per write: processes | database | writes per batch | conflicts | waits |',
  )
  console.log('|---|---|---|---|---|---|---|')
  for (const processes of [1, 2, 4]) await measure(processes)
} else await write(url, name!, Number(writers))
