/** Sizes in the text of pages, whose number and unit stay on one line. */
import { formatExactLimit, formatSize } from '../../byte-sizes.ts'

const unbroken = (text: string): string => text.replaceAll(' ', '\u00a0')

/** `1.25 MiB` */
export const unbrokenSize = (bytes: number): string => unbroken(formatSize(bytes))

/** A limit as it was written: a number of bytes, a size, or `unlimited`. */
export const unbrokenLimit = (limit: number): string => unbroken(formatExactLimit(limit))
