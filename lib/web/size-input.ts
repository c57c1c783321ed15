import * as v from 'valibot'
import { invalid } from '../errors.ts'
import { Size } from '../option-types.ts'

const UNLIMITED = -1
const UNITS = ['TiB', 'GiB', 'MiB', 'KiB'] as const
const SIZES = { TiB: 1024 ** 4, GiB: 1024 ** 3, MiB: 1024 ** 2, KiB: 1024 }

/** `2 GiB`, a number of bytes, or `unlimited`: what a limit is written as, to the byte. */
export const formatLimit = (limit: number): string => {
  if (limit === UNLIMITED) return 'unlimited'
  const unit = UNITS.find((one) => limit > 0 && limit % SIZES[one] === 0)
  return unit === undefined ? String(limit) : `${limit / SIZES[unit]} ${unit}`
}

/** @throws AllotError invalid for what is no size */
export const parseLimit = (text: string): number => {
  if (/^unlimited$/i.test(text)) return UNLIMITED
  const plain = text.replace(/(?<=\d)[,_ ](?=\d{3})/g, '')
  const size = plain.replace(
    /^(.*\d) ?([kmgt])ib$/i,
    (_, number, unit) => `${number} ${unit.toUpperCase()}iB`,
  )
  const result = v.safeParse(Size, /^-?\d+$/.test(plain) ? Number(plain) : size)
  if (result.success) return result.output
  throw invalid(`limit: expected a size such as 2 GiB, a number of bytes, or unlimited, and not "${text}"`)
}
