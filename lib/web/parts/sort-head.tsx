import { usePageContext } from './components.tsx'

/**
 * The order of a table, and the paths of its other orders. Names begin with the first, everything else with
 * the largest.
 */
export interface Sorting<S extends string> {
  readonly sort: S | undefined
  readonly isReverse: boolean
  readonly pathOf: (sort: S, isReverse: boolean) => string
}

interface SortHeadProps<S extends string> extends Sorting<S> {
  by: S
  text: string
  class?: string
}

/** The head of a column, which sorts the table by it, and the other way around when it is sorted by it. */
export const SortHead = <S extends string>(props: SortHeadProps<S>) => {
  const { sort, isReverse, pathOf, by, text, class: className } = props
  const isSorted = sort === by
  const isDescending = (by === 'name') === isReverse
  const sorted = isSorted ? (isDescending ? 'descending' : 'ascending') : undefined
  return (
    <th scope="col" class={className} aria-sort={sorted}>
      <a href={usePageContext().urlOf(pathOf(by, isSorted && !isReverse))}>
        {text}
        {isSorted && (isDescending ? ' ↓' : ' ↑')}
      </a>
    </th>
  )
}
