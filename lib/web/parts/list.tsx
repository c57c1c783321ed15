/** Lists and tables: each is declared with what it shows. */
import type { ComponentChildren, Key, RenderableProps, VNode } from 'preact'
import type { IconName } from '../styles/icons.ts'
import { Count, Section, type SectionProps, usePageContext } from './components.tsx'
import { Dots, Named } from './inline.tsx'
import { EmptyPage, Pages } from './paging.tsx'

interface ListProps<T> extends SectionProps {
  /** The items of the page. */
  readonly items: readonly T[]
  /** Items on all pages. */
  readonly total?: number
  /** What one item is called, and several when that is not the same with an `s`. */
  readonly counted?: string | readonly [singular: string, plural: string]
  /** Stands in the place of an empty list. */
  readonly empty: ComponentChildren
  /** An item as a row; a list that is a table or a form shows its items itself, as its children. */
  readonly row?: (item: T) => VNode
  readonly page?: number
  /** @returns the path of a page of the list; absent for a list on one page */
  readonly to?: (page: number) => string
  /** What screen readers call the links between pages. */
  readonly label?: string
  /** Above the items, such as a filter, and below the links to other pages. */
  readonly above?: ComponentChildren
  readonly below?: ComponentChildren
}

/** A section with a list: how many items it has, those of a page, and the links to its other pages. */
export const List = <T,>({
  items,
  total = items.length,
  row,
  to,
  page = 1,
  ...more
}: RenderableProps<ListProps<T>>) => {
  const { counted, empty, label, above, below, children, ...section } = more
  const [singular = '', plural] = [counted ?? []].flat()
  return (
    <Section
      {...(counted !== undefined && { aside: <Count of={total} singular={singular} plural={plural} /> })}
      {...section}
    >
      {above}
      {items.length === 0 ? (
        <EmptyPage total={total}>{empty}</EmptyPage>
      ) : row === undefined ? (
        children
      ) : (
        <ul class="plain rows">{items.map(row)}</ul>
      )}
      {to !== undefined && <Pages to={to} page={page} total={total} label={label} />}
      {below}
    </Section>
  )
}

/** A line of facts, below the name of a row or opposite it. */
export const Facts = ({ facts }: { facts: readonly ComponentChildren[] }) => (
  <div class="small">
    <Dots facts={facts} />
  </div>
)

/** The name of a row that has no page. */
export const Strong = ({ children }: RenderableProps<unknown>) => (
  <strong>
    <bdi>{children}</bdi>
  </strong>
)

interface RowProps {
  readonly icon: IconName
  /** Of the color of the icon. */
  readonly class?: string
  readonly name: ComponentChildren
  /** Below the name. */
  readonly facts?: readonly ComponentChildren[]
  /** Opposite the name. */
  readonly aside?: ComponentChildren
}

/** A row of a list, with what is below its facts as its children. */
export const Row = ({ icon, class: className, name, facts, aside, children }: RenderableProps<RowProps>) => (
  <li class="line">
    <Named icon={icon} class={className}>
      {name}
      {facts !== undefined && <Facts facts={facts} />}
      {children}
    </Named>
    {aside}
  </li>
)

/** A column of a table of items, which can sort it. */
export interface Column<T, S extends string = string> {
  readonly head: ComponentChildren
  /** Of the head and the cells: `number`, `check`, or `wide` where narrow screens have no space for it. */
  readonly class?: string
  readonly cell?: (item: T) => ComponentChildren
  /** Further classes of the cells. */
  readonly cellClass?: string
  /** The order that the head sorts by. */
  readonly by?: S
}

/**
 * The order of a table, and the paths of its other orders. Names begin with the first, everything else with
 * the largest.
 */
export interface Sorting<S extends string> {
  readonly sort: S | undefined
  readonly isReverse: boolean
  readonly pathOf: (sort: S, isReverse: boolean) => string
}

interface TableProps<T, S extends string> {
  readonly columns: readonly (Column<T, S> | false)[]
  /** The rows; a table whose rows are not all alike has them as its children. */
  readonly items?: readonly T[]
  readonly keyOf?: (item: T) => Key
  readonly class?: string
  readonly sorting?: Sorting<S>
}

export const Table = <T, S extends string = string>(props: RenderableProps<TableProps<T, S>>) => {
  const { columns, items = [], keyOf, class: className, sorting, children } = props
  const shown = columns.filter((column) => column !== false)
  return (
    <table class={className}>
      <thead>
        <tr>
          {shown.map((column, index) => (
            <Head key={index} {...column} sorting={sorting} />
          ))}
        </tr>
      </thead>
      <tbody>
        {items.map((item) => (
          <tr key={keyOf?.(item)}>
            {shown.map(({ class: ofColumn, cellClass, cell }, index) => (
              <td key={index} class={[ofColumn, cellClass].filter(Boolean).join(' ') || undefined}>
                {cell?.(item)}
              </td>
            ))}
          </tr>
        ))}
        {children}
      </tbody>
    </table>
  )
}

type HeadProps<T, S extends string> = Column<T, S> & { sorting: Sorting<S> | undefined }

/** The head of a column, which sorts the table by it, and the other way around when it is sorted by it. */
const Head = <T, S extends string>({ head, class: className, by, sorting }: HeadProps<T, S>) => {
  const { urlOf } = usePageContext()
  if (by === undefined || sorting === undefined)
    return (
      <th scope="col" class={className}>
        {head}
      </th>
    )
  const isSorted = sorting.sort === by
  const isDescending = (by === 'name') === sorting.isReverse
  return (
    <th
      scope="col"
      class={className}
      aria-sort={isSorted ? (isDescending ? 'descending' : 'ascending') : undefined}
    >
      <a href={urlOf(sorting.pathOf(by, isSorted && !sorting.isReverse))}>
        {head}
        {isSorted && (isDescending ? ' ↓' : ' ↑')}
      </a>
    </th>
  )
}
