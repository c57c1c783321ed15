import type { StorageDriver } from '../../lib/index.ts'
import { signal } from '../driver-spec/fixture.ts'

/**
 * A driver that stops for good at its n-th write, before or after the commit, as if the process was killed.
 */
export const driverKilledAt = (driver: StorageDriver, write: number, isCommitted: boolean) => {
  let writes = 0
  const dead = signal()
  const dying: StorageDriver = {
    ...driver,
    async write(work) {
      if (++writes < write) return driver.write(work)
      if (isCommitted && writes === write) await driver.write(work)
      dead.happen()
      return new Promise(() => {})
    },
  }
  return { dying, dead: dead.happened.then(() => 'dead') }
}
