/** The share of something in a whole: in percent, and as a short bar. */

const percentOf = (part: number, whole: number): number =>
  whole > 0 ? Math.min(100, (100 * Number(part)) / Number(whole)) : 0

/** `12%`, or `< 1%` */
export const formatShare = (part: number, whole: number): string => {
  const percent = percentOf(part, whole)
  return percent > 0 && percent < 1 ? '< 1%' : `${Math.round(percent)}%`
}

interface ShareProps {
  part: number
  whole: number
  class?: string
}

/** A cell of a number column; narrow screens leave the bar out. */
export const ShareCell = ({ part, whole, class: className }: ShareProps) => {
  const percent = percentOf(part, whole)
  return (
    <td class={['number share', className].filter(Boolean).join(' ')}>
      {formatShare(part, whole)}
      <svg class="bar thin" aria-hidden="true">
        <rect class="track" width="100%" height="100%" />
        <rect class="part0" width={`${percent.toFixed(1)}%`} height="100%" />
      </svg>
    </td>
  )
}
