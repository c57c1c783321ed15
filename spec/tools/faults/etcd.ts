import { join } from 'node:path'
import { freePort } from '../../support/free-port.ts'
import { type Running, run } from './processes.ts'

/** One of three etcd servers. It listens on a port for each node, so that a node can be cut off. */
export interface EtcdMember {
  readonly ports: readonly number[]
  readonly pid: number
  start(): void
  kill(): Promise<void>
}

const NAMES = ['red', 'green', 'blue']

const urlsOf = (ports: readonly number[]): string => ports.map((port) => `http://127.0.0.1:${port}`).join(',')

/** @param nodes number of the nodes that each listens for */
export const startEtcd = async (folder: string, nodes: number): Promise<EtcdMember[]> => {
  const peers: number[] = []
  for (const _ of NAMES) peers.push(await freePort())
  const cluster = NAMES.map((name, index) => `${name}=${urlsOf([peers[index]!])}`).join(',')
  return Promise.all(
    NAMES.map(async (name, index) => {
      const ports: number[] = []
      while (ports.length < nodes) ports.push(await freePort())
      const peer = urlsOf([peers[index]!])
      const words = [
        ...['--name', name, '--data-dir', join(folder, `etcd-${name}`), '--initial-cluster', cluster],
        ...['--listen-client-urls', urlsOf(ports), '--advertise-client-urls', urlsOf(ports)],
        ...['--listen-peer-urls', peer, '--initial-advertise-peer-urls', peer],
      ]
      const begin = () => run('etcd', words, join(folder, `etcd-${name}.log`), folder)
      let running: Running = begin()
      return {
        ports,
        get pid() {
          return running.pid
        },
        start() {
          running = begin()
        },
        kill: () => running.kill('SIGKILL'),
      }
    }),
  )
}

/** Whether a member has learned the version of its cluster, without which Patroni ends when it starts. */
export const isReady = async ({ ports }: EtcdMember): Promise<boolean> => {
  const reply = await fetch(`${urlsOf(ports.slice(0, 1))}/version`).catch(() => undefined)
  return /"etcdcluster":"\d/.test((await reply?.text()) ?? '')
}

/** The member that the others follow. */
export const leaderOf = async (members: readonly EtcdMember[]): Promise<EtcdMember> => {
  for (const member of members) {
    const reply = await fetch(`${urlsOf(member.ports.slice(0, 1))}/metrics`)
    if (/^etcd_server_is_leader 1$/m.test(await reply.text())) return member
  }
  throw new Error('etcd has no leader')
}
