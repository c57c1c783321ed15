import { filledStore, READS, scaled } from './instance.ts'
import { type Bench, inTurns, type Measurement } from './measure.ts'
import { host, loadWith } from './servers.ts'

/**
 * The reads of the instance, in turns with another server of the same API. What it has in it is its own affair: only
 * requests are made that any token may make.
 */
export const beside = (scale: number, url: string, token: string): Bench => ({
  name: 'peer',
  async run({ rounds, say }) {
    const shape = scaled(scale)
    const served = await host('instance', await filledStore(shape), String(shape.people))
    const base = url.replace(/\/+$/, '').replace(/\/api\/v1$/, '')
    try {
      const measured: Measurement[] = []
      for (const [name, path] of READS.filter(([, one]) => !one.startsWith('/users/'))) {
        say(path)
        const own = `http://127.0.0.1:${served.port}`
        const [value, reference] = (await inTurns(rounds, [
          async () =>
            (
              await loadWith({ base: own, path: `/api/v1${path}`, tokens: [served.told.largest] })
            ).rate,
          async () => (await loadWith({ base, path: `/api/v1${path}`, tokens: [token] })).rate,
        ])) as [number, number]
        measured.push({ name, value, reference, unit: 'requests/s', against: base })
      }
      return measured
    } finally {
      await served.stop()
    }
  },
})
