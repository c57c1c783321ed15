import type { RequestListener, Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type Logger, pino } from 'pino'
import type { OpenAllot } from '../../lib/allot.ts'
import { importWith } from '../../lib/optional-package.ts'
import { createLimitedServer } from '../../lib/server.ts'
import { VERSION } from '../../lib/version.ts'
import { type Config, limitsIn, readConfig } from '../config/config.ts'
import { isPostgres, openStore, type StoreFlags, storeLocation } from '../config/store.ts'
import { UsageError } from '../errors.ts'
import { print } from '../terminal.ts'
import { withHealthChecks, withRequestLog } from './listeners.ts'
import { gracefulShutdown } from './shutdown.ts'
import {
  disconnectWorker,
  notifyStarted,
  sharedPort,
  superviseWorkers,
  type WorkerStarted,
  workerNumber,
} from './workers.ts'

/** What `--host` and `--port` say; the configuration decides what is absent. */
interface Address {
  host: string | undefined
  port: number | undefined
}

/**
 * Runs the server until SIGTERM or SIGINT. With `workers`, this process supervises that many processes, in each of which
 * this function runs again.
 */
export const serve = async (store: StoreFlags, address: Address, workers?: number): Promise<void> => {
  const worker = workerNumber()
  const log = pino(pino.destination(2))
  const isSupervisor = worker === undefined && workers !== undefined && needsWorkers(workers, store)
  if (isSupervisor) return supervise(workers, store, log)
  await serveHere(store, address, worker === undefined ? log : log.child({ worker })).finally(
    disconnectWorker,
  )
}

/** @throws UsageError when several processes cannot share the store */
const needsWorkers = (count: number, flags: StoreFlags): boolean => {
  const { storage } = storeLocation(flags)
  if (isPostgres(storage)) return true
  if (count === 1) return false
  const driver = storage === 'memory:' ? 'a store in memory' : 'LevelDB'
  throw new UsageError(
    `--workers ${count}: ${driver} belongs to one process; several processes need a shared database: --storage postgres://…`,
  )
}

const supervise = async (count: number, flags: StoreFlags, log: Logger): Promise<void> => {
  const { metrics } = readConfig(flags.config).server
  if (metrics !== 'off') (await loadMetrics()).aggregateWorkers()
  const onStarted = (started: WorkerStarted) => printStarted(started, `, by ${count} workers`)
  const hasStarted = await superviseWorkers(count, { log, onStarted, stopped: stopSignal() })
  // The worker that could not start has printed why.
  if (!hasStarted) process.exitCode = 1
}

const printStarted = ({ url, data }: WorkerStarted, suffix = ''): void =>
  void process.stdout.write(`Allot ${VERSION} serves ${url} with its data in ${data}${suffix}\n`)

const serveHere = async (store: StoreFlags, { host, port }: Address, log: Logger): Promise<void> => {
  const { allot, config, data } = await openStore(store, {
    log,
    wrapDriver: async (driver, { server }) =>
      server.metrics === 'off' ? driver : (await loadMetrics()).measureDriver(driver),
  })
  const server = createLimitedServer(await createListener(allot, config, log), limitsIn(config))
  const stop = gracefulShutdown(server, () => allot.close())
  const worker = workerNumber()
  try {
    await listen(server, sharedPort() ?? port ?? config.server.port, host ?? config.server.host)
    const origin = originOf(server)
    const started = { url: origin + config.api.basePath, data }
    if (worker === undefined) printStarted(started)
    // Only one of several workers creates the administrator.
    if (worker === undefined || worker === 1)
      await prepareFirstUser(allot, started.url, config.server.pages ? `${origin}/` : undefined)
    notifyStarted(started)
  } catch (error) {
    await stop()
    throw error
  }
  await stopSignal()
  await stop()
}

/** Called only when metrics are on: their modules take a while to load. */
const loadMetrics = () => importWith('prom-client', 'metrics', () => import('../metrics/index.ts'))

const createListener = async (
  allot: OpenAllot,
  { server, api }: Config,
  log: Logger,
): Promise<RequestListener> => {
  const { pages, handler } = allot
  const withPages: RequestListener = (req, res) => pages(req, res, () => handler(req, res))
  let listener = withHealthChecks(allot, server.pages ? withPages : handler)
  if (server.metrics !== 'off') {
    const { measureListener } = await loadMetrics()
    listener = measureListener(allot, listener, { readers: server.metrics, basePath: api.basePath })
  }
  return server.log === 'requests' ? withRequestLog(log, listener) : listener
}

const listen = (server: Server, port: number, host: string): Promise<void> =>
  new Promise((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) =>
      reject(
        error.code === 'EADDRINUSE'
          ? new Error(`port ${port} of ${host} is in use: choose another with --port, or 0 for a free port`)
          : error,
      ),
    )
    server.listen(port, host, resolve)
  })

const originOf = (server: Server): string => {
  const { address, port, family } = server.address() as AddressInfo
  return `http://${family === 'IPv6' ? `[${address}]` : address}:${port}`
}

const stopSignal = (): Promise<void> =>
  new Promise((resolve) => {
    for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, () => resolve())
  })

type Hosting = OpenAllot['hosting']

/**
 * Creates the administrator `root` in an empty store, and prints its first token once with a `curl` command that uses it.
 * @param page address of the web pages; undefined when they are turned off
 */
const prepareFirstUser = async (
  { hosting }: OpenAllot,
  api: string,
  page: string | undefined,
): Promise<void> => {
  const users = await hosting.accounts.count('user')
  if (users > 1) return
  const root = users === 0 ? await createRoot(hosting) : await rootWithoutToken(hosting)
  if (root === undefined) return
  const { secret } = await hosting.tokens.create(root.id, 'first run', ['all'])
  const signIn = page === undefined ? '' : `\nor sign in with it at ${page}\n`
  print(`
There is now an administrator named root. This token is shown once; keep it:

  ${secret}

Try it:

  curl -H 'Authorization: token ${secret}' ${api}/user
${signIn}`)
}

/** @returns undefined when another process, which found the same store empty, created it first */
const createRoot = async ({ accounts }: Hosting) => {
  try {
    return await accounts.createUser({ name: 'root', admin: true })
  } catch (error) {
    if ((await accounts.count('user')) > 0) return undefined
    throw error
  }
}

/** The only user, if the first start was killed before it created the token: there is no other way to sign in. */
const rootWithoutToken = async ({ accounts, tokens }: Hosting) => {
  const root = await accounts.byName('root')
  if (root?.admin !== true || root.password !== null) return undefined
  const { total } = await tokens.list(root.id, { offset: 0, limit: 1 })
  return total === 0 ? root : undefined
}
