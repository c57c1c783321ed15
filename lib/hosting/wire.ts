import { accountOwners } from '../accounts/accounts.ts'
import { HOUR_MS } from '../clock.ts'
import { saveLfsSize } from '../content/lfs.ts'
import { type DiskStorage, type Host, type Located, onDeletionError } from '../data-folder.ts'
import { createEngine, createListeners } from '../engine.ts'
import type { HtmlUrls, ServedPage } from '../host-pages/html-urls.ts'
import { logError } from '../http/index.ts'
import { Markdown } from '../markdown/index.ts'
import { reportPriority } from '../priority.ts'
import type { QuotaEventRecorder } from '../quota/quota-events.ts'
import type { Hook, HookPayload } from '../records/schema/index.ts'
import type { Store } from '../records/store.ts'
import type { RepositoryContents } from '../repositories/contents/open-repository.ts'
import { AllowedAddresses } from '../webhooks/addresses.ts'
import type { HostEvents } from '../webhooks/events.ts'
import { Outbox, type PresentEvent } from '../webhooks/outbox.ts'
import { EVENTS } from '../webhooks/recipients.ts'
import { Sender } from '../webhooks/sender.ts'
import { createHosting } from './create.ts'

/** What an Allot is made of. */
interface Opened {
  readonly options: Located
  readonly host: Host
  readonly store: Store
  readonly storage: DiskStorage
  readonly htmlUrls: HtmlUrls
  /** Whether this process works in the background; a command leaves that to a server. */
  readonly isServer: boolean
  /** Presents events for webhooks. */
  readonly present: PresentEvent
  /** Adds the commits to the payload of a push. */
  readonly addCommits: (
    read: { store: Store; contents: RepositoryContents | undefined },
    payload: HookPayload,
  ) => Promise<string>
}

/** Everything that handlers of routes and pages, commands and the background work use. */
export type App = ReturnType<typeof wire>

/** Creates the quota engine, the services and what works in the background, and connects them. */
export const wire = (opened: Opened) => {
  const { options, host, storage, store, htmlUrls, isServer, present } = opened
  const { log } = host
  const { webhooks } = options
  const listeners = createListeners<HostEvents>(EVENTS, log)
  const outbox = new Outbox({ isOn: webhooks !== false, present, listeners, ...outboxOptions(log) })
  const engine = createEngine({
    store,
    log,
    listeners,
    owners: accountOwners,
    settings: options.quota,
    lfsChanged: saveLfsSize,
    ...(webhooks === false ? {} : { recorder: quotaRecorder(outbox) }),
  })
  const { quota, jobs } = engine
  const addresses = new AllowedAddresses(webhooks === false ? [] : webhooks.allowedHosts)
  const disk = { ...storage, onDeletionError: onDeletionError(log) }
  const hosting = createHosting({ options, host, store, quota, jobs, outbox, addresses, disk })
  const addCommits = (payload: HookPayload) =>
    opened.addCommits({ store, contents: hosting.contents }, payload)
  const sender =
    webhooks === false || !isServer
      ? undefined
      : new Sender({
          ...{ store, outbox, addresses, settings: webhooks, addCommits },
          onError: logError(log, 'a webhook could not be served; it is tried again'),
          onUnreadCommits: logError(
            log,
            'the commits of a push could not be read; its webhook gets it without them',
          ),
        })
  const markdown = new Markdown({ deadline: options.markdown.timeout })
  const settings = settingsOf(options, host, htmlUrls)
  const made = { ...engine, hosting, listeners, sender, markdown, settings }
  return { options, host, store, ...storage, htmlUrls, ...made }
}

/** What handlers need to know of the options. */
const settingsOf = (options: Located, { authenticate, tokens }: Host, htmlUrls: HtmlUrls) => {
  const { repositories, git, issues, packages, pages, contents } = options
  const isServed = (kind: ServedPage): boolean => {
    if (kind === 'issue' || kind === 'release') return issues
    return kind !== 'package' || packages !== false
  }
  const hasGitData = repositories !== false
  return {
    /** The pages of people and repositories that are served here, and not by the host. */
    servedPages: new Set(
      pages.links ? [] : [...htmlUrls.servedPages].filter(isServed),
    ) as ReadonlySet<ServedPage>,
    /** Whether names link to their `html_url`, for hosts with pages there. */
    links: pages.links,
    /** Share of a limit, between 0 and 1, from which an owner counts as near the limit. */
    warnAt: options.quota.warnAt,
    /** False when the host authenticates users itself. */
    hasSessions: authenticate === undefined,
    /** Whether access tokens sign in. */
    hasTokens: tokens,
    /** Whether repositories can be cloned from this server over HTTP. */
    clones: hasGitData && git.http,
    hasLfs: hasGitData && options.lfs !== false,
    /** Whether git is served over SSH, with the keys of users. */
    hasSsh: options.ssh.port !== undefined,
    hasForks: hasGitData && options.forks,
    repositoryCreators: options.repositoryCreators,
    /** Maximum size of a file in a JSON response, in bytes; 0 when contents are not served. */
    maxBlobBytes: hasGitData && contents !== false ? contents.maxObjectSize : 0,
    pageLimits: { default: Math.min(options.pageSize, options.maxPageSize), max: options.maxPageSize },
    signInMessage: signInMessageOf(authenticate !== undefined, tokens),
  }
}

/** What a client of git or of a download without credentials is told. It names only what signs in. */
const signInMessageOf = (hasHostLogin: boolean, hasTokens: boolean): string => {
  if (!hasTokens) return 'sign in first'
  return `sign in with ${hasHostLogin ? 'an access token as the password' : 'a password or a token'}`
}

const outboxOptions = (log: Host['log']) => ({
  onFull: ({ id, url }: Hook) =>
    log.error(
      { hook: id, host: new URL(url).host },
      'too many deliveries of a webhook wait: its events are not recorded until its receiver takes some',
    ),
  onTooLarge: (event: string, characters: number) =>
    log.error({ event, characters }, 'the payload of an event is too large: it is not recorded for webhooks'),
})

const quotaRecorder = (outbox: Outbox): QuotaEventRecorder => ({
  isWatched: (tx, owner) => outbox.isQuotaWatched(tx, owner),
  record: (tx, event) => outbox.record(tx, { event: 'quota', ...event }),
})

/**
 * Starts what runs between requests.
 * @returns the timer of what is done every hour: repositories are cleaned up, and what killed processes
 * left in the journals of the disk of a shared store is settled
 */
export const startBackground = (app: App): NodeJS.Timeout => {
  const { host, store, hosting, start, sender } = app
  reportPriority(host.log)
  start()
  sender?.start()
  const onError = logError(host.log, 'what killed servers left could not be looked for')
  const onCleanUpError = logError(host.log, 'repositories could not be cleaned up')
  const everyHour = async () => {
    if (store.driver.shared) await hosting.disk.settleAbandoned().catch(onError)
    await hosting.git?.maintenance.cleanUpDue().catch(onCleanUpError)
  }
  return setInterval(everyHour, HOUR_MS).unref()
}

/** Closes them in the order in which they depend on each other; the store also when one of them fails. */
export const closeServices = async (app: App) => {
  const { store, gitReader, hosting, markdown, stop, sender } = app
  try {
    await sender?.stop()
    await hosting.git?.transport.close()
    await gitReader?.close()
    await stop()
    await hosting.disk.idle()
    await hosting.close()
    await markdown.close()
  } finally {
    await store.close()
  }
}
