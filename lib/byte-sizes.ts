import type { Sum } from './integers.ts'

const UNITS = ['KiB', 'MiB', 'GiB', 'TiB', 'PiB']

/** Bytes as people say them: `1.2 GiB`. */
export const formatSize = (sum: Sum): string => {
  const bytes = Number(sum)
  if (Math.abs(bytes) < 1024) return `${bytes} B`
  let [value, unit] = [bytes / 1024, 0]
  // What would round to 1024 of a unit is one of the next.
  while (Math.abs(value) >= 1023.95 && unit < UNITS.length - 1) {
    value /= 1024
    unit++
  }
  return `${value.toFixed(1)} ${UNITS[unit]}`
}

/** To the byte: `1,234,567 bytes`. */
export const formatBytes = (bytes: Sum): string =>
  `${bytes.toLocaleString('en-US')} ${bytes === 1 ? 'byte' : 'bytes'}`

export const formatLimit = (limit: number | null): string =>
  limit === null || limit === -1 ? 'unlimited' : formatSize(limit)
