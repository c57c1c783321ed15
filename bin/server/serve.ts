import type { RequestListener, Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type Logger, pino } from 'pino'
import type { OpenAllot } from '../../lib/allot.ts'
import { AllotError } from '../../lib/errors.ts'
import { importWith } from '../../lib/optional-package.ts'
import { createLimitedServer } from '../../lib/server.ts'
import { VERSION } from '../../lib/version.ts'
import { type Config, limitsIn, readConfig } from '../config/config.ts'
import { isPostgres, openStore, type StoreFlags, storeLocation } from '../config/store.ts'
import { UsageError } from '../errors.ts'
import { print, printNote } from '../terminal.ts'
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
    // Only one of several workers creates the administrator. It listens by now, so the token cannot be lost.
    const token = worker === undefined || worker === 1 ? await setUpStore(allot) : undefined
    if (worker === undefined) printStarted(started)
    if (token !== undefined) printToken(token, started.url, config.server.pages ? `${origin}/` : undefined)
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

/** Creates the administrator `root` in a new store. @returns the first token, once */
const setUpStore = async ({ hosting, setUp }: OpenAllot): Promise<string | undefined> => {
  // A store with several users is in use, and its operator has decided who administrates it.
  if ((await hosting.accounts.count('user')) > 1) return undefined
  try {
    return (await setUp({ admin: 'root' })).token
  } catch (error) {
    if (!(error instanceof AllotError) || error.code !== 'conflict') throw error
    printNote(error.message)
    return undefined
  }
}

/**
 * Prints the token with a `curl` command that uses it.
 * @param page address of the web pages; undefined when they are turned off
 */
const printToken = (token: string, api: string, page: string | undefined): void => {
  const signIn = page === undefined ? '' : `\nor sign in with it at ${page}\n`
  print(`
There is now an administrator named root. This token is shown once; keep it:

  ${token}

Try it:

  curl -H 'Authorization: token ${token}' ${api}/user
${signIn}`)
}
