import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { allot, begin, type Served, served, whenServing } from '../../bin/program.ts'
import { temporaryDirectory } from '../../support/folder.ts'
import { Load, type Outcome, Probe, type Service } from './load.ts'
import type { Fleet } from './patroni.ts'
import { startProxies } from './proxies.ts'
import type { Strike, Target } from './strikes.ts'

/** Writing before the strike, and after the fleet is whole again. */
const CALM_MS = 5000

/**
 * Serves with two workers while clients write and read, strikes, and compares what is stored with what was
 * acknowledged.
 */
export const runStrike = async (
  fleet: Fleet,
  { name, through, run: strike }: Strike,
  data: string,
  token: string | undefined,
): Promise<{ outcome: Outcome; isClean: boolean; token: string }> => {
  const way = await startProxies(fleet, through)
  const { url } = way
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
      async restartServer() {
        server = await servedAgain(words, server)
      },
      restartProxy: way.restart,
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
    await way.stop()
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
