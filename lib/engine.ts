import { isDeepStrictEqual } from 'node:util'
import { AllotError } from './errors.ts'
import { type Log, logError } from './http/index.ts'
import type { Options } from './options/index.ts'
import { QuotaEngine } from './quota/index.ts'
import type { LfsChanged } from './quota/ledger.ts'
import type { OwnerDirectory } from './quota/owners.ts'
import type { QuotaEventRecorder, QuotaListeners } from './quota/quota-events.ts'
import { missingGroups } from './quota/status.ts'
import { JobRunner } from './records/job-runner.ts'
import { JOB_LIMITS, Jobs } from './records/jobs.ts'
import { type OwnerKind, storedDefaults, storedOwners } from './records/layout.ts'
import { accounts, quotaOwners, upgradeStore } from './records/schema/index.ts'
import { Store } from './records/store.ts'
import {
  type OutageListener,
  type ReadTransaction,
  reportOutages,
  type StorageDriver,
} from './storage/index.ts'
import { HostListeners } from './webhooks/host-listeners.ts'

/**
 * The kind of owners that a store may have; `either` is for what never finds an owner by name, such as an
 * export.
 */
export type ExpectedOwners = OwnerKind | 'either'

type Settings = Options['quota']

interface StoreUse {
  readonly owners: ExpectedOwners
  /** Undefined for a command that has no configuration: it uses the limits of the server. */
  readonly settings: Settings | undefined
  /** Whether the process serves, so that commands shall use its limits. */
  readonly isServer: boolean
}

/**
 * Opens the store, and brings it to the current layout.
 * @returns the store, and the settings of quota that are in force
 * @throws AllotError unavailable when that is not possible; conflict when the store has owners of the other
 * kind, which neither kind of quota can find by name
 */
export const openStore = async (
  given: StorageDriver,
  log: Log,
  use: StoreUse,
): Promise<{ store: Store; settings: Partial<Settings> | undefined }> => {
  // A database in a folder or in the memory of this machine cannot be away, and each of its reads would pay
  // for the observer.
  const isLocal = given.folder !== undefined || given.name === 'memory'
  const driver = isLocal ? given : reportOutages(given, outageLog(log))
  await driver.open()
  await orClose(driver, upgradeStore(driver, { onProgress: (words) => log.info({}, words) }))
  const store = new Store(driver)
  await orClose(driver, checkOwners(store, use.owners))
  const settings = await orClose(driver, settingsInForce(store, use))
  return { store, settings }
}

/** Whose records a store has; undefined without any. */
const ownersByRecords = async (tx: ReadTransaction): Promise<OwnerKind | undefined> => {
  for (const kind of ['user', 'organization'])
    if ((await accounts.count(tx, 'kind', [kind])) > 0) return 'accounts'
  return (await quotaOwners.count(tx, 'all', [])) > 0 ? 'names' : undefined
}

const REFUSALS: Record<OwnerKind, string> = {
  accounts: 'is for users and organizations: open it with createAllot or allot serve',
  names: 'is for owners that a host names, and cannot have users: open it with createQuota',
}

/** Refuses a store of the other kind, also one without records, and notes the kind of a store that is new. */
const checkOwners = async (store: Store, expected: ExpectedOwners): Promise<void> => {
  if (expected === 'either') return
  const noted = await store.read((tx) => storedOwners.get(tx))
  const owners = (await store.read(ownersByRecords)) ?? noted
  if (owners !== undefined && owners !== expected) {
    const { folder } = store.driver
    const name = folder === undefined ? 'the store' : `the store in ${folder}`
    throw new AllotError('conflict', `${name} ${REFUSALS[owners]}`)
  }
  if (noted !== expected) await store.write(async (tx) => storedOwners.set(tx, expected))
}

/** Notes the limits of a server in the store, and finds them there for a command without a configuration. */
const settingsInForce = async (store: Store, { settings, isServer }: StoreUse) => {
  const noted = await store.read((tx) => storedDefaults.get(tx))
  if (settings === undefined) return noted
  const { defaultGroups, defaultTotal } = settings
  const defaults = { defaultGroups, defaultTotal }
  if (isServer && !isDeepStrictEqual(noted, JSON.parse(JSON.stringify(defaults))))
    await store.write(async (tx) => storedDefaults.set(tx, defaults))
  return settings
}

const outageLog = (log: Log): OutageListener => ({
  onAway: (error) =>
    log.error({ reasons: reasonsOf(error) }, `${error.message}: requests get 503 until it is back`),
  onBack: (outage) => log.info(outage, 'the database is back'),
})

/** Messages of the causes, which name the hosts. */
const reasonsOf = ({ cause }: Error): string[] =>
  cause instanceof Error ? [cause.message, ...reasonsOf(cause)] : []

/** Waits for a step of the start. When it fails, closes what is open, so that the host can open it again. */
export const orClose = async <T>(opened: Pick<StorageDriver, 'close'>, step: Promise<T>): Promise<T> => {
  try {
    return await step
  } catch (error) {
    await opened.close()
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
  readonly recorder?: QuotaEventRecorder
}

/**
 * The quota engine with its jobs and its events, as `createAllot` and `createQuota` start it on an open
 * store.
 */
export const createEngine = (options: EngineOptions) => {
  const { store, log, owners, settings, lfsChanged, listeners, recorder } = options
  const jobs = new Jobs(JOB_LIMITS, (kind) => jobRunner.wake([kind]))
  const jobFailed = logError(log, 'a background job failed; it will be retried')
  const jobRunner = new JobRunner(store, jobs, (error, job) => jobFailed(error, { job }))
  const { defaultGroups: groups, defaultTotal: total, warnAt: share } = settings
  const quota = new QuotaEngine({
    store,
    jobs,
    lfsChanged,
    defaults: { groups, total },
    owners,
    share,
    listeners,
    recorder,
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
    /** Starts what runs in the background, and reports names in `quota.defaultGroups` that no group has. */
    start,
    /** Ends it after the steps that run. */
    async stop() {
      await jobRunner.stop()
      await quota.expiries.stop()
    },
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
