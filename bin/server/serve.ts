import { createServer, type RequestListener, type Server } from 'node:http'
import { Server as HttpsServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { promisify } from 'node:util'
import { OPERATOR } from '../../lib/accounts/access.ts'
import type { OpenAllot } from '../../lib/allot.ts'
import { orClose } from '../../lib/engine.ts'
import { AllotError } from '../../lib/errors.ts'
import { importWith } from '../../lib/optional-package.ts'
import { createLimitedServer } from '../../lib/server.ts'
import { loadSsh2 } from '../../lib/ssh/library.ts'
import { VERSION } from '../../lib/version.ts'
import { ADDRESS, type Config, limitsIn } from '../config/config.ts'
import { sharedForms } from '../config/drivers.ts'
import {
  chosenDriver,
  openAllotAt,
  recordsFolder,
  type StoreFlags,
  type StoreLocation,
  storeExists,
  storeLocation,
} from '../config/store.ts'
import { UsageError } from '../errors.ts'
import { print, printNote } from '../terminal.ts'
import { gitVersion } from './git-version.ts'
import {
  belowPathOf,
  inUrl,
  listen,
  redirectToHttps,
  withHealthChecks,
  withRequestLog,
  withStrictTransport,
} from './listeners.ts'
import { ServerLog } from './log.ts'
import { gracefulShutdown } from './shutdown.ts'
import { commandLogger, listenForSsh } from './ssh.ts'
import { ReloadedTls, tlsFilesOf } from './tls.ts'
import {
  disconnectWorker,
  notifyStarted,
  sharedPort,
  signalWorkers,
  superviseWorkers,
  type WorkerStarted,
  workerNumber,
} from './workers.ts'

/** Options of `[server]` that the command line also has; they take precedence over the configuration file. */
export type ServerFlags = StoreFlags &
  Partial<Pick<Config['server'], 'host' | 'port' | 'tlsCertificate' | 'tlsKey' | 'redirectPort'>> & {
    sshPort?: number
  }

/**
 * Runs the server until SIGTERM or SIGINT. With `workers`, this process supervises that many processes, in
 * each of which this function runs again.
 */
export const serve = async (flags: ServerFlags, workers?: number): Promise<void> => {
  const location = storeLocation(flags)
  const { config: _, sshPort, ...settings } = flags
  // A flag of another section that is not taken out above does not compile.
  settings satisfies Record<Exclude<keyof typeof settings, keyof StoreFlags | keyof Config['server']>, never>
  if (settings.host === '') throw new UsageError(`--host: expected ${ADDRESS}`)
  location.config.server = { ...location.config.server, ...settings }
  if (sshPort !== undefined) location.config.ssh = { ...location.config.ssh, port: sshPort }
  const worker = workerNumber()
  const log = new ServerLog(worker === undefined ? {} : { worker })
  const isSupervisor = worker === undefined && workers !== undefined && needsWorkers(workers, location)
  if (isSupervisor) return supervise(workers, location, log)
  await serveHere(location, log).finally(disconnectWorker)
}

/** @throws UsageError when several processes cannot share the store */
const needsWorkers = (count: number, location: StoreLocation): boolean => {
  const { isShared, title } = chosenDriver(location)
  if (isShared) return true
  if (count === 1) return false
  throw new UsageError(
    `--workers ${count}: ${title} belongs to one process; several processes need a shared database: --storage ${sharedForms()}`,
  )
}

/** The workers serve; this process redirects to https, which needs no store. */
const supervise = async (count: number, { config }: StoreLocation, log: ServerLog): Promise<void> => {
  if (config.server.metrics !== 'off') (await loadMetrics()).aggregateWorkers()
  const tls = tlsOf(config, log)
  let redirect: Redirect | undefined
  const onStarted = async (started: WorkerStarted) => {
    // A worker that is still starting ends by the signal, and its successor reads the new files.
    tls?.onReload(() => signalWorkers('SIGHUP'))
    redirect = await startRedirect(config, started.url)
    printStarted(started, redirect, `, by ${count} workers`)
  }
  const stopped = stopSignal()
  const port = config.server.port || (await tryPort(config.server.host, 0))
  const hasStarted = await superviseWorkers(count, { log, port, onStarted, stopped })
  await redirect?.stop()
  // The worker that could not start has printed why.
  if (!hasStarted) process.exitCode = 1
}

const tlsOf = ({ server }: Config, log: ServerLog): ReloadedTls | undefined => {
  const files = tlsFilesOf(server)
  return files && new ReloadedTls(files, log)
}

const printStarted = (
  { url, data, sshUrl }: WorkerStarted,
  redirect: Redirect | undefined,
  suffix = '',
): void => {
  const overSsh = sshUrl === undefined ? '' : `, git over SSH at ${sshUrl}`
  const redirected = redirect === undefined ? '' : `, redirects ${redirect.url} to it`
  print(`Allot ${VERSION} serves ${url} with its data in ${data}${suffix}${redirected}${overSsh}`)
}

const serveHere = async (location: StoreLocation, log: ServerLog): Promise<void> => {
  const { server: settings, api } = location.config
  const tls = tlsOf(location.config, log)
  await checkBeforeStart(location)
  const { allot, config, data } = await openAllotAt(location, {
    log,
    isServer: true,
  })
  const server = await orClose(allot, createHttpServer(allot, config, log, tls))
  const stop = gracefulShutdown(server, () => allot.close())
  const worker = workerNumber()
  let redirect: Redirect | undefined
  let ssh: Awaited<ReturnType<typeof listenForSsh>>
  try {
    await listen(server, sharedPort() ?? settings.port, settings.host, portAdvice('--port'))
    const origin = originOf(server)
    const baseUrl = config.api.baseUrl ?? origin
    const onCommand = settings.log === 'requests' ? commandLogger(log) : undefined
    ssh = await listenForSsh(allot, config, { baseUrl, ...(onCommand && { onCommand }) })
    const started = { url: origin + api.basePath, data, ...(ssh && { sshUrl: ssh.url }) }
    if (worker === undefined) redirect = await startRedirect(config, started.url)
    // Only one of several workers creates the administrator. It listens by now, so the token cannot be lost.
    const token = worker === undefined || worker === 1 ? await setUpStore(allot) : undefined
    // A reader of the line that it serves may send the signal at once.
    const stopped = stopSignal()
    if (worker === undefined) printStarted(started, redirect)
    if (token !== undefined) printToken(token, config, origin)
    notifyStarted(started)
    await stopped
  } finally {
    await Promise.all([stop(), redirect?.stop(), ssh?.stop()])
  }
}

/** Refuses a start that would fail, before it creates a store. */
const checkBeforeStart = async (location: StoreLocation): Promise<void> => {
  const { config } = location
  await gitVersion(config)
  if (config.repositories !== false && config.ssh.port !== undefined) await loadSsh2()
  const folder = recordsFolder(location)
  if (folder !== undefined && !storeExists(folder)) await tryPort(config.server.host, config.server.port)
}

const createHttpServer = async (
  allot: OpenAllot,
  config: Config,
  log: ServerLog,
  tls: ReloadedTls | undefined,
): Promise<Server> => {
  const listener = await createListener(allot, config, log)
  const limits = limitsIn(config)
  return tls === undefined ? createLimitedServer(listener, limits) : tls.createServer(listener, limits)
}

interface Redirect {
  url: string
  stop(): Promise<void>
}

/** @param httpsUrl where the server listens */
const startRedirect = async (config: Config, httpsUrl: string): Promise<Redirect | undefined> => {
  const { host, redirectPort } = config.server
  if (redirectPort === undefined) return undefined
  const redirect = redirectToHttps(config.api.baseUrl, new URL(httpsUrl).port)
  const server = createLimitedServer(redirect, limitsIn(config))
  const stop = gracefulShutdown(server, async () => undefined)
  await listen(server, redirectPort, host, portAdvice('--redirect-port'))
  return { url: originOf(server), stop }
}

/** Called only when metrics are on: their modules take a while to load. */
const loadMetrics = () => importWith('prom-client', 'metrics', () => import('../metrics/index.ts'))

const createListener = async (
  allot: OpenAllot,
  { server, api }: Config,
  log: ServerLog,
): Promise<RequestListener> => {
  let listener = withHealthChecks(allot, allot.listener(server.pages ? { pages: '/' } : {}))
  if (server.metrics !== 'off') {
    const { measureListener } = await loadMetrics()
    listener = await measureListener(allot, listener, { readers: server.metrics, log })
  }
  if (server.hsts) listener = withStrictTransport(listener)
  if (server.log === 'requests') listener = withRequestLog(log, api.trustedProxies, listener)
  return belowPathOf(api.baseUrl, listener)
}

const portAdvice = (option: string): string => `choose another with ${option}, or 0 for a free port`

/**
 * Listens on a port for a moment.
 * @param wanted 0 picks a free port
 * @returns the port
 * @throws Error when the port or the host cannot be used
 */
const tryPort = async (host: string, wanted: number): Promise<number> => {
  const server = createServer()
  await listen(server, wanted, host, portAdvice('--port'))
  const { port } = server.address() as AddressInfo
  await promisify(server.close.bind(server))()
  return port
}

const originOf = (server: Server): string => {
  const { address, port } = server.address() as AddressInfo
  const scheme = server instanceof HttpsServer ? 'https' : 'http'
  return `${scheme}://${inUrl(address)}:${port}`
}

const stopSignal = (): Promise<void> =>
  new Promise((resolve) => {
    for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, () => resolve())
  })

/**
 * Creates the administrator `root` in a new store.
 * @returns the first token, once
 */
const setUpStore = async ({ hosting }: OpenAllot): Promise<string | undefined> => {
  // A store with several users is in use, and its operator has decided who administrates it.
  if ((await hosting.accounts.count('user')) > 1) return undefined
  try {
    return (await hosting.setUp.run({ admin: 'root' }, OPERATOR)).token
  } catch (error) {
    if (!(error instanceof AllotError) || error.code !== 'conflict') throw error
    printNote(error.message)
    return undefined
  }
}

/**
 * Prints the token with a `curl` command that uses it. With https it names the public URL: the certificate is
 * for that name, and not for the address that the server listens on. The pages take forms and keep cookies at
 * the public URL only.
 */
const printToken = (token: string, { server, api }: Config, origin: string): void => {
  const { baseUrl = origin } = api
  const base = server.tlsCertificate === undefined ? origin : baseUrl
  const signIn = server.pages ? `\nor sign in with it at ${baseUrl}/\n` : ''
  print(`
There is now an administrator named root. This token is shown once; keep it:

  ${token}

Try it:

  curl -H 'Authorization: token ${token}' ${base + api.basePath}/user
${signIn}`)
}
