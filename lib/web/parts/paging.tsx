/** The pages of a list: their numbers in queries, and the links between them. */
import type { ComponentChildren } from 'preact'
import type { Slice } from '../../records/pages.ts'
import { Empty, usePageContext } from './components.tsx'

const PAGE_SIZE = 50
const MAX_PAGE = 1_000_000

/** The number in `?page=`, or in another parameter, or 1 when it is missing or invalid. */
export const pageNumber = (query: URLSearchParams, name = 'page'): number => {
  const number = Number(query.get(name) ?? 1)
  return Number.isInteger(number) && number >= 1 && number <= MAX_PAGE ? number : 1
}

export const sliceOf = (page: number): Slice => ({ offset: (page - 1) * PAGE_SIZE, limit: PAGE_SIZE })

/** A path with those of the values that are neither empty nor false, as its query. */
export const withQuery = (
  path: string,
  values: Readonly<Record<string, string | number | false | undefined>>,
): string => {
  const query = new URLSearchParams()
  for (const [name, value] of Object.entries(values)) if (value) query.set(name, String(value))
  return query.size === 0 ? path : `${path}?${query}`
}

interface EmptyPageProps {
  /** Items on all pages. */
  total: number
  /** What stands in the place of a list without items. */
  children?: ComponentChildren
}

/** Stands in the place of the items of a page that has none: the list is empty, or ends before the page. */
export const EmptyPage = ({ total, children }: EmptyPageProps) =>
  total === 0 ? (
    children
  ) : (
    <Empty title="Nothing on this page">
      <p>The list ends before it.</p>
    </Empty>
  )

/** Texts of the links. */
type PageNames = Partial<typeof NAMES>

interface PagesProps {
  /** @returns the path of a page of the list */
  to: (page: number) => string
  page: number
  /** Items on all pages. */
  total: number
  /** Items on each page. */
  size?: number
  /** The total in words, such as `230 entries`. */
  count?: string
  names?: PageNames | undefined
  label?: string | undefined
}

/** Links to the first, the previous, the next and the last page of a list. */
export const Pages = ({ to, page, total, size = PAGE_SIZE, count, ...more }: PagesProps) => {
  const last = Math.max(1, Math.ceil(total / size))
  return last === 1 && page === 1 ? null : (
    <PageLinks
      text={[`Page ${page.toLocaleString('en')} of ${last.toLocaleString('en')}`, count]
        .filter(Boolean)
        .join(' · ')}
      first={page > 1 ? to(1) : undefined}
      previous={page > 1 ? to(Math.min(page - 1, last)) : undefined}
      next={page < last ? to(page + 1) : undefined}
      last={page < last ? to(last) : undefined}
      {...more}
    />
  )
}

interface PageLinksProps {
  /** Where the page is in the list, such as `Page 2 of 9`. */
  text?: string
  /** Paths of other pages; undefined for those that do not exist, or are unknown. */
  first?: string | undefined
  previous?: string | undefined
  next?: string | undefined
  last?: string | undefined
  names?: PageNames | undefined
  /** What screen readers call the links. */
  label?: string | undefined
}

/** The label of the links above a long list, which has the same links below. */
export const PAGES_ABOVE = 'Pages of the list, above it'

const NAMES = { first: 'First', previous: 'Previous', next: 'Next', last: 'Last' }
const RELATIONS = { previous: 'prev', next: 'next' } as const

/** Links between the pages of a list. A list whose end is not known yet has no last page. */
export const PageLinks = ({ text, names, label = 'Pages of the list', ...paths }: PageLinksProps) => {
  const { urlOf } = usePageContext()
  const links = (['first', 'previous', 'next', 'last'] as const).filter((link) => paths[link] !== undefined)
  return links.length === 0 ? null : (
    <nav class="pages" aria-label={label}>
      {text !== undefined && <span>{text}</span>}
      {links.map((link) => (
        <a key={link} href={urlOf(paths[link]!)} rel={RELATIONS[link as keyof typeof RELATIONS]}>
          {{ ...NAMES, ...names }[link]}
        </a>
      ))}
    </nav>
  )
}

interface ChoicesProps<T extends string> {
  /** What screen readers call the links. */
  label: string
  choices: readonly (readonly [value: T, text: string])[]
  chosen: T
  /** @returns the path of the page with a choice */
  to: (value: T) => string
}

/** Links to the same page with each of several choices. */
export const Choices = <T extends string>({ label, choices, chosen, to }: ChoicesProps<T>) => {
  const { urlOf } = usePageContext()
  return (
    <nav class="choices" aria-label={label}>
      {choices.map(([value, text]) => (
        <a key={value} href={urlOf(to(value))} aria-current={value === chosen ? 'true' : undefined}>
          {text}
        </a>
      ))}
    </nav>
  )
}
