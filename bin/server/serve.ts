import type { RequestListener, Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type Logger, pino } from 'pino'
import type { Allot } from '../../lib/allot.ts'
import { createLimitedServer } from '../../lib/server.ts'
import { VERSION } from '../../lib/version.ts'
import { type Config, limitsIn, readConfig } from '../config/config.ts'
import type { Metrics } from '../metrics/index.ts'
import { open, type StoreFlags } from '../open.ts'
import { UsageError } from '../usage-error.ts'
import { withHealthChecks } from './health.ts'
import { withRequestLog } from './request-log.ts'
import { gracefulShutdown } from './shutdown.ts'
import {
  disconnectWorker,
  notifyStarted,
  parseWorkers,
  sharedPort,
  superviseWorkers,
  type WorkerStarted,
  workerNumber,
} from './workers.ts'

interface Flags extends StoreFlags {
  port?: string
  host?: string
  workers?: string
}

export const serve = async ({ workers, ...flags }: Flags): Promise<void> => {
  const wanted = flags.port === undefined ? undefined : portIn(flags.port)
  const worker = workerNumber()
  const count = parseWorkers(workers, flags)
  const log = pino(pino.destination(2))
  if (worker === undefined && count !== undefined) return supervise(count, flags, log)
  await serveHere(flags, wanted, worker === undefined ? log : log.child({ worker })).finally(disconnectWorker)
}

/** Workers do what this command does without any. */
const supervise = async (count: number, flags: StoreFlags, log: Logger): Promise<void> => {
  const { metrics } = readConfig(flags.config).server
  if (metrics !== 'off') (await import('../metrics/worker-metrics.ts')).aggregateWorkers()
  const stopped = stopSignal()
  const kept = await superviseWorkers(count, log)
  // What was wrong the worker has said.
  if (kept === undefined) {
    process.exitCode = 1
    return
  }
  greet(kept.serving, `, by ${count} workers`)
  await stopped
  await kept.stop()
}

const greet = ({ url, data }: WorkerStarted, how = ''): void =>
  void process.stdout.write(`Allot ${VERSION} serves ${url} with its data in ${data}${how}\n`)

const serveHere = async (
  { port: _, host, ...store }: Flags,
  wanted: number | undefined,
  log: Logger,
): Promise<void> => {
  let metrics: Metrics | undefined
  const { allot, config, data } = await open(store, {
    log,
    async around(driver, config) {
      metrics = await metricsIn(config)
      return metrics === undefined ? driver : metrics.driver(driver)
    },
  })
  let listener = withHealthChecks(allot, config.server.page ? withPages(allot) : allot.handler)
  if (metrics !== undefined) listener = metrics.listener(allot, listener)
  if (config.server.log === 'requests') listener = withRequestLog(log, listener)
  const server = createLimitedServer(listener, limitsIn(config))
  const stop = gracefulShutdown(server, () => allot.close())
  try {
    await listen(server, sharedPort() ?? wanted ?? config.server.port, host ?? config.server.host)
    const url = `${urlOf(server)}${config.api.basePath}`
    if (workerNumber() === undefined) greet({ url, data })
    // One of several that begin at once makes the administrator, and that is not one that others have died before.
    if ((workerNumber() ?? 1) === 1)
      await welcome(allot, url, config.server.page ? `${urlOf(server)}/` : undefined)
    notifyStarted({ url, data })
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

/** Nothing is loaded, and nothing stands around anything, where nobody may read them. */
const metricsIn = async ({ server, api }: Config): Promise<Metrics | undefined> =>
  server.metrics === 'off'
    ? undefined
    : (await import('../metrics/index.ts')).createMetrics(server.metrics, api.basePath)

const portIn = (text: string): number => {
  const port = Number(text)
  if (!/^\d+$/.test(text) || port > 65_535)
    throw new UsageError(`--port ${text}: expected a number from 0 to 65535`)
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
const welcome = async ({ hosting }: Allot, url: string, page: string | undefined): Promise<void> => {
  const users = await hosting.accounts.count('user')
  const root = users === 0 ? await firstUser(hosting) : users === 1 ? await keyless(hosting) : undefined
  if (root === undefined) return
  const { secret } = await hosting.tokens.create(root.id, 'first run', ['all'])
  process.stdout.write(`
There is now an administrator named root. This token is shown once; keep it:

  ${secret}

Try it:

  curl -H 'Authorization: token ${secret}' ${url}/user
${page === undefined ? '' : `\nor sign in with it at ${page}\n`}
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
