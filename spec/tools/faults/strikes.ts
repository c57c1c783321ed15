import { setTimeout } from 'node:timers/promises'
import type { Served } from '../../bin/program.ts'
import { leaderOf } from './etcd.ts'
import type { Fleet } from './patroni.ts'
import { signalAll, withDescendants } from './processes.ts'
import { cannotDropPackets, dropPackets } from './programs.ts'

/** The processes that a strike can act on. */
export interface Target {
  readonly fleet: Fleet
  readonly server: Served
  /** Starts the server again at the same port, as a service manager does. */
  restartServer(): Promise<void>
  /** HAProxy, or PgBouncer when Allot connects to it. */
  restartProxy(): Promise<void>
}

export interface Strike {
  readonly name: string
  /** The proxy in Allot's URL instead of the three hosts: HAProxy, or PgBouncer in front of HAProxy. */
  readonly through?: 'HAProxy' | 'PgBouncer'
  /** Why it cannot be done here; false when it can. */
  readonly impossible?: () => string | false
  /** Resolves when what was broken is mended. */
  run(target: Target): Promise<void>
}

const freeze = async (pids: readonly number[], seconds: number): Promise<void> => {
  signalAll(pids, 'SIGSTOP')
  await setTimeout(seconds * 1000)
  signalAll(pids, 'SIGCONT')
}

const killPrimary = async ({ fleet }: Target): Promise<void> => {
  const node = await fleet.primary()
  signalAll(node.processes(), 'SIGKILL')
  await setTimeout(30_000)
  node.start()
}

const partition = async ({ fleet }: Target): Promise<void> => {
  const { ports } = await fleet.primary()
  const heal = dropPackets([ports.postgres, ports.api, ...ports.etcd])
  await setTimeout(40_000)
  heal()
}

const workersOf = ({ child }: Served): number[] => withDescendants(child.pid!).slice(1)

export const strikes: readonly Strike[] = [
  {
    name: 'the primary and its Patroni killed, started again 30 s later',
    run: killPrimary,
  },
  ...[40, 130].map((seconds) => ({
    name: `the primary and its Patroni frozen for ${seconds} s`,
    run: async ({ fleet }: Target) => freeze((await fleet.primary()).processes(), seconds),
  })),
  { name: 'a switchover', run: ({ fleet }) => fleet.switchover() },
  { name: "the primary's packets dropped for 40 s", impossible: cannotDropPackets, run: partition },
  {
    name: "the primary's packets dropped for 40 s, behind HAProxy",
    through: 'HAProxy',
    impossible: cannotDropPackets,
    run: partition,
  },
  {
    name: 'the primary and its Patroni killed, behind PgBouncer and HAProxy, started again 30 s later',
    through: 'PgBouncer',
    run: killPrimary,
  },
  {
    name: 'all of three etcd servers frozen for 40 s',
    run: ({ fleet }) =>
      freeze(
        fleet.etcd.map(({ pid }) => pid),
        40,
      ),
  },
  {
    name: 'the leader of three etcd servers killed, started again 30 s later',
    async run({ fleet }) {
      const leader = await leaderOf(fleet.etcd)
      await leader.kill()
      await setTimeout(30_000)
      leader.start()
    },
  },
  { name: 'HAProxy restarted', through: 'HAProxy', run: ({ restartProxy }) => restartProxy() },
  { name: 'PgBouncer restarted', through: 'PgBouncer', run: ({ restartProxy }) => restartProxy() },
  {
    name: 'one of two workers killed',
    run: async ({ server }) => signalAll(workersOf(server).slice(0, 1), 'SIGKILL'),
  },
  {
    name: 'the parent of the workers killed, and started again',
    async run({ server, restartServer }) {
      signalAll([server.child.pid!], 'SIGKILL')
      await restartServer()
    },
  },
]
