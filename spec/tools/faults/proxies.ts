import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { freePort } from '../../support/free-port.ts'
import type { Fleet } from './patroni.ts'
import { type Running, run } from './processes.ts'
import type { Strike } from './strikes.ts'

/** HAProxy in front of the fleet, which asks each Patroni whether its server is the primary. */
const startHaproxy = async ({ folder, nodes }: Fleet, port: number): Promise<Running> => {
  const servers = nodes.map(
    ({ name, ports }) => `  server ${name} 127.0.0.1:${ports.postgres} check port ${ports.api}`,
  )
  const text = `defaults
  mode tcp
  timeout connect 2s
  timeout client 30m
  timeout server 30m
  timeout check 2s
listen postgres
  bind 127.0.0.1:${port}
  option httpchk OPTIONS /primary
  http-check expect status 200
  default-server inter 1s fall 2 rise 1 on-marked-down shutdown-sessions
${servers.join('\n')}
`
  const file = join(folder, 'haproxy.cfg')
  writeFileSync(file, text)
  const proxy = run('haproxy', ['-db', '-f', file], join(folder, 'haproxy.log'), folder)
  await setTimeout(3000)
  return proxy
}

/**
 * PgBouncer in front of HAProxy, with its defaults but for a pool that has room for the connections of all
 * workers, and for its pause of 15 s after a server could not be reached.
 */
const startPgbouncer = async ({ folder }: Fleet, port: number, haproxy: number): Promise<Running> => {
  const text = `[databases]
postgres = host=127.0.0.1 port=${haproxy} dbname=postgres user=allot
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${port}
unix_socket_dir =
auth_type = any
default_pool_size = 50
server_login_retry = 1
`
  const file = join(folder, 'pgbouncer.ini')
  writeFileSync(file, text)
  const pooler = run('pgbouncer', [file], join(folder, 'pgbouncer.log'), folder)
  await setTimeout(1000)
  return pooler
}

/** The way from Allot to the fleet. */
export interface Proxies {
  readonly url: string
  /** Restarts what Allot connects to. */
  restart(): Promise<void>
  stop(): Promise<void>
}

export const startProxies = async (fleet: Fleet, through: Strike['through']): Promise<Proxies> => {
  if (through === undefined)
    return { url: fleet.url, restart: async () => undefined, stop: async () => undefined }
  const [haproxyPort, poolerPort] = [await freePort(), await freePort()]
  const isPooled = through === 'PgBouncer'
  let haproxy = await startHaproxy(fleet, haproxyPort)
  let pooler = isPooled ? await startPgbouncer(fleet, poolerPort, haproxyPort) : undefined
  return {
    url: `postgres://allot@127.0.0.1:${isPooled ? poolerPort : haproxyPort}/postgres`,
    async restart() {
      await (pooler ?? haproxy).kill()
      if (isPooled) pooler = await startPgbouncer(fleet, poolerPort, haproxyPort)
      else haproxy = await startHaproxy(fleet, haproxyPort)
    },
    async stop() {
      await pooler?.kill()
      await haproxy.kill()
    },
  }
}
