import { describeValue } from './errors.ts'

/**
 * Sizes in bytes as people write and read them, for the configuration, the command line and the pages.
 * Units are binary: 1 KiB is 1024 bytes.
 */
const UNITS = ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB', 'EiB']

const UNLIMITED = -1

/** Bytes of a size such as `2 GiB`, rounded to a whole number; undefined when the text is not a size. */
export const parseSize = (text: string): number | undefined => {
  const { number, unit } = SIZE.exec(text)?.groups ?? {}
  const power = UNITS.indexOf(unit ?? '')
  return power === -1 ? undefined : Math.round(Number(number) * 1024 ** power)
}

const SIZE = /^(?<number>\d+(?:\.\d+)?) ?(?<unit>\p{L}+)$/u

/**
 * The end of a message about a limit that cannot be read: an unknown unit, or a number that is too large;
 * empty for other faults.
 */
export const limitFault = (text: string): string => {
  const { unit } = SIZE.exec(text)?.groups ?? {}
  if (unit !== undefined && !UNITS.includes(unit))
    return `; "${unit}" is not a unit: use ${UNITS.slice(0, -1).join(', ')} or ${UNITS.at(-1)}, such as 10 GiB`
  const bytes = unit === undefined && /^\d+$/.test(text) ? Number(text) : (parseSize(text) ?? 0)
  return bytes > Number.MAX_SAFE_INTEGER
    ? `; the largest number is ${Number.MAX_SAFE_INTEGER}, one byte less than 8 PiB`
    : ''
}

/**
 * Bytes of a limit: a whole number, or a size such as `2 GiB`; -1 is unlimited. Undefined when the text is
 * neither.
 */
export const parseLimit = (text: string): number | undefined => {
  const bytes = /^-?\d+$/.test(text) ? Number(text) : parseSize(text)
  return isLimit(bytes) ? bytes : undefined
}

/** A share of a limit as people write it: `20%`, `20` or `0.2%`. */
export const PERCENTAGE = /^(?:100|\d{1,2}(?:\.\d+)?)%?$/

/** The message about a value that is neither bytes nor a size such as `2 GiB`. */
export const bytesFault = (input: unknown): string =>
  `expected bytes, as a whole number or as in "2 GiB", received ${describeValue(input)}${typeof input === 'object' ? '' : limitFault(String(input))}`

/** Whether a number can be a limit: whole bytes, or -1 for unlimited. */
export const isLimit = (bytes: number | undefined): bytes is number =>
  Number.isSafeInteger(bytes) && bytes! >= UNLIMITED

/** Three significant digits, such as `1.25 MiB` or `125 MiB`. */
export const formatSize = (bytes: number): string => {
  const [value, unit] = toUnit(bytes, 1023.5)
  const digits = unit === 'B' || value >= 100 ? 0 : value >= 10 ? 1 : 2
  return `${bytes < 0 ? '−' : ''}${Number(value.toFixed(digits)).toLocaleString('en')} ${unit}`
}

/** One decimal, such as `1.2 MiB`, so that the sizes in a column line up. */
export const formatSizeFixed = (bytes: number): string => {
  const [value, unit] = toUnit(bytes, 1023.95)
  return `${bytes < 0 ? '-' : ''}${unit === 'B' ? value : value.toFixed(1)} ${unit}`
}

/** @param rounded the smallest value that is displayed as 1024, which is 1 of the next unit */
const toUnit = (bytes: number, rounded: number): [value: number, unit: string] => {
  let [value, index] = [Math.abs(bytes), 0]
  for (; value >= rounded && index < UNITS.length - 1; index++) value /= 1024
  return [value, UNITS[index]!]
}

/** The exact number, such as `1,234,567 bytes`. */
export const formatBytes = (bytes: number): string =>
  bytes === 1 ? '1 byte' : `${bytes.toLocaleString('en')} bytes`

/** `unlimited`, or the size with one decimal. */
export const formatLimit = (limit: number | null): string =>
  limit === null || limit === UNLIMITED ? 'unlimited' : formatSizeFixed(limit)

/** `unlimited`, or exactly this limit: `2 GiB`, or `1,234,567 bytes` where no larger unit is exact. */
export const formatExactLimit = (limit: number): string => {
  if (limit === UNLIMITED) return 'unlimited'
  for (let power = UNITS.length - 1; power > 0 && limit > 0; power--)
    if (limit % 1024 ** power === 0) return `${limit / 1024 ** power} ${UNITS[power]}`
  return formatBytes(limit)
}
