import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { Counter, Gauge, Histogram, type Registry } from 'prom-client'
import { nameOfCache } from '../caches.ts'
import { type ObservedDriver, StorageError } from '../storage/index.ts'

/** Buckets of the histogram of transactions, in seconds. A warm LevelDB needs 20 µs. */
const TRANSACTION_BUCKETS = [0.00002, 0.0001, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.1, 0.5, 2.5, 10]

/** Measures the transactions of a driver from now on. */
export const measureDriver = (registry: Registry, observe: ObservedDriver['observe']): void => {
  const registers = [registry]
  const durations = new Histogram({
    name: 'allot_store_operation_duration_seconds',
    help: 'Seconds that transactions of the store take.',
    labelNames: ['operation'],
    registers,
    buckets: TRANSACTION_BUCKETS,
  })
  const failures = new Counter({
    name: 'allot_store_failures_total',
    help: 'Transactions that failed in the store itself, by reason.',
    labelNames: ['operation', 'reason'],
    registers,
  })
  const inFlight = new Gauge({
    name: 'allot_store_operations_in_flight',
    help: 'Transactions in progress.',
    labelNames: ['operation'],
    registers,
  })
  observe(async (operation, run) => {
    const stopTimer = durations.startTimer({ operation })
    inFlight.inc({ operation })
    try {
      return await run()
    } catch (error) {
      if (error instanceof StorageError) failures.inc({ operation, reason: error.reason })
      throw error
    } finally {
      inFlight.dec({ operation })
      stopTimer()
    }
  })
}

const CHANNEL = 'lru-cache:metrics'
/** The messages of lru-cache on its diagnostics channel. It publishes only while there are subscribers. */
interface CacheEvent {
  op?: string
  get?: 'hit' | 'miss' | 'fetching'
  cache?: { size: number }
}

/** Measures the caches of the process, until the Allot closes. */
export const measureCaches = (registry: Registry, closing: AbortSignal): void => {
  const registers = [registry]
  const lookups = new Counter({
    name: 'allot_cache_requests_total',
    help: 'Lookups in the named caches, by outcome.',
    labelNames: ['cache', 'outcome'],
    registers,
  })
  const caches = new Map<{ size: number }, ReturnType<typeof countersOf>>()
  const countersOf = (name: string) => {
    const counters = { name, hit: lookups.labels(name, 'hit'), miss: lookups.labels(name, 'miss') }
    counters.hit.inc(0)
    counters.miss.inc(0)
    return counters
  }
  new Gauge({
    name: 'allot_cache_entries',
    help: 'Entries in the caches.',
    labelNames: ['cache'],
    registers,
    collect() {
      for (const [{ size }, { name }] of caches) this.set({ cache: name }, size)
    },
  })
  const count = (message: unknown) => {
    const { op, get, cache } = message as CacheEvent
    const name = op === 'get' && cache !== undefined ? nameOfCache(cache) : undefined
    if (cache === undefined || name === undefined) return
    const counters = caches.get(cache) ?? countersOf(name)
    caches.set(cache, counters)
    counters[get === 'hit' ? 'hit' : 'miss'].inc()
  }
  if (closing.aborted) return
  subscribe(CHANNEL, count)
  closing.addEventListener('abort', () => unsubscribe(CHANNEL, count))
}
