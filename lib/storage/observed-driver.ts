import { type StorageDriver, StorageError, wrapDriver } from './driver.ts'
import { Lifecycle } from './lifecycle.ts'

/** Runs around each transaction, and calls `run` once, which does it. */
type Around = Parameters<typeof wrapDriver>[1]

/** A driver whose transactions can be observed from any moment on. */
export interface ObservedDriver {
  /**
   * The driver to use in the place of the given one. It does not open while another one of the same has it
   * open, unless other processes may write to the database. Once closed, it reads and writes nothing,
   * although another one may have the driver open.
   */
  readonly driver: StorageDriver
  /** Runs each later transaction within `around`, besides those that were given before. */
  observe(around: Around): void
}

/** How many Allots have a driver open. */
const users = new WeakMap<StorageDriver, number>()

/**
 * Opens a driver for one Allot, unless another one has it open: neither would see what the other writes. A
 * shared driver closes with the last Allot that has it open.
 */
const lifecycleOf = (driver: StorageDriver): Lifecycle<true> => {
  const count = () => users.get(driver) ?? 0
  const acquire = async () => {
    if (!driver.shared && count() > 0)
      throw new StorageError(
        'locked',
        'another Allot of this process has this driver open: make a driver for each, or close the other first',
      )
    users.set(driver, count() + 1)
    await driver.open().catch((error) => {
      users.set(driver, count() - 1)
      throw error
    })
    return true as const
  }
  const release = async () => {
    users.set(driver, count() - 1)
    if (count() === 0) await driver.close()
  }
  return new Lifecycle(acquire, release)
}

/** The driver for one Allot, which something can observe later. */
export const observedDriver = (driver: StorageDriver): ObservedDriver => {
  let around: Around = (_operation, run) => run()
  const lifecycle = lifecycleOf(driver)
  const wrapped = wrapDriver(driver, (operation, run) => lifecycle.use(() => around(operation, run)))
  return {
    driver: {
      ...wrapped,
      open: () => lifecycle.open(),
      close: () => lifecycle.close(),
      findDamage: (onDamage) => lifecycle.use(() => wrapped.findDamage!(onDamage)),
    },
    observe(outer) {
      const inner = around
      around = (operation, run) => outer(operation, () => inner(operation, run))
    },
  }
}
