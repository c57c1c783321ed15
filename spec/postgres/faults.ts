import pg from 'pg'
import { postgres } from '../../drivers/postgres/index.ts'
import { seededRandom } from '../support/seed.ts'
import { type Person, start, type TestServer } from '../support/test-server.ts'
import { waitFor } from '../support/wait-for.ts'
import { type Cluster, startCluster, startStandby } from './cluster.ts'
import { type Cut, startProxy } from './proxy.ts'

/** The outcome of a fault that happened while 16 clients wrote over HTTP. */
export interface FaultOutcome {
  acknowledged: number
  /** Acknowledged writes that are missing afterwards. */
  lost: number
  /** Difference between quota and records, plus the findings of a recount. */
  miscounted: number
  /** Unexpected answers: no success, and none that {@link isRefusal} names, or 503 outside of the fault. */
  wrong: string[]
  /** Those that {@link isRefusal} names. */
  refused: number
  /** Longest time in seconds without an acknowledged write. */
  away: number
}

/** Whether it is a 503 that says when to try again, or that it is not known whether the write took place. */
export const isRefusal = (status: number, headers: Headers, text: string): boolean =>
  status === 503 && (headers.has('retry-after') || text.includes('not known whether the write took place'))

export interface Fault {
  name: string
  /** @param isRefused whether a client has got 503 */
  strike(servers: Servers, isRefused: () => boolean): Promise<void>
  /** Options of the driver, when they differ from the defaults. */
  options?: (servers: Servers) => { url: string; connections?: number; connectTimeout?: number }
}

/**
 * A primary, its synchronous standby if the fault needs one, and a proxy between the driver and the primary.
 */
export interface Servers {
  primary: Cluster
  standby: Cluster | undefined
  proxy: Awaited<ReturnType<typeof startProxy>>
}

const CLIENTS = 16
const SIZE = 7
const pause = (time: number) => new Promise((resolve) => setTimeout(resolve, time))

const withHost = (url: string, host: string): string => url.replace(/@[^/]*/, `@${host}`)

export const faults: Fault[] = [
  {
    name: 'the database killed and started again',
    async strike({ primary }) {
      await primary.stop('immediate')
      await pause(500)
      await primary.start()
    },
  },
  {
    name: 'every connection of the database ended by its administrator',
    async strike({ primary }) {
      for (let times = 0; times < 5; times++) {
        await withClient(primary, (client) =>
          client.query(
            `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'allot'`,
          ),
        )
        await pause(50)
      }
    },
  },
  {
    name: 'connections cut in the middle of a commit',
    options: ({ primary, proxy }) => ({ url: withHost(primary.tcp, `127.0.0.1:${proxy.port}`) }),
    async strike({ proxy }) {
      const cuts: Cut[] = ['before', 'after', 'late']
      for (let times = 0; times < 12; times++) await proxy.cutNext('allot_change', cuts[times % 3]!)
    },
  },
  {
    name: 'every connection in use for longer than requests wait',
    options: ({ primary }) => ({ url: primary.tcp, connections: 1, connectTimeout: 2000 }),
    async strike({ primary }, isRefused) {
      await withClient(primary, async (client) => {
        await client.query('BEGIN; LOCK TABLE allot_entry IN ACCESS EXCLUSIVE MODE')
        await waitFor(isRefused)
        await client.query('COMMIT')
      })
    },
  },
  {
    name: 'the primary killed, its synchronous standby promoted a second later',
    options: ({ primary, standby }) => ({
      url: `${withHost(primary.tcp, `127.0.0.1:${primary.port},127.0.0.1:${standby!.port}`)}?target_session_attrs=read-write`,
    }),
    async strike({ primary, standby }) {
      await primary.stop('immediate')
      await pause(1000)
      await standby!.promote()
    },
  },
]

export const needsStandby = ({ name }: Fault): boolean => name.includes('standby')

const withClient = async (cluster: Cluster, body: (client: pg.Client) => Promise<unknown>): Promise<void> => {
  const client = new pg.Client({ connectionString: cluster.url })
  await client.connect()
  try {
    await body(client)
  } finally {
    await client.end()
  }
}

/** @param calmWrites how many writes of each client are acknowledged before the fault and after it */
export const runFault = async (fault: Fault, calmWrites: number): Promise<FaultOutcome> => {
  const primary = await startCluster()
  const standby = needsStandby(fault) ? await startStandby(primary) : undefined
  const proxy = await startProxy(primary.port)
  const servers = { primary, standby, proxy }
  try {
    const { url, ...options } = fault.options?.(servers) ?? { url: primary.tcp }
    const allot = await start({ driver: postgres(url, options), repositories: false })
    const strike = (isRefused: () => boolean) => fault.strike(servers, isRefused)
    return await duringWrites(allot, strike, calmWrites).finally(allot.stop)
  } finally {
    await proxy.close()
    await standby?.dispose()
    await primary.dispose()
  }
}

const duringWrites = async (
  allot: TestServer,
  strike: (isRefused: () => boolean) => Promise<void>,
  calmWrites: number,
): Promise<FaultOutcome> => {
  const owner = await allot.person('owner', { admin: true })
  await allot.as(owner, 'POST', '/user/repos', { name: 'demo' })
  const keys = new Set<string>()
  const struck: FaultOutcome = { acknowledged: 0, lost: 0, miscounted: 0, wrong: [], refused: 0, away: 0 }
  let phase: 'before' | 'during' | 'after' | 'end' = 'before'
  let struckAt = Number.POSITIVE_INFINITY
  let longest = 0
  let lastAcknowledged = performance.now()

  /** @returns whether the write was acknowledged */
  const write = async (key: string): Promise<boolean> => {
    const begunIn = phase
    const body = { repository: 'owner/demo', name: key, size: SIZE, run: 1 }
    const { status, headers, text } = await allot.as(owner, 'PUT', `/admin/ledger/artifacts/${key}`, body)
    const now = performance.now()
    if (status === 201 || status === 200) {
      keys.add(key)
      if (now > struckAt) longest = Math.max(longest, now - Math.max(lastAcknowledged, struckAt))
      lastAcknowledged = now
      return true
    }
    const isAway = phase !== 'before' && begunIn !== 'after'
    if (isRefusal(status, headers, text) && isAway) struck.refused++
    else struck.wrong.push(`${status} ${text}`)
    await pause(50)
    return false
  }
  /** How many writes of each client were acknowledged since the last call of `eachHas`. */
  const counts = Array.from({ length: CLIENTS }, () => 0)
  const eachHas = (writes: number) => {
    counts.fill(0)
    return waitFor(() => counts.every((count) => count >= writes))
  }
  const random = seededRandom()
  const client = async (name: number) => {
    for (let at = 0; phase !== 'end'; at++) {
      if (await write(`${name}-${at}`)) counts[name]!++
      // With random pauses, or all clients would share one statement and one connection.
      await pause(random() * 10)
    }
  }
  const clients = Promise.all(
    Array.from({ length: CLIENTS }, (_, name) =>
      client(name).catch((error) => void struck.wrong.push(String(error))),
    ),
  )
  await eachHas(calmWrites)
  struckAt = performance.now()
  phase = 'during'
  await strike(() => struck.refused > 0)
  // The fault is over when each client has a write acknowledged that it began afterwards: the second one at
  // the latest.
  await eachHas(2)
  phase = 'after'
  await eachHas(calmWrites)
  phase = 'end'
  await clients
  return { ...struck, ...(await compared(allot, owner, keys)), away: longest / 1000 }
}

const compared = async (
  { allot, as }: TestServer,
  owner: Person,
  keys: ReadonlySet<string>,
): Promise<Pick<FaultOutcome, 'acknowledged' | 'lost' | 'miscounted'>> => {
  const there = new Set<string>()
  for (let page = 1; ; page++) {
    const { body } = await as(owner, 'GET', `/user/quota/artifacts?limit=50&page=${page}`)
    for (const { name } of body as { name: string }[]) there.add(name)
    if (body.length < 50) break
  }
  const { body } = await as(owner, 'GET', '/user/quota')
  const { messages } = await allot.verify()
  const difference = Math.abs(body.used.size.assets.artifacts / SIZE - there.size)
  const lost = [...keys].filter((key) => !there.has(key)).length
  return { acknowledged: keys.size, lost, miscounted: difference + messages.length }
}
