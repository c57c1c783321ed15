import { setTimeout } from 'node:timers/promises'
import { Counter, Gauge, type Registry } from 'prom-client'
import { AllotError, checkArgument, isObject } from '../errors.ts'
import type { Hosting } from '../hosting/create.ts'
import { type Log, logError } from '../http/index.ts'
import type { QuotaEvent } from '../quota/quota-events.ts'
import { subjectOf, type Usage } from '../quota/subjects.ts'
import type { SshServer } from '../ssh/types.ts'
import type { ObservedDriver } from '../storage/index.ts'
import { VERSION } from '../version.ts'
import { measureSsh } from './ssh-metrics.ts'
import { measureCaches, measureDriver } from './store-metrics.ts'
import type { MetricsRegistry } from './types.ts'

/*
 * What an Allot tells Prometheus, in the registry of the host or of `allot serve`, which adds the requests of
 * its server (bin/metrics). Loaded only when metrics are wanted: prom-client is an optional package.
 */

interface Measured extends Pick<ObservedDriver, 'observe'> {
  readonly hosting: Hosting
  readonly listeners: { on(event: 'quota', listener: (event: QuotaEvent) => void): void }
  /** Undefined while git over SSH is off. */
  readonly sshServer: SshServer | undefined
  readonly host: { readonly log: Log }
  /** Aborted when the Allot closes. */
  readonly closing: AbortSignal
}

/**
 * Registers the metrics of an Allot.
 * @param given a registry of prom-client
 * @throws AllotError invalid for anything else; conflict when it has metrics of an Allot already
 */
export const registerMetrics = (given: MetricsRegistry, measured: Measured): void => {
  const isRegistry = isObject(given) && typeof (given as unknown as Registry).getSingleMetric === 'function'
  checkArgument(isRegistry, 'registry', 'a registry of prom-client, such as new Registry()', given)
  const registry = given as unknown as Registry
  if (registry.getSingleMetric('allot_build_info') !== undefined)
    throw new AllotError('conflict', 'the registry has the metrics of an Allot already: give each its own')
  measureDriver(registry, measured.observe)
  measureCaches(registry, measured.closing)
  measureQuotaEvents(registry, measured)
  measureOwners(registry, measured)
  if (measured.sshServer !== undefined) measureSsh(registry, measured.sshServer)
  new Gauge({
    name: 'allot_build_info',
    help: 'The running version, as a label; the value is always 1.',
    aggregator: 'max',
    labelNames: ['version'],
    registers: [registry],
  }).set({ version: VERSION }, 1)
}

const measureQuotaEvents = (registry: Registry, { listeners }: Measured): void => {
  const quotaEvents = new Counter({
    name: 'allot_quota_events_total',
    help: "Times that an owner's usage reached a rule's limit or came near to it (up), or fell below (down).",
    labelNames: ['at', 'direction'],
    registers: [registry],
  })
  listeners.on('quota', ({ share, reached }) =>
    quotaEvents.inc({ at: share === 1 ? 'limit' : 'near', direction: reached ? 'up' : 'down' }),
  )
}

/**
 * Figures of the whole store, the same in each worker. Bytes and owners are those of the pages of
 * administrators: on a large instance some seconds old, and absent until its first scan is done.
 */
const measureOwners = (registry: Registry, { hosting, host }: Measured): void => {
  const { accounts, ownerTable } = hosting
  const onError = logError(host.log, 'the accounts could not be counted for the metrics')
  let isFailing = false
  const gauge = (name: string, help: string, label: string, read: () => Promise<Record<string, number>>) =>
    new Gauge({
      name,
      help,
      aggregator: 'max',
      labelNames: [label],
      registers: [registry],
      async collect() {
        this.reset()
        try {
          for (const [value, number] of Object.entries(await inTime(read())))
            this.set({ [label]: value }, number)
          isFailing = false
        } catch (error) {
          if (!isFailing) onError(error)
          isFailing = true
        }
      },
    })
  gauge('allot_accounts', 'Users and organizations.', 'kind', async () => ({
    user: await accounts.count('user'),
    organization: await accounts.count('organization'),
  }))
  gauge('allot_bytes', 'Bytes that owners use, by subject; their sum is size:all.', 'subject', async () => {
    const kinds = Object.entries((await ownerTable.get())?.total ?? {})
    return Object.fromEntries(kinds.map(([kind, bytes]) => [subjectOf[kind as keyof Usage], bytes]))
  })
  const help =
    'Users and organizations that are over a limit, near one, within all, or have none (unlimited).'
  gauge('allot_owners', help, 'quota', async () => {
    const { user: _, organization: __, ...states } = (await ownerTable.get())?.counts ?? {}
    return states
  })
}

/** Less than the time in which a worker must answer. */
const COLLECT_TIMEOUT_MS = 1000

/** While the store fails or hangs, a gauge has no samples: the other metrics must still be read. */
const inTime = (read: Promise<Record<string, number>>): Promise<Record<string, number>> =>
  Promise.race([read, setTimeout(COLLECT_TIMEOUT_MS, {}, { ref: false })])
