import { accountOwners } from './accounts/accounts.ts'
import { eventPresenter } from './api/webhooks/payloads.ts'
import { addCommits } from './api/webhooks/push-commits.ts'
import { HOUR_MS } from './clock.ts'
import { saveLfsSize } from './content/lfs.ts'
import { type DiskStorage, type Host, onDeletionError } from './data-folder.ts'
import { createEngine, createListeners, type Engine } from './engine.ts'
import type { HtmlUrls } from './host-pages/html-urls.ts'
import { createHosting, type Hosting } from './hosting/index.ts'
import { logError } from './http/index.ts'
import type { Markdown } from './markdown/index.ts'
import type { Options } from './options/index.ts'
import { reportPriority } from './priority.ts'
import type { QuotaEventRecorder } from './quota/quota-events.ts'
import type { Hook } from './records/schema/index.ts'
import type { Store } from './records/store.ts'
import { AllowedAddresses } from './webhooks/addresses.ts'
import type { HostEvents } from './webhooks/events.ts'
import type { HostListeners } from './webhooks/host-listeners.ts'
import { Outbox } from './webhooks/outbox.ts'
import { EVENTS } from './webhooks/recipients.ts'
import { Sender } from './webhooks/sender.ts'

/** The quota engine, the services and the background work of an Allot. */
export interface Domain extends Engine {
  readonly hosting: Hosting
  readonly listeners: HostListeners<HostEvents>
  /** Undefined while webhooks are off. */
  readonly sender: Sender | undefined
}

interface DomainDependencies {
  readonly options: Options
  readonly host: Host
  readonly storage: DiskStorage
  readonly store: Store
  readonly htmlUrls: HtmlUrls
  /** Whether this process works in the background; a command leaves that to a server. */
  readonly isServer: boolean
}

/** Creates the quota engine, the services and what works in the background, and connects them. */
export const createDomain = ({
  options,
  host,
  storage,
  store,
  htmlUrls,
  isServer,
}: DomainDependencies): Domain => {
  const { log } = host
  const { webhooks, baseUrl, basePath } = options
  const present = eventPresenter({ baseUrl, basePath, htmlUrls })
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
  const hosting = createHosting({
    store,
    quota,
    jobs,
    outbox,
    addresses,
    storage,
    settings: options,
    host,
    onDeletionError: onDeletionError(log),
  })
  const sender =
    webhooks === false || !isServer
      ? undefined
      : new Sender({
          store,
          outbox,
          addresses,
          settings: webhooks,
          addCommits: (payload) => addCommits({ store, contents: hosting.contents }, payload),
          onError: logError(log, 'a webhook could not be served; it is tried again'),
          onUnreadCommits: logError(
            log,
            'the commits of a push could not be read; its webhook gets it without them',
          ),
        })
  return { ...engine, hosting, listeners, sender }
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

interface StartedServices extends Domain, Pick<DiskStorage, 'gitReader'> {
  readonly host: Host
  readonly store: Store
  readonly markdown: Markdown
}

/**
 * Starts what runs between requests.
 * @returns the timer of a shared store, which settles what killed processes left in the journals of the disk
 */
export const startBackground = (services: StartedServices): NodeJS.Timeout | undefined => {
  const { host, store, hosting, start, sender } = services
  reportPriority(host.log)
  start()
  sender?.start()
  const onError = logError(host.log, 'what killed servers left could not be looked for')
  const settle = () => hosting.settleAbandoned().catch(onError)
  return store.driver.shared ? setInterval(settle, HOUR_MS).unref() : undefined
}

/** Closes them in the order in which they depend on each other. */
export const closeServices = async (services: StartedServices) => {
  const { store, gitReader, hosting, quota, markdown, stop, sender } = services
  await sender?.stop()
  await hosting.git?.transport.close()
  await gitReader?.close()
  await stop()
  await hosting.idle()
  await hosting.close()
  await quota.idle()
  await markdown.close()
  await store.close()
}
