import * as v from 'valibot'
import { isLimit, parseSize } from './byte-sizes.ts'

/** Bytes, as a number or as `"2 GiB"`. */
export const Size = v.pipe(
  v.union([v.number(), v.string()]),
  v.rawTransform(({ dataset, addIssue, NEVER }) => {
    const bytes = typeof dataset.value === 'number' ? dataset.value : parseSize(dataset.value)
    if (isLimit(bytes)) return bytes
    addIssue({ message: 'expected bytes, as a whole number or as in "2 GiB"' })
    return NEVER
  }),
)

export const count = (limit: number) => v.pipe(v.number(), v.integer(), v.minValue(1), v.maxValue(limit))

export const milliseconds = (limit: number, fallback: number) => v.optional(count(limit), fallback)
export const HOUR = 60 * 60 * 1000
export const DAY = 24 * HOUR
