import { subscribe } from 'node:diagnostics_channel'
import { Counter, Gauge, Histogram, type Registry } from 'prom-client'
import { nameOfCache } from '../../lib/caches.ts'
import { type StorageDriver, StorageError } from '../../lib/storage/index.ts'

type Operation = 'read' | 'write'

/** In seconds, from 20 µs, which a warm LevelDB needs. */
const BUCKETS = [0.00002, 0.0001, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.1, 0.5, 2.5, 10]

/** Wraps a driver, to measure its transactions. */
export const measureTransactions = (registry: Registry, driver: StorageDriver): StorageDriver => {
  const registers = [registry]
  const durations = new Histogram({
    name: 'allot_store_operation_duration_seconds',
    help: 'Seconds that transactions of the store take.',
    labelNames: ['operation'],
    buckets: BUCKETS,
    registers,
  })
  const failures = new Counter({
    name: 'allot_store_failures_total',
    help: 'Transactions that failed in the store itself, by reason.',
    labelNames: ['operation', 'reason'],
    registers,
  })
  const inFlight = { read: 0, write: 0 }
  new Gauge({
    name: 'allot_store_operations_in_flight',
    help: 'Transactions in progress.',
    labelNames: ['operation'],
    registers,
    collect() {
      for (const [operation, count] of Object.entries(inFlight)) this.set({ operation }, count)
    },
  })
  const timers = { read: durations.labels('read'), write: durations.labels('write') }
  const measure = async <T>(operation: Operation, run: () => Promise<T>): Promise<T> => {
    const startedAt = performance.now()
    inFlight[operation]++
    try {
      return await run()
    } catch (error) {
      if (error instanceof StorageError) failures.inc({ operation, reason: error.reason })
      throw error
    } finally {
      inFlight[operation]--
      timers[operation].observe((performance.now() - startedAt) / 1000)
    }
  }
  return {
    name: driver.name,
    shared: driver.shared,
    open: () => driver.open(),
    read: (body, options) => measure('read', () => driver.read(body, options)),
    write: (body) => measure('write', () => driver.write(body)),
    close: () => driver.close(),
  }
}

/** What lru-cache publishes on its diagnostics channel. It publishes only while there are subscribers. */
interface CacheEvent {
  op?: string
  get?: 'hit' | 'miss' | 'fetching'
  cache?: { size: number }
}

interface CacheCounts {
  name: string
  hit: number
  miss: number
}

export const measureCaches = (registry: Registry): void => {
  const countsOf = new Map<{ size: number }, CacheCounts>()
  new Counter({
    name: 'allot_cache_requests_total',
    help: 'Lookups in the caches of quota usage and of tokens, by outcome.',
    labelNames: ['cache', 'outcome'],
    registers: [registry],
    collect() {
      this.reset()
      for (const { name: cache, hit, miss } of countsOf.values()) {
        this.inc({ cache, outcome: 'hit' }, hit)
        this.inc({ cache, outcome: 'miss' }, miss)
      }
    },
  })
  new Gauge({
    name: 'allot_cache_entries',
    help: 'Entries in the caches.',
    labelNames: ['cache'],
    registers: [registry],
    collect() {
      for (const [{ size }, { name }] of countsOf) this.set({ cache: name }, size)
    },
  })
  subscribe('lru-cache:metrics', (message) => {
    const { op, get, cache } = message as CacheEvent
    if (op !== 'get' || cache === undefined) return
    let counts = countsOf.get(cache)
    if (counts === undefined) {
      const name = nameOfCache(cache)
      if (name === undefined) return
      counts = { name, hit: 0, miss: 0 }
      countsOf.set(cache, counts)
    }
    counts[get === 'hit' ? 'hit' : 'miss']++
  })
}
