import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { allot, begin, type Served, served, whenServing } from '../bin/program.ts'
import { freePort } from '../postgres/cluster.ts'
import { temporaryDirectory } from '../support/folder.ts'
import { Load, type Outcome, Probe, type Service } from './load.ts'
import type { Fleet } from './patroni.ts'
import { type Running, run } from './processes.ts'
import type { Strike, Target } from './strikes.ts'

/** Writing before the strike, and after the fleet is whole again. */
const CALM_MS = 5000

/** HAProxy in front of the fleet, which asks each Patroni whether its server is the primary. */
const startProxy = async ({ folder, nodes }: Fleet, port: number): Promise<Running> => {
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

/** Serves with two workers while clients write and read, strikes, and compares what is stored with what was acknowledged. */
export const runStrike = async (
  fleet: Fleet,
  { name, isProxied = false, run: strike }: Strike,
  data: string,
  token: string | undefined,
): Promise<{ outcome: Outcome; isClean: boolean; token: string }> => {
  const port = await freePort()
  let proxy = isProxied ? await startProxy(fleet, port) : undefined
  const url = isProxied ? `postgres://allot@127.0.0.1:${port}/postgres` : fleet.url
  const words = ['--workers', '2', '--storage', url, '--data', data]
  let server: Served = await served(words)
  try {
    const service: Service = { api: server.api, token: token ?? (await printedToken(server)) }
    const load = new Load(service, `strike-${Date.now()}`)
    await load.begin()
    const probe = new Probe(fleet)
    const target: Target = {
      fleet,
      server,
      proxy,
      async restartServer() {
        server = await servedAgain(words, server)
      },
      async restartProxy() {
        await proxy!.kill()
        proxy = await startProxy(fleet, port)
      },
    }
    await setTimeout(CALM_MS)
    load.strike()
    probe.strike()
    await strike(target)
    await setTimeout(CALM_MS)
    await fleet.whole()
    await setTimeout(CALM_MS)
    const databaseAway = await probe.end()
    const outcome = { ...(await load.end()), databaseAway }
    const verified = await allot(['verify', '--storage', url, '--data', data])
    writeFileSync(join(fleet.folder, `${name.replaceAll(/\W+/g, '-')}.log`), server.printed())
    return { outcome, isClean: verified.code === 0, token: service.token }
  } finally {
    await server.stop()
    await proxy?.kill()
  }
}

const printedToken = async (server: Served): Promise<string> => {
  for (let attempt = 0; attempt < 100; attempt++) {
    const [, token] = /^ {2}([0-9a-f]{40})$/m.exec(server.printed()) ?? []
    if (token !== undefined) return token
    await setTimeout(100)
  }
  throw new Error(`the server printed no token: ${server.printed()}`)
}

/** At the same port, which the workers of the killed server may hold for a moment. */
const servedAgain = async (words: readonly string[], { api }: Served): Promise<Served> => {
  const { port } = new URL(api)
  for (let attempt = 1; ; attempt++)
    try {
      return await whenServing(begin(['serve', '--port', port, ...words]))
    } catch (error) {
      if (attempt === 20) throw error
      await setTimeout(250)
    }
}

export const emptyDataFolder = (): string => temporaryDirectory()
