import { filledStore, scaled } from './instance.ts'
import { READS } from './reads.ts'
import { type Bench, inTurns, type Measurement } from './report/measure.ts'
import { host } from './servers/index.ts'
import { loadWith } from './servers/load.ts'

/**
 * The reads of the instance, in turns with another server of the same API. What it has in it is its own affair: only
 * requests are made that any token may make.
 */
export const beside = (scale: number, url: string, token: string): Bench => ({
  name: 'peer',
  sendsLoad: true,
  async run({ rounds, say }) {
    const shape = scaled(scale)
    const served = await host('instance', await filledStore(shape), String(shape.people))
    const base = url.replace(/\/+$/, '').replace(/\/api\/v1$/, '')
    try {
      const measured: Measurement[] = []
      for (const [path] of READS.filter(([path]) => !path.startsWith('/repos/root/'))) {
        say(path)
        const own = `http://127.0.0.1:${served.port}`
        const [value, reference] = (await inTurns(rounds, [
          async () =>
            (
              await loadWith({ base: own, path: `/api/v1${path}`, tokens: [served.told.largest] })
            ).rate,
          async () => (await loadWith({ base, path: `/api/v1${path}`, tokens: [token] })).rate,
        ])) as [number, number]
        measured.push({ name: `\`GET ${path}\``, value, reference, unit: 'requests/s', against: base })
      }
      return measured
    } finally {
      await served.stop()
    }
  },
})
