import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createFileStore } from '../../lib/files/index.ts'
import { createHosting, type Hosting } from '../../lib/hosting/index.ts'
import { keepLfs } from '../../lib/hosting/repositories.ts'
import { createQuota, type QuotaEngine } from '../../lib/quota/index.ts'
import { type Bounds, createErrands } from '../../lib/records/errands.ts'
import { prepareStore } from '../../lib/records/opening.ts'
import { createStore, type Store } from '../../lib/records/store.ts'
import { createSweeper, type Sweeper } from '../../lib/records/sweeper.ts'
import type { StorageDriver } from '../../lib/storage/index.ts'

/** The domain without HTTP, whose sweeper does a step when it is told to, or by itself when `wakes` is set. */
export interface House {
  store: Store
  quota: QuotaEngine
  hosting: Hosting
  sweeper: Sweeper
  close(): Promise<void>
}

export const openHouse = async (driver: StorageDriver, bounds: Bounds, wakes = false): Promise<House> => {
  await driver.open()
  await prepareStore(driver)
  const store = createStore(driver)
  const errands = createErrands(bounds, () => wakes && sweeper.wake())
  const sweeper = createSweeper(store, errands, (error) => {
    throw error
  })
  const quota = createQuota(store, errands, { groups: [] }, undefined, keepLfs)
  const hosting = createHosting({
    store,
    quota,
    errands,
    folders: undefined,
    files: createFileStore({ directory: join(tmpdir(), 'allot-house') }),
    disk: undefined,
    failed: (error) => {
      throw error
    },
    authenticate: undefined,
    login: false,
    trustedProxies: 0,
    sessionLifetime: 3600,
  })
  if (wakes) sweeper.wake()
  return {
    ...{ store, quota, hosting, sweeper },
    async close() {
      await sweeper.stop()
      await driver.close()
    },
  }
}
