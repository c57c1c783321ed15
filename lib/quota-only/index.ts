import * as v from 'valibot'
import type { HostAuthenticate } from '../accounts/host-users.ts'
import { createUsageLists, type UsageLists } from '../content/usage/ledger-lists.ts'
import { driverOf, EXAMPLE } from '../data-folder.ts'
import { createEngine, createListeners, openStore } from '../engine.ts'
import type { LastLine, OnProgress, Write } from '../exports/format.ts'
import { withCallers } from '../hosting/caller-stack.ts'
import {
  type FetchOptions,
  fetchOf,
  type Listener,
  type Log,
  mountAtPrefix,
  standardError,
} from '../http/index.ts'
import { createHostQuota, type HostQuota } from '../in-process-quota.ts'
import { checked } from '../options/checks.ts'
import { type DataOptions, type DataPlace, HostOptions, type QuotaSettings } from '../options/index.ts'
import { QuotaSettings as SettingsSchema } from '../options/services.ts'
import { HostOwners, hostOwnerDirectory } from '../quota/host-owners.ts'
import { PlansByName } from '../quota/plans-by-name.ts'
import type { QuotaEvent } from '../quota/quota-events.ts'
import { checkSlice } from '../records/pages.ts'
import { createLedgerByName } from '../repositories/ledger/ledger-by-name.ts'
import type { Ledger, OwnerEntry } from '../repositories/ledger/ledger-types.ts'
import { observedDriver, type StorageDriver } from '../storage/index.ts'
import type { Verification } from '../verify.ts'
import { createQuotaApi } from './listener.ts'

const LISTENER = ['basePath', 'baseUrl', 'maxBodySize', 'pageSize', 'maxPageSize', 'cors'] as const

/** Everything that `createQuota` takes. */
const QuotaOnlyOptions = v.strictObject({
  ...v.pick(HostOptions, ['driver', 'data', 'authenticate', 'log', ...LISTENER]).entries,
  ...SettingsSchema.entries,
})

type ListenerOptions = 'basePath' | 'baseUrl' | 'maxBodySize' | 'pageSize' | 'maxPageSize' | 'cors'

/** Options of {@link createQuota}: at least `data` or `driver`. */
export type QuotaOptions = DataPlace &
  QuotaSettings &
  Pick<DataOptions, ListenerOptions> & {
    /** Data folder, with the folder `store` for the records. */
    data?: string | undefined
    /** Where the records are stored; in LevelDB, in the data folder, when absent. */
    driver?: StorageDriver
    /**
     * Who sends a request to `handler` or `fetch`: `id` is the name of an owner, and `admin` whether the
     * request may administrate. Without it, every request gets 401.
     */
    authenticate?: HostAuthenticate
    /** Receives log lines; standard error when absent. */
    log?: Log
  }

/**
 * The quota engine alone, for owners that are names of the host: no accounts, no repositories, no git. An
 * owner is any text of 1 to 255 characters without control characters, compared as it is. It comes into being
 * with the first change that names it; before that it has no usage, no group, and the default limits.
 */
export interface Quota extends HostQuota {
  /** Records usage by owner. Each call is atomic, and durable when its promise resolves. */
  readonly ledger: Ledger<OwnerEntry>
  /** The owners that a change has named. */
  readonly owners: Pick<HostOwners, 'list' | 'remove'>
  /**
   * The quota routes of the API (`/user/quota…`, `/admin/quota…`, `/admin/users/{owner}/quota…`,
   * `/admin/ledger…`, `/admin/audit`), for hosts that mount them: a node:http listener that also fits Express
   * and Connect.
   */
  readonly handler: Listener
  /** Serves the quota routes as `handler` does, for hosts that answer a Request with a Response. */
  fetch(request: Request, options?: Omit<FetchOptions, 'pages'>): Promise<Response>
  /** `quota`: an owner crossed the limit of a rule, or the share of it that `warnAt` sets: as `allot.on`. */
  on(event: 'quota', listener: (event: QuotaEvent) => void): void
  /** Removes a listener that `on` has added. */
  off(event: 'quota', listener: (event: QuotaEvent) => void): void
  /** Recounts everything within one snapshot, as `allot verify` does. */
  verify(): Promise<Verification>
  /** Exports everything as of one moment, for `allot import` or `importAllot`. */
  export(write: Write, onProgress?: OnProgress): Promise<LastLine>
  /** Finishes the requests in flight, then closes the store. */
  close(): Promise<void>
}

/**
 * Opens a store for the quota alone.
 * @param options at least `data`, a folder, or `driver`
 * @throws AllotError invalid for wrong options, conflict for a store with users or organizations, unavailable
 * when it cannot be opened
 * @example
 * const quota = await createQuota({ data: './data', defaultTotal: '2 GiB' })
 * await quota.ledger.put({ kind: 'artifacts', key: 'file-1', owner: 'tenant-42', name: 'a.pdf', size: 1200 })
 * await quota.isOver('tenant-42', 'size:all')
 */
export const createQuota = async (options: QuotaOptions): Promise<Quota> => {
  const { authenticate, log = standardError, ...settings } = checked(QuotaOnlyOptions, options, EXAMPLE)
  const { driver } = observedDriver(await driverOf({ driver: settings.driver, data: options.data }))
  const { store } = await openStore(driver, log, { owners: 'names', settings, isServer: true })
  const listeners = createListeners<{ quota: QuotaEvent }>(['quota'], log)
  const engine = createEngine({ store, log, owners: hostOwnerDirectory, settings, listeners })
  const { quota, jobs, start, stop } = engine
  const named = { store, quota, owners: hostOwnerDirectory }
  const owners = new HostOwners(store, jobs, quota)
  const plans = new PlansByName(named)
  const ledger = createLedgerByName({ ...named, hasRepositories: false })
  const hosting = { ledger, plans, usage: withoutLinks(createUsageLists(store, quota)) }
  const api = createQuotaApi({ options: settings, authenticate, store, quota, hosting, log })
  const { handler } = api
  start()
  return {
    ...withCallers(createHostQuota({ ...named, plans })),
    handler,
    on: (event, listener) => listeners.on(event, listener),
    off: (event, listener) => listeners.off(event, listener),
    fetch: fetchOf(({ prefix }) => mountAtPrefix(handler, prefix)),
    ledger: withCallers(ledger as Ledger<OwnerEntry>),
    owners: { list: async (slice) => owners.list(checkSlice(slice)), remove: (name) => owners.remove(name) },
    verify: async () => (await import('../verify.ts')).verify(driver),
    async export(write, onProgress) {
      const { exportStore } = await import('../exports/export.ts')
      return exportStore({ driver, gitStorage: undefined, fileStorage: undefined }, write, onProgress)
    },
    async close() {
      await api.idle()
      await stop()
      await store.close()
    },
  }
}

/** The pages of what owners store are the host's, so `html_url` is empty. */
const withoutLinks = ({ used }: Pick<UsageLists, 'used'>): Pick<UsageLists, 'used'> => ({
  async used(...parameters) {
    const { items, total } = await used(...parameters)
    return { items: items.map((item) => ({ ...item, isHidden: true })), total }
  },
})
