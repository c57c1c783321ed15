/** Which owners the table shows, in which order: from the query of the page, and in links to the same page. */
import { growthIn, type InstanceHistory, type OwnerSummary } from '../../content/instance-overview.ts'
import type { Sum } from '../../integers.ts'
import { pageNumber } from '../components.tsx'
import type { PageServices } from '../route.ts'

const SORTS = ['name', 'used', 'share', 'growth'] as const
export const STATES = {
  over: 'Over quota',
  near: 'Near the limit',
  within: 'Within quota',
  unlimited: 'Without a limit',
} as const
type State = keyof typeof STATES

export interface OwnerQuery {
  readonly search: string
  readonly group: string
  readonly state: State | undefined
  readonly sort: (typeof SORTS)[number]
  readonly isReverse: boolean
  readonly page: number
}

export const queryIn = (query: URLSearchParams): OwnerQuery => {
  const state = query.get('state') ?? ''
  return {
    search: query.get('q')?.trim().slice(0, 255) ?? '',
    group: query.get('group') ?? '',
    state: Object.hasOwn(STATES, state) ? (state as State) : undefined,
    sort: SORTS.find((sort) => sort === query.get('sort')) ?? 'used',
    isReverse: query.get('order') === 'reverse',
    page: pageNumber(query),
  }
}

export const pathOf = (
  { search, group, state, sort, isReverse, page: number }: OwnerQuery,
  file = 'owners',
): string => {
  const query = new URLSearchParams()
  const given = {
    q: search,
    group,
    state,
    sort: sort === 'used' ? '' : sort,
    order: isReverse ? 'reverse' : '',
  }
  for (const [name, value] of Object.entries(given)) if (value) query.set(name, value)
  if (number > 1) query.set('page', String(number))
  return `/-/admin/${file}${query.size === 0 ? '' : `?${query}`}`
}

export type OwnerRow = OwnerSummary & {
  readonly growth: Sum
  /** Place in the order of names. */
  readonly position: number
}

export const rowsFor = async (
  { hosting, settings }: PageServices,
  query: OwnerQuery,
): Promise<OwnerRow[]> => {
  const [{ owners }, history] = [
    await hosting.overview.owners(settings.warnAt),
    await hosting.overview.history(),
  ]
  const search = query.search.toLowerCase()
  return owners
    .filter(
      (owner) =>
        (query.state === undefined || owner.state === query.state) &&
        (query.group === '' || owner.groups.includes(query.group)) &&
        (owner.name.toLowerCase().includes(search) || owner.fullName.toLowerCase().includes(search)),
    )
    .map((owner, position) => ({ ...owner, position, growth: growthOf(history, owner) }))
    .sort(orderOf(query))
}

const growthOf = (history: InstanceHistory | undefined, owner: OwnerSummary): Sum =>
  history === undefined ? 0 : growthIn(history, owner)

/** The owners are sorted by name already, and the sort is stable. */
const orderOf =
  ({ sort, isReverse }: OwnerQuery) =>
  (left: OwnerRow, right: OwnerRow): number =>
    isReverse ? -ORDERS[sort](left, right) : ORDERS[sort](left, right)

const ORDERS: Readonly<Record<OwnerQuery['sort'], (left: OwnerRow, right: OwnerRow) => number>> = {
  name: (left, right) => left.position - right.position,
  used: (left, right) => Number(right.used) - Number(left.used),
  share: (left, right) => right.share - left.share,
  growth: (left, right) => Number(right.growth) - Number(left.growth),
}
