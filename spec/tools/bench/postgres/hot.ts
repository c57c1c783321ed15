import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import pg from 'pg'
import { postgres as driver } from '../../../../drivers/postgres/index.ts'
import { openAllot } from '../../../../lib/allot.ts'
import { startCluster } from '../../../postgres/cluster.ts'
import { type Bench, inTurns, type Measurement } from '../report/measure.ts'
import type { Pushed } from './hot-process.ts'

const PROCESSES = [1, 2, 4]
const MILLISECONDS = 1000

const begin = async (kind: 'allot' | 'hand', url: string, name: string): Promise<ChildProcess> => {
  const file = fileURLToPath(new URL('./hot-process.ts', import.meta.url))
  const child = fork(file, [kind, url, name], { execArgv: ['--import', 'tsx'] })
  await told(child)
  return child
}

/** The next message of a process. Fails when the process ends first. */
const told = async (child: ChildProcess): Promise<unknown[]> => {
  const heard = new AbortController()
  const { signal } = heard
  const ended = once(child, 'exit', { signal }).then(([code]) => {
    throw new Error(`a process ended with ${code}`)
  })
  try {
    return await Promise.race([once(child, 'message', { signal }), ended])
  } finally {
    ended.catch(() => undefined)
    heard.abort()
  }
}

/** Pushes in a second of a number of processes together. */
const push = async (processes: readonly ChildProcess[]): Promise<Pushed> => {
  const pushed = await Promise.all(
    processes.map(async (child) => {
      child.send(MILLISECONDS)
      return (await told(child))[0] as Pushed
    }),
  )
  const sum = (of: keyof Pushed) => pushed.reduce((all, one) => all + one[of], 0)
  return { writes: sum('writes'), sent: sum('sent') }
}

const prepare = async (url: string): Promise<void> => {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  await client.query('CREATE TABLE by_hand_pushed (key text PRIMARY KEY)')
  await client.query('CREATE TABLE by_hand_counted (count int NOT NULL)')
  await client.query('INSERT INTO by_hand_counted VALUES (0)')
  await client.end()
  const allot = await openAllot({ driver: driver(url), repositories: false })
  const root = await allot.hosting.accounts.createUser({ name: 'root' })
  const hot = await allot.hosting.organizations.create(root.id, { name: 'hot' })
  await allot.hosting.repositories.create(hot, root, { name: 'demo' })
  await allot.close()
}

const measured = async (ours: ChildProcess[], hand: ChildProcess[], rounds: number): Promise<Measurement> => {
  const sendings: number[] = []
  const [value, reference] = (await inTurns(rounds, [
    async () => {
      const { writes, sent } = await push(ours)
      sendings.push(sent / writes)
      return (writes / MILLISECONDS) * 1000
    },
    async () => ((await push(hand)).writes / MILLISECONDS) * 1000,
  ])) as [number, number]
  const mean = sendings.slice(1).reduce((sum, one) => sum + one, 0) / rounds
  const processes = ours.length === 1 ? '1 process' : `${ours.length} processes`
  return {
    name: `pushes to one organization, ${processes} with 8 writers each; ${mean.toFixed(2)} transactions sent for each`,
    value,
    reference,
    unit: 'transactions/s',
    against: 'one row counted by hand, as many connections',
  }
}

export const hot: Bench = {
  name: 'hot',
  async run({ rounds, say }) {
    const cluster = await startCluster({ synced: true })
    const all: ChildProcess[] = []
    try {
      await prepare(cluster.url)
      const beginAll = (kind: 'allot' | 'hand') =>
        Promise.all(
          Array.from({ length: Math.max(...PROCESSES) }, (_, at) => begin(kind, cluster.url, `${at}`)),
        )
      const [ours, hand] = await Promise.all([beginAll('allot'), beginAll('hand')])
      all.push(...ours, ...hand)
      const rows: Measurement[] = []
      for (const count of PROCESSES) {
        say(`pushing to one organization from ${count}`)
        rows.push(await measured(ours.slice(0, count), hand.slice(0, count), rounds))
      }
      return rows
    } finally {
      for (const child of all) if (child.connected) child.disconnect()
      await cluster.dispose()
    }
  },
}
