/** Sizes in the text of pages, whose number and unit stay on one line. */
import * as sizes from '../../byte-sizes.ts'
import type { Sum } from '../../integers.ts'

const whole = (text: string): string => text.replaceAll(' ', '\u00a0')

/** `1.25 MiB` */
export const formatSize = (bytes: Sum): string => whole(sizes.formatSize(bytes))

/** A limit as it was written: a number of bytes, a size, or `unlimited`. */
export const formatExactLimit = (limit: number): string => whole(sizes.formatExactLimit(limit))
