import { mkdtempSync, readFileSync } from 'node:fs'
import { chown, mkdir, rm, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { unprivileged } from '../../postgres/cluster.ts'
import { freePort } from '../../support/free-port.ts'
import { programOf } from '../../support/requirements.mjs'
import { type EtcdMember, isReady, startEtcd } from './etcd.ts'
import { type Running, run, signalAll, withDescendants } from './processes.ts'
import { PATRONI } from './programs.ts'

/** One PostgreSQL with its Patroni. */
export interface Node {
  readonly name: string
  /** Of PostgreSQL, of Patroni's API, and of each etcd for this node alone, so that it can be cut off. */
  readonly ports: { readonly postgres: number; readonly api: number; readonly etcd: readonly number[] }
  start(): void
  /** Patroni, PostgreSQL and all their processes. */
  processes(): number[]
}

/**
 * Three PostgreSQL servers under Patroni with three etcd servers, one of them the primary and one its
 * synchronous standby.
 */
export interface Fleet {
  readonly folder: string
  readonly nodes: readonly Node[]
  readonly etcd: readonly EtcdMember[]
  /** Names all hosts. */
  readonly url: string
  primary(): Promise<Node>
  switchover(): Promise<void>
  /** Resolves when there are a primary and two standbys, of which one is synchronous. */
  whole(): Promise<void>
  dispose(): Promise<void>
}

const TTL_SECONDS = 20
const NODES = ['one', 'two', 'three']

const settingsOf = (name: string, folder: string, ports: Node['ports']): string => `
scope: allot
name: ${name}
restapi: { listen: '127.0.0.1:${ports.api}', connect_address: '127.0.0.1:${ports.api}' }
etcd3: { hosts: [${ports.etcd.map((port) => `'127.0.0.1:${port}'`).join(', ')}], use_proxies: true }
bootstrap:
  dcs:
    ttl: ${TTL_SECONDS}
    loop_wait: 5
    retry_timeout: 5
    synchronous_mode: true
    postgresql: { use_pg_rewind: true, parameters: { max_connections: 200, wal_log_hints: 'on', fsync: 'on' } }
  initdb: [{ encoding: UTF8 }, { auth: trust }, no-locale]
postgresql:
  listen: '127.0.0.1:${ports.postgres}'
  connect_address: '127.0.0.1:${ports.postgres}'
  data_dir: '${join(folder, name, 'data')}'
  bin_dir: '${dirname(programOf('PostgreSQL') ?? '')}'
  pgpass: '${join(folder, name, 'pgpass')}'
  pg_hba: ['local all all trust', 'host all all 127.0.0.0/8 trust', 'host replication all 127.0.0.0/8 trust']
  parameters: { unix_socket_directories: '${join(folder, name)}' }
  authentication:
    superuser: { username: allot, password: allot }
    replication: { username: replicator, password: replicator }
    rewind: { username: allot, password: allot }
`

const createNode = async (name: string, folder: string, ports: Node['ports']): Promise<Node> => {
  const own = join(folder, name)
  const file = join(own, 'patroni.yml')
  await mkdir(own)
  await writeFile(file, settingsOf(name, folder, ports))
  const { uid, gid } = unprivileged()
  if (uid !== undefined) for (const path of [own, file]) await chown(path, uid, gid!)
  let patroni: Running | undefined
  return {
    name,
    ports,
    start() {
      patroni = run(PATRONI, [file], join(folder, `${name}.log`), own)
    },
    processes() {
      const pids = patroni === undefined ? [] : withDescendants(patroni.pid)
      try {
        // PostgreSQL goes on when its Patroni is killed.
        const [postmaster] = readFileSync(join(own, 'data', 'postmaster.pid'), 'utf8').split('\n')
        return [...new Set([...pids, ...withDescendants(Number(postmaster))])]
      } catch {
        return pids
      }
    },
  }
}

interface Member {
  name: string
  role: string
  state: string
}

/** The members as any Patroni that replies sees them. */
const membersOf = async (nodes: readonly Node[]): Promise<Member[]> => {
  for (const { ports } of nodes)
    try {
      const reply = await fetch(`http://127.0.0.1:${ports.api}/cluster`, {
        signal: AbortSignal.timeout(1000),
      })
      return ((await reply.json()) as { members?: Member[] }).members ?? []
    } catch {
      // This node is away: the next one knows as well.
    }
  return []
}

const until = async (what: string, isSo: () => Promise<boolean>, seconds = 180): Promise<void> => {
  const deadline = Date.now() + seconds * 1000
  while (!(await isSo())) {
    if (Date.now() > deadline) throw new Error(`${what} did not happen within ${seconds} s`)
    await setTimeout(500)
  }
}

export const startFleet = async (): Promise<Fleet> => {
  const folder = mkdtempSync('/tmp/allot-fleet-')
  const { uid, gid } = unprivileged()
  if (uid !== undefined) await chown(folder, uid, gid!)
  const etcd = await startEtcd(folder, NODES.length)
  const nodes: Node[] = []
  for (const [index, name] of NODES.entries()) {
    const own = etcd.map(({ ports }) => ports[index]!)
    const ports = { postgres: await freePort(), api: await freePort(), etcd: own }
    nodes.push(await createNode(name, folder, ports))
  }
  const hosts = nodes.map(({ ports }) => `127.0.0.1:${ports.postgres}`).join(',')
  const isRunning = ({ state }: Member) => state === 'running' || state === 'streaming'
  const isWhole = async () => {
    const members = (await membersOf(nodes)).filter(isRunning)
    const roles = members.map(({ role }) => role)
    return members.length === nodes.length && roles.includes('leader') && roles.includes('sync_standby')
  }
  const primary = async () => {
    const leader = (await membersOf(nodes)).find(({ role }) => role === 'leader')
    return nodes.find(({ name }) => name === leader?.name) ?? nodes[0]!
  }
  const fleet: Fleet = {
    folder,
    nodes,
    etcd,
    url: `postgres://allot@${hosts}/postgres?target_session_attrs=read-write`,
    primary,
    whole: () => until('a fleet of a primary and two standbys', isWhole),
    async switchover() {
      const members = await membersOf(nodes)
      const body = JSON.stringify({
        leader: members.find(({ role }) => role === 'leader')?.name,
        candidate: members.find(({ role }) => role === 'sync_standby')?.name,
      })
      const reply = await fetch(`http://127.0.0.1:${nodes[0]!.ports.api}/switchover`, {
        method: 'POST',
        body,
      })
      if (!reply.ok) throw new Error(`Patroni refused the switchover: ${await reply.text()}`)
    },
    async dispose() {
      for (const node of nodes) signalAll(node.processes(), 'SIGKILL')
      for (const member of etcd) await member.kill()
      await rm(folder, { recursive: true, force: true, maxRetries: 5 })
    },
  }
  try {
    for (const member of etcd) await until('a cluster of etcd servers', () => isReady(member))
    nodes[0]!.start()
    await until('the first primary', async () => (await membersOf(nodes)).some(isRunning))
    for (const node of nodes.slice(1)) node.start()
    await fleet.whole()
    return fleet
  } catch (error) {
    await fleet.dispose()
    throw error
  }
}
