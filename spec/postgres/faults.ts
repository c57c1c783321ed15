import pg from 'pg'
import { postgres } from '../../drivers/postgres/index.ts'
import { type Person, start, type TestServer } from '../support/test-server.ts'
import { type Cluster, startCluster, startStandby } from './cluster.ts'
import { type Cut, startProxy } from './proxy.ts'

/** The outcome of a fault that happened while 16 clients wrote over HTTP. */
export interface FaultOutcome {
  acknowledged: number
  /** Acknowledged writes that are missing afterwards. */
  lost: number
  /** Difference between quota and records, plus the findings of a recount. */
  miscounted: number
  /** Unexpected answers: not a success, not 503 with Retry-After, or 503 outside of the fault. */
  wrong: string[]
  /** 503 with Retry-After. */
  refused: number
  /** Longest time in seconds without an acknowledged write. */
  away: number
}

export interface Fault {
  name: string
  strike(servers: Servers): Promise<void>
  /** Options of the driver, when they differ from the defaults. */
  options?: (servers: Servers) => { url: string; readers?: number; writers?: number; connectTimeout?: number }
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
        await askOf(
          primary,
          `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'allot'`,
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
      for (let times = 0; times < 12; times++) await proxy.cutNext('allot_commit', cuts[times % 3]!)
    },
  },
  {
    name: 'every connection in use for longer than requests wait',
    options: ({ primary }) => ({ url: primary.tcp, readers: 1, writers: 1, connectTimeout: 300 }),
    async strike({ primary }) {
      const table = 'LOCK TABLE allot_entry IN ACCESS EXCLUSIVE MODE'
      await askOf(primary, `BEGIN; ${table}; SELECT pg_sleep(1.5); COMMIT`)
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

const askOf = async (cluster: Cluster, text: string): Promise<void> => {
  const client = new pg.Client({ connectionString: cluster.url })
  await client.connect()
  try {
    await client.query(text)
  } finally {
    await client.end()
  }
}

/** @param calmMs duration of writing before the fault and after it */
export const runFault = async (fault: Fault, calmMs: number): Promise<FaultOutcome> => {
  const primary = await startCluster()
  const standby = needsStandby(fault) ? await startStandby(primary) : undefined
  const proxy = await startProxy(primary.port)
  const servers = { primary, standby, proxy }
  try {
    const { url, ...options } = fault.options?.(servers) ?? { url: primary.tcp }
    const allot = await start({ driver: postgres(url, options), repositories: false })
    const struck = await duringWrites(allot, () => fault.strike(servers), calmMs).finally(allot.stop)
    return struck
  } finally {
    await proxy.close()
    await standby?.dispose()
    await primary.dispose()
  }
}

const duringWrites = async (
  allot: TestServer,
  strike: () => Promise<void>,
  calmMs: number,
): Promise<FaultOutcome> => {
  const owner = await allot.person('owner', { admin: true })
  await allot.as(owner, 'POST', '/user/repos', { name: 'demo' })
  const keys = new Set<string>()
  const struck: FaultOutcome = { acknowledged: 0, lost: 0, miscounted: 0, wrong: [], refused: 0, away: 0 }
  let [isOver, struckAt, overAt] = [false, Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY]
  let longest = 0
  let lastAcknowledged = performance.now()

  const write = async (key: string) => {
    const begun = performance.now()
    const body = { repository: 'owner/demo', name: key, size: SIZE, run: 1 }
    const { status, headers, text } = await allot.as(owner, 'PUT', `/admin/ledger/artifacts/${key}`, body)
    const now = performance.now()
    if (status === 201 || status === 200) {
      keys.add(key)
      if (now > struckAt) longest = Math.max(longest, now - Math.max(lastAcknowledged, struckAt))
      lastAcknowledged = now
      return
    }
    const isAway = now >= struckAt && begun <= overAt
    if (status === 503 && headers.get('retry-after') !== null && isAway) struck.refused++
    else struck.wrong.push(`${status} ${text}`)
    await pause(50)
  }
  const client = async (name: number) => {
    for (let at = 0; !isOver; at++) {
      await write(`${name}-${at}`)
      // With random pauses, or all clients would share one statement and one connection.
      await pause(Math.random() * 10)
    }
  }
  const clients = Array.from({ length: CLIENTS }, (_, name) => client(name))
  await pause(calmMs)
  struckAt = performance.now()
  await strike()
  const sinceStrike = keys.size
  // The fault ends with the first write that is acknowledged afterwards.
  for (let attempts = 0; keys.size === sinceStrike && attempts < 600; attempts++) await pause(50)
  await pause(GRACE_MS)
  overAt = performance.now()
  await pause(calmMs)
  isOver = true
  await Promise.all(clients)
  return { ...struck, ...(await compared(allot, owner, keys)), away: longest / 1000 }
}

/** Time until all clients have noticed that the fault is over. */
const GRACE_MS = 500

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
