import * as v from 'valibot'

const UNITS: Record<string, number> = { B: 1, KiB: 1024, MiB: 1024 ** 2, GiB: 1024 ** 3, TiB: 1024 ** 4 }
const SIZE = /^(\d+(?:\.\d+)?) ?(B|KiB|MiB|GiB|TiB)$/

/** Bytes, as a number or as `"2 GiB"`. */
export const Size = v.pipe(
  v.union([v.number(), v.string()]),
  v.rawTransform(({ dataset, addIssue, NEVER }) => {
    const bytes = typeof dataset.value === 'number' ? dataset.value : bytesIn(dataset.value)
    if (Number.isSafeInteger(bytes) && bytes >= -1) return bytes
    addIssue({ message: 'expected bytes, as a whole number or as in "2 GiB"' })
    return NEVER
  }),
)

const bytesIn = (text: string): number => {
  const [, number, unit] = SIZE.exec(text) ?? []
  return unit === undefined ? Number.NaN : Math.round(Number(number) * UNITS[unit]!)
}

export const count = (most: number) => v.pipe(v.number(), v.integer(), v.minValue(1), v.maxValue(most))

export const milliseconds = (most: number, fallback: number) => v.optional(count(most), fallback)
export const HOUR = 60 * 60 * 1000
export const DAY = 24 * HOUR
