import { subscribe } from 'node:diagnostics_channel'
import { Counter, Gauge, type Registry } from 'prom-client'
import { nameOfCache } from '../../lib/caches.ts'

interface Told {
  op?: string
  get?: 'hit' | 'miss' | 'fetching'
  cache?: { size: number }
}

interface Seen {
  name: string
  hit: number
  miss: number
}

/** lru-cache makes nothing of what it tells while nobody listens, so that this costs nothing when it is off. */
export const measureCaches = (registry: Registry): void => {
  const seen = new Map<{ size: number }, Seen>()
  new Counter({
    name: 'allot_cache_requests_total',
    help: 'What was looked for in memory: the quota of owners, and who has which token.',
    labelNames: ['cache', 'outcome'],
    registers: [registry],
    collect() {
      this.reset()
      for (const { name: cache, hit, miss } of seen.values()) {
        this.inc({ cache, outcome: 'hit' }, hit)
        this.inc({ cache, outcome: 'miss' }, miss)
      }
    },
  })
  new Gauge({
    name: 'allot_cache_entries',
    help: 'What is held in memory.',
    labelNames: ['cache'],
    registers: [registry],
    collect() {
      for (const [{ size }, { name }] of seen) this.set({ cache: name }, size)
    },
  })
  subscribe('lru-cache:metrics', (message) => {
    const { op, get, cache } = message as Told
    if (op !== 'get' || cache === undefined) return
    let counts = seen.get(cache)
    if (counts === undefined) {
      const name = nameOfCache(cache)
      if (name === undefined) return
      counts = { name, hit: 0, miss: 0 }
      seen.set(cache, counts)
    }
    counts[get === 'hit' ? 'hit' : 'miss']++
  })
}
