import { AllotError } from './errors.ts'
import { type Log, logError } from './http/index.ts'
import type { Options } from './options/index.ts'
import { QuotaEngine } from './quota/index.ts'
import type { LfsChanged } from './quota/ledger.ts'
import type { OwnerDirectory } from './quota/owners.ts'
import type { QuotaEvent, QuotaEventById, QuotaEventRecorder } from './quota/quota-events.ts'
import { missingGroups } from './quota/status.ts'
import { JobRunner } from './records/job-runner.ts'
import { JOB_LIMITS, Jobs } from './records/jobs.ts'
import { accounts, quotaOwners, upgradeStore } from './records/schema/index.ts'
import { Store } from './records/store.ts'
import { type OutageListener, reportOutages, type StorageDriver } from './storage/index.ts'
import { HostListeners } from './webhooks/host-listeners.ts'

/** Who owns what a store counts: its own accounts (`createAllot`), or names of the host (`createQuota`). */
export type OwnerKind = 'accounts' | 'names'

/**
 * The kind of owners that a store may have; `either` is for what never finds an owner by name, such as an
 * export.
 */
export type ExpectedOwners = OwnerKind | 'either'

/**
 * Opens the store, and brings it to the current layout.
 * @throws AllotError unavailable when that is not possible; conflict when the store has owners of the other
 * kind, which neither kind of quota can find by name
 */
export const openStore = async (given: StorageDriver, log: Log, owners: ExpectedOwners): Promise<Store> => {
  // A database in a folder or in the memory of this machine cannot be away, and each of its reads would pay
  // for the observer.
  const isLocal = given.folder !== undefined || given.name === 'memory'
  const driver = isLocal ? given : reportOutages(given, outageLog(log))
  await driver.open()
  await orClose(
    driver,
    upgradeStore(driver, (words) => log.info({}, words)),
  )
  const store = new Store(driver)
  const name = driver.folder === undefined ? 'the store' : `the store in ${driver.folder}`
  await orClose(driver, REFUSE_OTHERS[owners](store, name))
  return store
}

const REFUSE_OTHERS: Record<ExpectedOwners, (store: Store, name: string) => Promise<void>> = {
  either: async () => undefined,
  accounts: (store, name) =>
    store.read(async (tx) => {
      if ((await quotaOwners.count(tx, 'all', [])) > 0)
        throw new AllotError(
          'conflict',
          `${name} has owners that the host names: open it with createQuota, which knows them`,
        )
    }),
  names: (store, name) =>
    store.read(async (tx) => {
      const [users, organizations] = await Promise.all([
        accounts.count(tx, 'kind', ['user']),
        accounts.count(tx, 'kind', ['organization']),
      ])
      if (users + organizations > 0)
        throw new AllotError(
          'conflict',
          `${name} has users or organizations: open it with createAllot, whose quota and ledger know them by name`,
        )
    }),
}

const outageLog = (log: Log): OutageListener => ({
  onAway: (error) =>
    log.error({ reasons: reasonsOf(error) }, `${error.message}: requests get 503 until it is back`),
  onBack: (outage) => log.info(outage, 'the database is back'),
})

/** Messages of the causes, which name the hosts. */
const reasonsOf = ({ cause }: Error): string[] =>
  cause instanceof Error ? [cause.message, ...reasonsOf(cause)] : []

/** Waits for a step of the start. When it fails, closes the driver, so that the host can open it again. */
export const orClose = async <T>(driver: StorageDriver, step: Promise<T>): Promise<T> => {
  try {
    return await step
  } catch (error) {
    await driver.close()
    throw error
  }
}

interface EngineOptions {
  readonly store: Store
  readonly log: Log
  readonly owners: OwnerDirectory
  readonly settings: Options['quota']
  readonly lfsChanged?: LfsChanged | undefined
  readonly listeners: QuotaListeners
  /** Records events of quotas for webhooks. */
  readonly recorder?: Omit<QuotaEventRecorder, 'share'>
}

/** The host's listeners of the event `quota`. */
interface QuotaListeners {
  has(event: 'quota'): boolean
  notify(event: 'quota', detail: QuotaEvent): void
}

/**
 * The quota engine with its jobs and its events, as `createAllot` and `createQuota` start it on an open
 * store.
 */
export interface Engine {
  readonly quota: QuotaEngine
  readonly jobs: Jobs
  readonly jobRunner: JobRunner
  /** Starts what runs in the background, and reports names in `quota.defaultGroups` that no group has. */
  start(): void
}

export const createEngine = (options: EngineOptions): Engine => {
  const { store, log, owners, settings, lfsChanged, listeners, recorder } = options
  const jobs = new Jobs(JOB_LIMITS, (kind) => jobRunner.wake([kind]))
  const jobRunner = new JobRunner(store, jobs, (error, job) =>
    log.error({ err: error, job }, 'a background job failed; it will be retried'),
  )
  const notify = async ({ owner, ...event }: QuotaEventById) => {
    const found = (await store.read((tx) => owners.byIds(tx, [owner]))).get(owner)
    // The owner may have been deleted since.
    if (found !== undefined) listeners.notify('quota', { ...event, owner: found.name })
  }
  const { defaultGroups: groups, defaultTotal: total, warnAt: share } = settings
  const quota = new QuotaEngine({
    store,
    jobs,
    lfsChanged,
    defaults: { groups, total },
    owners: owners.ids,
    listener: {
      share,
      notify,
      isListening: () => listeners.has('quota'),
      onError: logError(log, 'the quota of an owner could not be evaluated for the event quota'),
    },
    recorder: recorder && { share, ...recorder },
  })
  const reportMissing = async () => {
    for (const group of await store.read((tx) => missingGroups(tx, groups)))
      log.error(
        { group },
        'quota.defaultGroups names a group that does not exist; it limits no owner until it is made',
      )
  }
  const start = () => {
    jobRunner.start()
    quota.expiries.start(logError(log, 'entries of the ledger that have expired could not be removed'))
    void reportMissing().catch(logError(log, 'the default groups could not be read'))
  }
  return {
    quota,
    jobs,
    jobRunner,
    start,
  }
}

/**
 * The listeners of a host.
 * @param names of all events
 */
export const createListeners = <Events extends object>(
  names: readonly (keyof Events & string)[],
  log: Log,
): HostListeners<Events> => new HostListeners(names, logError(log, 'a listener failed'))
