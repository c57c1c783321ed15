import assert from 'node:assert/strict'
import { inspect } from 'node:util'
import * as v from 'valibot'
import { accountOwners } from '../../lib/accounts/accounts.ts'
import { saveLfsSize } from '../../lib/content/lfs.ts'
import { FileStorage } from '../../lib/files/index.ts'
import { createHosting, type Hosting } from '../../lib/hosting/create.ts'
import { Options } from '../../lib/options/index.ts'
import { QuotaEngine } from '../../lib/quota/index.ts'
import { JobRunner } from '../../lib/records/job-runner.ts'
import { type JobLimits, Jobs } from '../../lib/records/jobs.ts'
import { upgradeStore } from '../../lib/records/schema/index.ts'
import { Store } from '../../lib/records/store.ts'
import type { StorageDriver } from '../../lib/storage/index.ts'
import { AllowedAddresses } from '../../lib/webhooks/addresses.ts'
import { HostListeners } from '../../lib/webhooks/host-listeners.ts'
import { Outbox } from '../../lib/webhooks/outbox.ts'
import { EVENTS } from '../../lib/webhooks/recipients.ts'
import { temporaryDirectory } from '../support/folder.ts'

/** The domain without HTTP. Its job runner does a step when a spec calls it. */
export interface RemovalFixture {
  store: Store
  quota: QuotaEngine
  hosting: Hosting
  jobRunner: JobRunner
  close(): Promise<void>
}

/** More than any spec has. */
const MAX_ROUNDS = 10_000

/**
 * Runs all pending jobs, and `each` after each round but the last.
 * @returns how many rounds left some
 */
export const finishJobs = async (
  { jobRunner }: Pick<RemovalFixture, 'jobRunner'>,
  each: () => Promise<unknown> = async () => undefined,
): Promise<number> => {
  let rounds = 0
  while ((await jobRunner.round()).pending > 0) {
    assert.ok(++rounds < MAX_ROUNDS, 'the jobs never end')
    await each()
  }
  return rounds
}

export const openFixture = async (
  driver: StorageDriver,
  bounds: JobLimits,
  { owners = accountOwners } = {},
): Promise<RemovalFixture> => {
  await driver.open()
  await upgradeStore(driver)
  const store = new Store(driver)
  const jobs = new Jobs(bounds, () => undefined)
  const jobRunner = new JobRunner(store, jobs, (error) => {
    throw error
  })
  const quota = new QuotaEngine({
    store,
    jobs,
    defaults: { groups: [] },
    share: 1,
    owners,
    listeners: new HostListeners(['quota'], () => undefined),
    lfsChanged: saveLfsSize,
  })
  const hosting = createHosting({
    store,
    quota,
    jobs,
    outbox: new Outbox({
      isOn: false,
      present: async () => undefined,
      onFull: () => undefined,
      onTooLarge: () => undefined,
      listeners: new HostListeners(EVENTS, () => undefined),
    }),
    addresses: new AllowedAddresses([]),
    disk: {
      gitStorage: undefined,
      gitReader: undefined,
      transport: undefined,
      fileStorage: new FileStorage({ directory: temporaryDirectory() }),
      onDeletionError: (error) => {
        throw error
      },
    },
    options: v.parse(Options, { login: false }),
    host: {
      ...{ driver, authenticate: undefined, onBeforeStore: undefined, htmlUrl: undefined },
      tokens: true,
      log: {
        error: (fields, message) => assert.fail(`${message}: ${inspect(fields)}`),
        info: () => undefined,
      },
    },
  })
  return {
    ...{ store, quota, hosting, jobRunner },
    async close() {
      await jobRunner.stop()
      await driver.close()
    },
  }
}
