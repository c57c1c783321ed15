import type { Socket } from 'node:net'
import { type Accounts, accountOwners } from './accounts/accounts.ts'
import type { Tokens } from './accounts/credentials.ts'
import type { GpgKeys, SshKeys } from './accounts/keys.ts'
import type { Organizations } from './accounts/organizations.ts'
import type { SetUpOptions, SetUpResult } from './accounts/set-up.ts'
import { movedPath } from './api/former-names.ts'
import type { Services } from './api/route.ts'
import { eventPresenter } from './api/webhooks/payloads.ts'
import { addCommits } from './api/webhooks/push-commits.ts'
import type { Attachments } from './content/attachments.ts'
import type { Comments } from './content/comments.ts'
import type { Issues } from './content/issues.ts'
import type { Packages } from './content/packages/index.ts'
import type { Releases } from './content/releases.ts'
import { locate, openDiskStorage } from './data-folder.ts'
import { type ExpectedOwners, openStore, orClose } from './engine.ts'
import { AllotError } from './errors.ts'
import type { LastLine, OnProgress, Write } from './exports/format.ts'
import { FileStorage } from './files/index.ts'
import { GitStorage } from './git/index.ts'
import { HtmlUrls } from './host-pages/html-urls.ts'
import { SshUrls } from './host-pages/ssh-urls.ts'
import { namingCallers } from './hosting/caller-stack.ts'
import type { Hosting } from './hosting/create.ts'
import { type App, closeServices, startBackground, wire } from './hosting/wire.ts'
import { type FetchOptions, fetchOf, type Listener, type MountOptions, mountListener } from './http/index.ts'
import { createHostQuota, type HostQuota } from './in-process-quota.ts'
import { createApiListener } from './listeners.ts'
import type { MetricsRegistry } from './metrics/types.ts'
import { importWith } from './optional-package.ts'
import type { AllotOptions, DataPlace } from './options/index.ts'
import { createLedgerByName } from './repositories/ledger/ledger-by-name.ts'
import type { Ledger } from './repositories/ledger/ledger-types.ts'
import type { Relations } from './repositories/relations.ts'
import type { Repositories } from './repositories/repositories.ts'
import type { SshConnectionOptions, SshServer } from './ssh/types.ts'
import { observedDriver, writableCheck } from './storage/index.ts'
import type { Verification } from './verify.ts'
import { createLazyPages } from './web/index.ts'
import type { HostEvents } from './webhooks/events.ts'

/** A running Allot, to mount in any Node server. */
export interface Allot {
  /** The API and git, as a node:http listener that also fits Express and Connect. */
  readonly handler: Listener
  /**
   * The web pages, as such a listener: at the root of a server of their own, or wherever the host mounts them
   * (`app.use('/storage', allot.pages)`). Calls `next` for paths that are not pages.
   */
  readonly pages: Listener
  /**
   * `handler` and `pages` in one listener, for hosts without mount paths:
   * `createServer(allot.listener({ pages: '/storage' }))`.
   * @throws AllotError invalid for a path that is not a plain path
   */
  listener(mount: MountOptions): Listener
  /**
   * Serves like `listener`, for hosts that answer a Request with a Response:
   * `allot.fetch(request, { pages: '/storage' })`.
   * @throws AllotError invalid for a path that is not plain; misconfigured when the body was read
   */
  fetch(request: Request, options?: FetchOptions): Promise<Response>
  /**
   * Serves git over SSH on a connection: `net.createServer((socket) => allot.ssh(socket)).listen(2222)`.
   * Needs the option `ssh.port`.
   * @throws AllotError misconfigured while git over SSH is off, and when the host stores repositories itself
   */
  ssh(socket: Socket, options?: SshConnectionOptions): void
  /**
   * Gives a store without an administrator its first one. Call it at each start: of all calls, in all
   * processes, one creates the account and returns its token, and the others change nothing. An administrator
   * with this name who is the only user, and has neither a password nor a token, gets a token again.
   * @returns the token, which cannot be shown again; undefined when there was nothing to do
   * @throws AllotError invalid for a malformed name; conflict when its account is not an administrator
   * @example
   * const { token } = await allot.setUp({ admin: 'root' })
   * if (token !== undefined) console.log(`Authorization: token ${token}`)
   */
  setUp(options: SetUpOptions): Promise<SetUpResult>
  /** Records usage from the host's own code. Each call is atomic, and durable when its promise resolves. */
  readonly ledger: Ledger
  /** The quota API, in process. */
  readonly quota: HostQuota
  /** Users and organizations, by id and by name. */
  readonly accounts: Accounts
  /** Organizations and their members. */
  readonly organizations: Organizations
  /** Access tokens of users. */
  readonly tokens: Tokens
  /** SSH keys of users. */
  readonly sshKeys: SshKeys
  /** GPG keys of users. */
  readonly gpgKeys: GpgKeys
  /** Repositories of users and organizations. */
  readonly repositories: Repositories
  /** Stars, watches and follows. */
  readonly relations: Relations
  /** Issues of repositories. */
  readonly issues: Issues
  /** Comments on issues. */
  readonly comments: Comments
  /** Releases of repositories. */
  readonly releases: Releases
  /** Files of issues, comments and releases. */
  readonly attachments: Attachments
  /** Packages of users and organizations. */
  readonly packages: Packages
  /**
   * Calls the listener with each event of webhooks, once its change is durable: in the process that made it,
   * in the order of the changes, and not again after a restart. An error of a listener is logged.
   * @throws AllotError invalid for an unknown event, or without a function
   * @example
   * allot.on('issues', ({ action, repository, issue }) => console.log(action, repository.name, issue.number))
   */
  on<Name extends keyof HostEvents>(event: Name, listener: (detail: HostEvents[Name]) => void): void
  /**
   * Removes a listener that `on` has added.
   * @throws AllotError invalid for an unknown event
   */
  off<Name extends keyof HostEvents>(event: Name, listener: (detail: HostEvents[Name]) => void): void
  /**
   * Recounts every counter, index and derived number of the store against its records, within one snapshot,
   * while requests go on. `allot verify` does the same with a store that is not in use.
   */
  verify(): Promise<Verification>
  /**
   * Exports everything as of one moment, secrets included, for `importAllot`; requests go on meanwhile.
   * @param write takes bytes, and resolves when it can take more
   */
  export(write: Write, onProgress?: OnProgress): Promise<LastLine>
  /**
   * Whether the store could write now, which `/-/readyz` of `allot serve` also answers. Calls share a check,
   * whose result is reused for 250 milliseconds.
   * @returns false while the store is down or does not reply within 3 seconds, and from `close` on; the
   * promise does not reject
   */
  ready(): Promise<boolean>
  /**
   * Registers the metrics that docs/operations.md lists, except those of requests, in a registry of the
   * package prom-client, which the host installs. `allot serve` does the same for `/-/metrics`.
   * @param registry one for each Allot of the process
   * @throws AllotError unavailable without prom-client; invalid for anything but a registry; conflict for one
   * that has such metrics
   * @example
   * const registry = new Registry()
   * await allot.metrics(registry)
   * app.get('/metrics', async (_req, res) => res.type('text').send(await registry.metrics()))
   */
  metrics(registry: MetricsRegistry): Promise<void>
  /** Finishes the requests in flight, then closes the store. */
  close(): Promise<void>
}

/** An Allot with the services that only the command line and the specs use. */
export interface OpenAllot extends Allot {
  readonly hosting: Hosting
  /** Undefined while git over SSH is off. */
  readonly sshServer: SshServer | undefined
}

/**
 * Opens the store and starts Allot.
 * @param options at least `data`, a folder for everything, or `driver`, which stores the records elsewhere
 * @throws AllotError invalid for wrong options, or another program's data folder; conflict for a store of
 * `createQuota`; unavailable when the store cannot be opened; misconfigured when a host key for SSH cannot be
 * used
 * @example
 * const allot = await createAllot({ data: './data' })
 */
export const createAllot = async (options: AllotOptions): Promise<Allot> => {
  const { hosting: _, sshServer: __, ...allot } = await openAllot(options)
  return allot
}

/**
 * Opens an Allot as {@link createAllot} does, and returns the internal services, too.
 * @param isServer false for a command: no SSH server, webhooks or background work, which the servers of a
 * shared store have, except the jobs that the command itself enqueues. It recovers what a crash left only in
 * a store that it has to itself.
 */
export const openAllot = async (
  given: AllotOptions,
  { isServer = true, owners = 'accounts' }: { isServer?: boolean; owners?: ExpectedOwners } = {},
): Promise<OpenAllot> => {
  const { options: located, host } = await locate(given)
  const { driver, observe } = observedDriver(host.driver)
  const { log } = host
  const storage = openDiskStorage(located, driver, log)
  // A command without a configuration has no option `quota`.
  const quotaOptions = isServer || given.quota !== undefined ? located.quota : undefined
  const { store, settings } = await openStore(driver, log, { owners, settings: quotaOptions, isServer })
  const options = { ...located, quota: { ...located.quota, ...settings } }
  const htmlUrls = new HtmlUrls(options.htmlUrls, host.htmlUrl, new SshUrls(options.ssh), options.avatarUrl)
  const present = eventPresenter({ baseUrl: options.baseUrl, basePath: options.basePath, htmlUrls })
  const app = wire({ options, host, storage, store, htmlUrls, isServer, present, addCommits })
  const { hosting, listeners } = app
  if (isServer || !driver.shared) await orClose(driver, hosting.recover())
  const exportTo = async (to: Write, onProgress?: OnProgress) =>
    (await import('./exports/export.ts')).exportStore({ driver, ...storage }, to, onProgress)
  const ssh = isServer ? await orClose(driver, openSshIfOn(app)) : undefined
  const { api, pages, listener } = listenersOf(app, { exportTo, lfsTokens: ssh?.lfsTokens })
  const timer = isServer ? startBackground(app) : undefined
  const isWritable = writableCheck(driver)
  const closing = new AbortController()
  return {
    handler: api.handler,
    pages: pages.handler,
    listener,
    fetch: fetchOf(listener),
    ...namingCallers(publicServices(app)),
    hosting,
    sshServer: ssh?.server,
    ssh: (socket, given) => turnedOn(ssh).server.accept(socket, given),
    setUp: (setUp) => hosting.setUp.run(setUp),
    on: (event, listener) => listeners.on(event, listener),
    off: (event, listener) => listeners.off(event, listener),
    verify: async () => (await import('./verify.ts')).verify(driver, storage.fileStorage),
    export: exportTo,
    ready: async () => !closing.signal.aborted && (await isWritable()) && !closing.signal.aborted,
    metrics: async (registry) => {
      const measured = { ...app, observe, sshServer: ssh?.server, closing: closing.signal }
      return (await loadMetrics()).registerMetrics(registry, measured)
    },
    async close() {
      closing.abort()
      await Promise.all([api.idle(), pages.close(), ssh?.server.close()])
      clearInterval(timer)
      await closeServices(app)
    },
  }
}

const listenersOf = (app: App, more: Pick<Services, 'exportTo' | 'lfsTokens'>) => {
  const { options, hosting, htmlUrls } = app
  const api = createApiListener({ ...app, ...more })
  const pages = createLazyPages({ ...app, movedPath: movedPath(hosting) })
  const handlers = { handler: api.handler, pages: pages.handler, basePath: options.basePath }
  const listener = (mount: MountOptions) =>
    mountListener(handlers, mount, (path) => htmlUrls.mountPages(path))
  return { api, pages, listener }
}

/** Loads and opens the SSH server, when it is turned on. */
const openSshIfOn = async (app: App) =>
  app.options.ssh.port === undefined ? undefined : (await import('./ssh/index.ts')).openSsh(app)

const turnedOn = <T>(ssh: T | undefined): T => {
  if (ssh !== undefined) return ssh
  throw new AllotError('misconfigured', 'git over SSH is off: set the option ssh.port')
}

const loadMetrics = () => importWith('prom-client', 'metrics', () => import('./metrics/index.ts'))

const publicServices = ({ store, quota, hosting }: App) => ({
  quota: createHostQuota({ store, quota, owners: accountOwners, plans: hosting.plans }),
  // The ledger of hosts. That of the HTTP API (lib/hosting/create.ts) does not require `index` or `run`.
  ledger: createLedgerByName({
    ...{ store, quota, owners: accountOwners },
    hasRepositories: true,
    requiresIndexOrRun: true,
  }) as Ledger,
  accounts: hosting.accounts,
  organizations: hosting.organizations,
  tokens: hosting.tokens,
  sshKeys: hosting.sshKeys,
  gpgKeys: hosting.gpgKeys,
  repositories: hosting.repositories,
  relations: hosting.relations,
  issues: hosting.issues,
  comments: hosting.comments,
  releases: hosting.releases,
  attachments: hosting.attachments,
  packages: hosting.packages,
})

/**
 * Imports an export into an empty store, on any driver.
 * @throws AllotError conflict when the store is not empty; invalid when the file is cut short or changed,
 * with the number of a line that is not valid; unavailable when the store cannot be opened
 */
export const importAllot = async (
  folders: DataPlace & Pick<AllotOptions, 'driver' | 'data' | 'repositories' | 'files'>,
  source: AsyncIterable<Uint8Array>,
  onProgress?: OnProgress,
): Promise<LastLine> => {
  const { options, host } = await locate(folders)
  const { driver } = observedDriver(host.driver)
  const { importStore } = await import('./exports/import.ts')
  const gitStorage = options.repositories === false ? undefined : new GitStorage(options.repositories)
  const fileStorage = new FileStorage(options.files)
  await driver.open()
  try {
    return await importStore({ driver, gitStorage, fileStorage }, source, onProgress)
  } finally {
    await driver.close()
  }
}
