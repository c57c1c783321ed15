import type { Sum } from '../integers.ts'

const UNITS = ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB']

/** `1.5 MiB`: for people; three digits that matter. */
export const formatSize = (bytes: Sum): string => {
  let [size, unit] = [Math.abs(Number(bytes)), 0]
  // What would be shown as 1024 of one unit is 1 of the next.
  for (; size >= 1023.5 && unit < UNITS.length - 1; unit++) size /= 1024
  const digits = unit === 0 || size >= 100 ? 0 : size >= 10 ? 1 : 2
  const shown = Number(size.toFixed(digits)).toLocaleString('en')
  return `${bytes < 0 ? '−' : ''}${shown} ${UNITS[unit]}`
}

/** `1,572,864 bytes`: to the byte. */
export const formatBytes = (bytes: Sum): string =>
  bytes === 1 ? '1 byte' : `${bytes.toLocaleString('en')} bytes`

export const formatCount = (count: number, one: string, several = `${one}s`): string =>
  `${count.toLocaleString('en')} ${count === 1 ? one : several}`

/** `a, b and c` */
export const formatList = (words: readonly string[]): string =>
  words.length < 2 ? words.join('') : `${words.slice(0, -1).join(', ')} and ${words.at(-1)}`
