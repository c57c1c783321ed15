/** The share of something in a whole: in percent, and as a short bar. */
import type { Column } from '../parts/list.tsx'

const percentOf = (part: number, whole: number): number =>
  whole > 0 ? Math.min(100, (100 * Number(part)) / Number(whole)) : 0

/** `12%`, or `< 1%` */
export const formatShare = (part: number, whole: number): string => {
  const percent = percentOf(part, whole)
  return percent > 0 && percent < 1 ? '< 1%' : `${Math.round(percent)}%`
}

/** A column of shares, with a bar that narrow screens leave out. */
export const shareColumn = <T,>(sizeOf: (item: T) => number, whole: number, more = ''): Column<T, never> => ({
  head: 'Of total',
  class: `number share${more}`,
  cell: (item) => (
    <>
      {formatShare(sizeOf(item), whole)}
      <svg class="bar thin" aria-hidden="true">
        <rect class="track" width="100%" height="100%" />
        <rect class="part0" width={`${percentOf(sizeOf(item), whole).toFixed(1)}%`} height="100%" />
      </svg>
    </>
  ),
})
