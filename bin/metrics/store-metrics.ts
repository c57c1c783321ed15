import { Counter, Gauge, Histogram, type Registry } from 'prom-client'
import { type StorageDriver, StorageError } from '../../lib/storage/index.ts'

type Operation = 'read' | 'write'

/** From a fiftieth of a millisecond, which LevelDB takes when it is warm, to what nobody waits for. */
const SECONDS = [0.00002, 0.0001, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.1, 0.5, 2.5, 10]

/** The same driver, and how long it takes. */
export const measuredDriver = (registry: Registry, driver: StorageDriver): StorageDriver => {
  const registers = [registry]
  const time = new Histogram({
    name: 'allot_store_operation_duration_seconds',
    help: 'How long transactions of the store take.',
    labelNames: ['operation'],
    buckets: SECONDS,
    registers,
  })
  const failures = new Counter({
    name: 'allot_store_failures_total',
    help: 'Transactions that the store itself failed, by why.',
    labelNames: ['operation', 'reason'],
    registers,
  })
  const open = { read: 0, write: 0 }
  new Gauge({
    name: 'allot_store_operations_in_flight',
    help: 'Transactions that are under way.',
    labelNames: ['operation'],
    registers,
    collect() {
      for (const [operation, count] of Object.entries(open)) this.set({ operation }, count)
    },
  })
  const timers = { read: time.labels('read'), write: time.labels('write') }
  const measured = async <T>(operation: Operation, work: () => Promise<T>): Promise<T> => {
    const begun = performance.now()
    open[operation]++
    try {
      return await work()
    } catch (error) {
      if (error instanceof StorageError) failures.inc({ operation, reason: error.reason })
      throw error
    } finally {
      open[operation]--
      timers[operation].observe((performance.now() - begun) / 1000)
    }
  }
  return {
    name: driver.name,
    shared: driver.shared,
    open: () => driver.open(),
    read: (work, options) => measured('read', () => driver.read(work, options)),
    write: (work) => measured('write', () => driver.write(work)),
    close: () => driver.close(),
  }
}
