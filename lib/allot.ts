import { EventEmitter } from 'node:events'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { accountIds } from './accounts/accounts.ts'
import { clientOf } from './accounts/client-address.ts'
import type { Identity } from './accounts/identity.ts'
import { routesWith, streamRoutesFor } from './api/index.ts'
import { documentOf } from './api/openapi.ts'
import { createHosting, type Hosting } from './hosting.ts'
import {
  createDispatcher,
  createStreamDispatcher,
  type FetchOptions,
  fetchOf,
  type Log,
  type Next,
} from './http/index.ts'
import { createHostQuota, type HostQuota, type QuotaEvent } from './in-process-quota.ts'
import { openLocalStorage, pushedTo } from './local-storage.ts'
import { createMarkdown } from './markdown/index.ts'
import { type AllotOptions, checked, Options } from './options.ts'
import { createQuota } from './quota/index.ts'
import { createJobRunner } from './records/job-runner.ts'
import { createJobs } from './records/jobs.ts'
import { searchIndexes } from './records/schema/index.ts'
import { migrateStore } from './records/schema/migrations.ts'
import { createStore } from './records/store.ts'
import type { NamedLedger } from './repositories/named-ledger.ts'
import { keepLfs } from './repositories/repositories.ts'
import { createCompactor } from './search/index.ts'
import { exportStore } from './transfer/export.ts'
import type { LastLine, OnProgress, Write } from './transfer/format.ts'
import { type Verification, verify } from './verify.ts'
import { VERSION } from './version.ts'
import { createLazyPages } from './web/lazy.ts'

/** A running Allot, to mount in any Node server. */
export interface Allot {
  /** A node:http listener, which also fits Express and Connect. */
  readonly handler: (req: IncomingMessage, res: ServerResponse, next?: Next) => void
  /** The same for hosts that answer a Request with a Response: `export const GET = allot.fetch`. */
  readonly fetch: (request: Request, facts?: FetchOptions) => Promise<Response>
  /**
   * The pages for people, as such a listener: at the root of a server of their own, or wherever the host mounts them
   * (`app.use('/storage', allot.page)`). `next` is called for what is no page.
   */
  readonly page: (req: IncomingMessage, res: ServerResponse, next?: Next) => void
  /** Records usage from the host's own code: each call is atomic, and durable when its promise resolves. */
  readonly ledger: NamedLedger
  /** Answers in process what the HTTP API answers. */
  readonly quota: HostQuota
  /** The accounts, repositories, keys and relations behind the API. */
  readonly hosting: Hosting
  /**
   * `quota`: an owner crossed a rule's limit, or the share of it that `quota.nearAt` sets, in either direction. Told once,
   * after the change is durable and in the order of the changes. Nothing is told again after a restart: what is over by
   * then is what `GET /admin/quota/over` lists.
   */
  on(event: 'quota', listener: (crossing: QuotaEvent) => void): void
  off(event: 'quota', listener: (crossing: QuotaEvent) => void): void
  /**
   * Recounts every counter, index and derived number of the store against its records, within one snapshot, while others
   * read and write: what `allot verify` does with a store that nobody has open.
   */
  verify(): Promise<Verification>
  /**
   * Writes everything as it is at one moment, secrets included, for `importAllot` to read; requests go on meanwhile.
   * @param write takes bytes, and resolves when it wants more
   */
  export(write: Write, told?: OnProgress): Promise<LastLine>
  /** Finishes what is in flight, then closes the store. */
  close(): Promise<void>
}

/** @throws AllotError invalid for wrong options, unavailable when the store cannot be opened. */
export const createAllot = async ({
  driver,
  authenticate,
  onPush,
  log = standardError,
  ...given
}: AllotOptions): Promise<Allot> => {
  const options = checked(Options, given)
  const { git, transport, folders, files } = openLocalStorage(options, log)
  await driver.open()
  await migrateStore(driver, (words) => log.info({}, words)).catch(async (error) => {
    await driver.close()
    throw error
  })
  const store = createStore(driver)
  const events = new EventEmitter<{ quota: [QuotaEvent]; error: [unknown] }>({ captureRejections: true })
  const failing = (what: string) => (error: unknown, fields?: object) =>
    log.error({ err: error, ...fields }, what)
  const failed = failing('a listener of quota failed')
  events.on('error', failed)
  const { defaultGroups: groups, defaultTotal: total, nearAt: share } = options.quota
  const jobs = createJobs(BOUNDS, () => jobRunner.wake())
  const jobRunner = createJobRunner(store, jobs, (error, job) =>
    log.error({ err: error, errand: job }, 'what a change has left to do failed; it will be tried again'),
  )
  const compactor = createCompactor(
    store,
    searchIndexes,
    failing('names could not be packed; it will be tried again'),
  )
  const quota = createQuota(store, jobs, {
    defaults: { groups, total },
    owners: accountIds,
    listener: {
      share,
      isListening: () => events.listenerCount('quota') > 0,
      async notify({ owner, ...event }) {
        const account = await hosting.accounts.byId(owner)
        // A deleted owner has no name to notify the host about.
        if (account !== undefined) events.emit('quota', { owner: account.name, ...event })
      },
      onError: failed,
    },
    lfsChanged: keepLfs,
  })
  const hosting = createHosting({
    store,
    quota,
    jobs,
    folders,
    disk: git,
    files,
    onError: failing('what lies on the disk could not be made to agree with the records'),
    authenticate,
    login: options.login,
    trustedProxies: options.trustedProxies,
    sessionLifetime: Math.ceil(options.page.lifetime / 1000),
  })
  await hosting.sweep().catch(async (error) => {
    await driver.close()
    throw error
  })
  const client = (req: IncomingMessage, user: Identity | null) => clientOf(req, user, options.trustedProxies)
  const markdown = createMarkdown({ deadline: options.markdown.deadline })
  const pageLimits = { default: Math.min(options.pageSize, options.maxPageSize), max: options.maxPageSize }
  const streamed = streamRoutesFor({
    git: transport !== undefined,
    // A host that keeps repositories itself has something of its own below their clone_url.
    lfs: options.lfs !== false && options.repositories !== false,
    packages: options.packages !== false,
    issues: options.issues,
  })
  const streaming =
    streamed.length === 0
      ? undefined
      : createStreamDispatcher({
          routes: streamed,
          services: {
            store,
            hosting,
            transport,
            largest: {
              lfs: options.lfs ? options.lfs.largest : undefined,
              packages: options.packages ? options.packages.largest : undefined,
            },
            pushed: pushedTo(onPush, log),
            failed: (error, fields) =>
              log.error({ err: error, ...fields }, 'what changed in a repository could not be counted'),
          },
          authenticate: hosting.identities.authenticate,
          clientOf: client,
          moved: hosting.redirects.find,
          baseUrl: options.baseUrl,
          corsOrigins: options.cors.origins,
          log,
        })
  const routes = routesWith(options)
  const serving = createDispatcher({
    routes,
    services: {
      store,
      hosting,
      quota,
      markdown,
      exportTo: (write) => exportStore({ driver, git, files }, write),
      version: VERSION,
      dialect: options.dialect,
      pageLimits,
      largestAttachment: options.attachments.largest,
      documentFor: documentOf(routes),
    },
    authenticate: hosting.identities.authenticate,
    clientOf: client,
    moved: hosting.redirects.find,
    // A host's own login is not to be asked twice, and may make an account.
    together: driver.shared
      ? {
          read: store.readTogether,
          withCredentials: authenticate === undefined,
          cacheKeyOf: hosting.identities.cacheKeyOf,
        }
      : undefined,
    basePath: options.basePath,
    baseUrl: options.baseUrl,
    corsOrigins: options.cors.origins,
    notFoundBody: options.dialect === 'forgejo',
    bodyLimit: options.bodyLimit,
    pageLimits,
    log,
    ...(streaming === undefined ? {} : { fallback: streaming.handle }),
  })
  const pages = createLazyPages({
    services: {
      store,
      hosting,
      quota,
      settings: { nearAt: share, links: options.page.links, clones: transport !== undefined },
    },
    baseUrl: options.baseUrl,
    hasOwnLogin: authenticate !== undefined,
    bodyLimit: options.bodyLimit,
    log,
  })
  jobRunner.wake()
  compactor.start()
  // What another process has left uncounted when it was killed is not to wait for a start.
  const resumed = () => hosting.pushJournal.resume().catch(failing('pushes could not be looked for'))
  const batcher = driver.shared ? setInterval(resumed, HOUR).unref() : undefined
  return {
    handler: serving.handler,
    page: pages.handler,
    fetch: fetchOf(serving.handler),
    ledger: hosting.ledger,
    quota: createHostQuota(quota, hosting),
    hosting,
    on: (event, listener) => void events.on(event, listener),
    off: (event, listener) => void events.off(event, listener),
    verify: () => verify(driver, files),
    export: (write, told) => exportStore({ driver, git, files }, write, told),
    async close() {
      await serving.idle()
      await pages.idle()
      await streaming?.idle()
      await transport?.close()
      clearInterval(batcher)
      await jobRunner.stop()
      await compactor.stop()
      await hosting.idle().catch(() => undefined)
      await hosting.close()
      await quota.idle()
      await markdown.close()
      await driver.close()
    },
  }
}

/**
 * A write of 500 ledger entries takes about a tenth of a second, and one of 50 about as long as others notice nothing of.
 */
const BOUNDS = { maxPerTransaction: 500, batchSize: 50 }

const HOUR = 3_600_000

/** A plugin owns no log, but a failure must not pass unheard. */
const standardError: Log = {
  error: (fields, message) => console.error(message, fields),
  info: () => undefined,
}
