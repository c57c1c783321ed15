import type { RequestListener, Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { pino } from 'pino'
import type { Allot } from '../../lib/allot.ts'
import { createLimitedServer } from '../../lib/server.ts'
import { VERSION } from '../../lib/version.ts'
import { limitsIn } from '../config.ts'
import { farewell } from '../farewell.ts'
import { open, type StoreFlags } from '../open.ts'
import { withProbes } from '../probes.ts'
import { Usage } from '../usage.ts'

interface Flags extends StoreFlags {
  port?: string
  host?: string
}

export const serve = async ({ port, host, ...store }: Flags): Promise<void> => {
  const wanted = port === undefined ? undefined : portIn(port)
  const { allot, config, data } = await open(store, pino(pino.destination(2)))
  const listener = config.server.page ? withPages(allot) : allot.handler
  const server = createLimitedServer(withProbes(allot, listener), limitsIn(config))
  const stop = farewell(server, () => allot.close())
  try {
    await listen(server, wanted ?? config.server.port, host ?? config.server.host)
    const url = `${urlOf(server)}${config.api.basePath}`
    process.stdout.write(`Allot ${VERSION} serves ${url} with its data in ${data}\n`)
    await welcome(allot, url)
  } catch (error) {
    await stop()
    throw error
  }
  await stopSignal()
  await stop()
}

const withPages =
  ({ page, handler }: Allot): RequestListener =>
  (req, res) =>
    page(req, res, () => handler(req, res))

const portIn = (text: string): number => {
  const port = Number(text)
  if (!/^\d+$/.test(text) || port > 65_535)
    throw new Usage(`--port ${text}: expected a number from 0 to 65535`)
  return port
}

const listen = (server: Server, port: number, host: string): Promise<void> =>
  new Promise((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) =>
      reject(
        error.code === 'EADDRINUSE'
          ? new Error(`port ${port} of ${host} is in use: choose another with --port, or 0 for any free one`)
          : error,
      ),
    )
    server.listen(port, host, resolve)
  })

const urlOf = (server: Server): string => {
  const { address, port, family } = server.address() as AddressInfo
  return `http://${family === 'IPv6' ? `[${address}]` : address}:${port}`
}

/** "On an empty store it creates the administrator `root`, prints its token once, and a `curl` line that works." */
const welcome = async ({ hosting }: Allot, url: string): Promise<void> => {
  const users = await hosting.accounts.count('user')
  const root = users === 0 ? await firstUser(hosting) : users === 1 ? await keyless(hosting) : undefined
  if (root === undefined) return
  const { secret } = await hosting.tokens.create(root.id, 'first run', ['all'])
  process.stdout.write(`
There is now an administrator named root. This token is shown once; keep it:

  ${secret}

Try it:

  curl -H 'Authorization: token ${secret}' ${url}/user

`)
}

/** The first user, if a kill at the first start has left it without its token and so without any way in. */
const keyless = async ({ accounts, tokens }: Allot['hosting']) => {
  const root = await accounts.byName('root')
  if (root?.admin !== true || root.password !== null) return undefined
  const { total } = await tokens.list(root.id, { offset: 0, limit: 1 })
  return total === 0 ? root : undefined
}

/** Of several servers that find a store empty at once one makes the user. */
const firstUser = async ({ accounts }: Allot['hosting']) => {
  try {
    return await accounts.createUser({ name: 'root', admin: true })
  } catch (error) {
    if ((await accounts.count('user')) > 0) return undefined
    throw error
  }
}

const stopSignal = (): Promise<void> =>
  new Promise((resolve) => {
    for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, () => resolve())
  })
