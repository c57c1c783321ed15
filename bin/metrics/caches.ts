import { subscribe } from 'node:diagnostics_channel'
import { Counter, Gauge, type Registry } from 'prom-client'
import { nameOfCache } from '../../lib/caches.ts'

interface Told {
  op?: string
  get?: 'hit' | 'miss' | 'fetching'
  cache?: { size: number }
}

/** lru-cache makes nothing of what it tells while nobody listens, so that this costs nothing when it is off. */
export const measureCaches = (registry: Registry): void => {
  const seen = new Map<object, string>()
  const asked = new Counter({
    name: 'allot_cache_requests_total',
    help: 'What was looked for in memory: the quota of owners, and who has which token.',
    labelNames: ['cache', 'outcome'],
    registers: [registry],
  })
  new Gauge({
    name: 'allot_cache_entries',
    help: 'What is held in memory.',
    labelNames: ['cache'],
    registers: [registry],
    collect() {
      for (const [cache, name] of seen) this.set({ cache: name }, (cache as { size: number }).size)
    },
  })
  subscribe('lru-cache:metrics', (message) => {
    const { op, get, cache } = message as Told
    if (op !== 'get' || cache === undefined) return
    const name = seen.get(cache) ?? nameOfCache(cache)
    if (name === undefined) return
    seen.set(cache, name)
    asked.inc({ cache: name, outcome: get === 'hit' ? 'hit' : 'miss' })
  })
}
