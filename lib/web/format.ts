import * as v from 'valibot'
import { invalid } from '../errors.ts'
import type { Sum } from '../integers.ts'
import { Size } from '../option-types.ts'

const UNITS = ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB']

/** `1.5 MiB`: rounded to three significant digits. */
export const formatSize = (bytes: Sum): string => {
  let [size, unit] = [Math.abs(Number(bytes)), 0]
  // 1023.5 and more would round to 1024 of the unit, which is 1 of the next.
  for (; size >= 1023.5 && unit < UNITS.length - 1; unit++) size /= 1024
  const digits = unit === 0 || size >= 100 ? 0 : size >= 10 ? 1 : 2
  const shown = Number(size.toFixed(digits)).toLocaleString('en')
  return `${bytes < 0 ? '−' : ''}${shown} ${UNITS[unit]}`
}

/** `1,572,864 bytes` */
export const formatBytes = (bytes: Sum): string =>
  bytes === 1 ? '1 byte' : `${bytes.toLocaleString('en')} bytes`

/** `1 owner`, `2,000 owners` */
export const formatCount = (count: number, singular: string, plural = `${singular}s`): string =>
  `${count.toLocaleString('en')} ${count === 1 ? singular : plural}`

/** An error message as a sentence: error messages start in lower case and have no period. */
export const sentence = (message: string): string => `${message.charAt(0).toUpperCase()}${message.slice(1)}.`

const UNLIMITED = -1
const LIMIT_UNITS = ['TiB', 'GiB', 'MiB', 'KiB'] as const
const SIZES = { TiB: 1024 ** 4, GiB: 1024 ** 3, MiB: 1024 ** 2, KiB: 1024 }

/** The exact text of a limit in a form: `2 GiB`, a number of bytes, or `unlimited`. */
export const formatLimit = (limit: number): string => {
  if (limit === UNLIMITED) return 'unlimited'
  const unit = LIMIT_UNITS.find((one) => limit > 0 && limit % SIZES[one] === 0)
  return unit === undefined ? String(limit) : `${limit / SIZES[unit]} ${unit}`
}

/** Reads the text of a limit in a form. @throws AllotError invalid */
export const parseLimit = (text: string): number => {
  if (/^unlimited$/i.test(text)) return UNLIMITED
  const plain = text.replace(/(?<=\d)[,_ ](?=\d{3})/g, '')
  const size = plain.replace(
    /^(.*\d) ?([kmgt])ib$/i,
    (_, number, unit) => `${number} ${unit.toUpperCase()}iB`,
  )
  const result = v.safeParse(Size, /^-?\d+$/.test(plain) ? Number(plain) : size)
  if (result.success) return result.output
  throw invalid(`limit: expected a size such as 2 GiB, a number of bytes, or "unlimited", got "${text}"`)
}
