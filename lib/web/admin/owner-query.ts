/** The filters and the order of the table of owners, as query parameters of the page. */
import type { InstanceHistory } from '../../content/usage/instance-history.ts'
import type { OwnerOrder, OwnerSummary, OwnersSnapshot } from '../../content/usage/owners-snapshot.ts'
import { isSubject, type Subject } from '../../quota/subjects.ts'
import { foldCase } from '../../search/index.ts'
import { pageNumber, withQuery } from '../parts/paging.tsx'
import type { PageServices } from '../parts/route.ts'
import { STATE_NAMES, type State } from '../storage/state.tsx'

/** The orders that the query `sort` names; a record, so that the compiler asks for each. */
const SORTS: Readonly<Record<OwnerOrder, true>> = { name: true, used: true, share: true, growth: true }
const isSort = (name: string): name is OwnerOrder => Object.hasOwn(SORTS, name)

export interface OwnerQuery {
  readonly search: string
  readonly group: string
  /** What the limit counts; undefined for the limit that decides the state of each owner. */
  readonly subject: Subject | undefined
  readonly state: State | undefined
  readonly sort: OwnerOrder
  readonly isReverse: boolean
  readonly page: number
}

export const queryIn = (query: URLSearchParams): OwnerQuery => {
  const [state, subject] = [query.get('state') ?? '', query.get('subject') ?? '']
  const sort = query.get('sort') ?? ''
  return {
    search: query.get('q')?.trim().slice(0, 255) ?? '',
    group: query.get('group') ?? '',
    subject: isSubject(subject) ? subject : undefined,
    state: Object.hasOwn(STATE_NAMES, state) ? (state as State) : undefined,
    sort: isSort(sort) ? sort : 'used',
    isReverse: query.get('order') === 'reverse',
    page: pageNumber(query),
  }
}

export const pathOf = (
  { search, group, subject, state, sort, isReverse, page }: OwnerQuery,
  file = 'owners',
): string =>
  withQuery(`/-/admin/${file}`, {
    q: search,
    group,
    subject,
    state,
    sort: sort !== 'used' && sort,
    order: isReverse && 'reverse',
    page: page > 1 && page,
  })

export interface OwnerRows {
  readonly rows: readonly OwnerSummary[]
  /** How all owners grew; undefined while it is not known. */
  readonly history: InstanceHistory | undefined
}

/** @returns undefined while the owners of a large instance are read for the first time */
export const rowsFor = async (
  { hosting }: PageServices,
  query: OwnerQuery,
): Promise<OwnerRows | undefined> => {
  const [owners, history] = await Promise.all([hosting.ownerTable.get(), hosting.instanceHistory.get()])
  return owners && { rows: await matching(owners, history, query), history }
}

const matching = async (
  owners: OwnersSnapshot,
  history: InstanceHistory | undefined,
  { search, group, subject, state, sort, isReverse }: OwnerQuery,
): Promise<readonly OwnerSummary[]> => {
  const compared = subject === undefined ? owners : await owners.regarding(subject)
  const sorted = compared.sorted(sort, isReverse, history)
  const words = foldCase(search)
  if (words === '' && group === '' && state === undefined) return sorted
  return sorted.filter(
    (owner) =>
      (state === undefined || owner.state === state) &&
      (group === '' || owner.groups.some(({ name }) => name === group)) &&
      owner.text.includes(words),
  )
}
