import { type StorageDriver, StorageError, wrapDriver } from './driver.ts'

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
 * Refuses to open a driver that another Allot has open: neither would see what the other writes. A shared
 * driver closes with the last Allot that has it open.
 */
const forOneAllot = (
  driver: StorageDriver,
): Pick<StorageDriver, 'open' | 'close'> & { requireOpen(): void } => {
  let isOpen = false
  let closed = Promise.resolve()
  const count = () => users.get(driver) ?? 0
  const release = () => {
    if (isOpen) users.set(driver, count() - 1)
    isOpen = false
  }
  return {
    async open() {
      if (!isOpen && !driver.shared && count() > 0)
        throw new StorageError(
          'locked',
          'another Allot of this process has this driver open: make a driver for each, or close the other first',
        )
      if (!isOpen) users.set(driver, count() + 1)
      isOpen = true
      await driver.open().catch((error) => {
        release()
        throw error
      })
    },
    close() {
      // Another Allot may have opened the driver since this one closed it.
      if (!isOpen) return closed
      release()
      if (count() === 0) closed = driver.close()
      return closed
    },
    requireOpen() {
      if (!isOpen) throw new StorageError('closed', 'the store is not open')
    },
  }
}

/** The driver for one Allot, which something can observe later. */
export const observedDriver = (driver: StorageDriver): ObservedDriver => {
  let around: Around = (_operation, run) => run()
  const { requireOpen, ...openings } = forOneAllot(driver)
  const wrapped = wrapDriver(driver, async (operation, run) => {
    requireOpen()
    return around(operation, run)
  })
  return {
    driver: { ...wrapped, ...openings },
    observe(outer) {
      const inner = around
      around = (operation, run) => outer(operation, () => inner(operation, run))
    },
  }
}
