import { invalid } from '../errors.ts'

/** What a list has without `page` and `limit` in its query: the first page, or everything. */
export type Paging = 'pages' | 'whole'

export interface PageLimits {
  readonly default: number
  readonly max: number
}

/** The page of a list that a request asks for. */
export interface Pagination {
  /** Number of the page, from 1. */
  readonly number: number
  readonly limit: number
  readonly offset: number
}

/** More than a store has of what is listed as a whole; drivers take 32 bits. */
const EVERYTHING: Pagination = { number: 1, limit: 2 ** 31 - 1, offset: 0 }

/**
 * Pages count from 1. An absent limit and `limit=0` are the default; a larger one than the maximum is the
 * maximum.
 * @throws AllotError invalid for a `page` or `limit` that is not a whole number
 */
export const paginationOf = (query: URLSearchParams, paging: Paging, limits: PageLimits): Pagination => {
  if (paging === 'whole' && !query.has('page') && !query.has('limit')) return EVERYTHING
  const limit = Math.min(wholeNumber(query, 'limit') || limits.default, limits.max)
  const number = wholeNumber(query, 'page') || 1
  // Keeps the offset of a page far past the end exact.
  const offset = Math.min((number - 1) * limit, Number.MAX_SAFE_INTEGER - limits.max)
  return { number, limit, offset }
}

/** @returns 0 when the member is absent */
const wholeNumber = (query: URLSearchParams, name: string): number => {
  const text = query.get(name) ?? '0'
  if (!/^\d+$/.test(text)) throw invalid(`${name}: expected a whole number, not below 0`)
  return Math.min(Number(text), Number.MAX_SAFE_INTEGER)
}

/**
 * Headers that pages of other origins may read, besides the few that browsers always show them. A list names
 * them always, as peers do; with CORS on, every response does.
 */
export const EXPOSED_HEADERS =
  'Allow, Content-Disposition, Content-Range, ETag, Link, Location, Retry-After, WWW-Authenticate, X-Total-Count'

/**
 * The headers of a page: `X-Total-Count`, and `Link` to the neighboring pages. Invariant: links hold only
 * members that the route reads, so that a client cannot make the headers longer than the route's declaration
 * allows.
 * @param total items of the whole list; undefined when they are not counted yet
 * @param isFull whether the page has as many items as it may have, so that there can be a next one
 * @param url URL of the list without its query string
 * @param query the query string of the request
 * @param read members of the query that the route has read, as its schema returned them
 */
export const pageHeaders = (
  page: Pagination,
  { total, isFull }: { total: number | undefined; isFull: boolean },
  url: string,
  query: URLSearchParams,
  read: unknown,
): string[] => {
  const last = lastPage(page, total, isFull)
  const counted = total === undefined ? [] : ['X-Total-Count', String(total)]
  const headers = [...counted, 'Access-Control-Expose-Headers', EXPOSED_HEADERS]
  if (page.number === 1 && last === 1) return headers
  const links: string[] = []
  const link = (rel: string, number: number) => {
    const members = linkMembers(query, read)
    members.set('page', String(number))
    links.push(`<${escapeUrl(url)}?${members}>; rel="${rel}"`)
  }
  if (page.number < last) {
    link('next', page.number + 1)
    if (total !== undefined) link('last', last)
  }
  if (page.number > 1) {
    link('first', 1)
    link('prev', Math.min(page.number - 1, last))
  }
  return [...headers, 'Link', links.join(', ')]
}

const lastPage = ({ number, limit }: Pagination, total: number | undefined, isFull: boolean): number => {
  if (total !== undefined) return Math.max(1, Math.ceil(total / limit))
  return isFull ? number + 1 : number
}

/** Members of the query string of links, sorted by name as Forgejo does. */
const linkMembers = (query: URLSearchParams, read: unknown): URLSearchParams => {
  const members: [string, string][] = [['page', '']]
  for (const [name, value] of Object.entries(read ?? {}))
    if (value !== undefined) members.push([name, String(value)])
  for (const name of ['limit', 'sudo']) {
    const value = query.get(name)
    if (value !== null && value.length <= MAX_LINK_VALUE_LENGTH) members.push([name, value])
  }
  return new URLSearchParams(members.sort(([left], [right]) => (left < right ? -1 : 1)))
}

/** Characters: enough for a login name or a 64-bit integer. */
const MAX_LINK_VALUE_LENGTH = 40

/** node:http accepts characters in a path that would end the URL in the header too early. */
const escapeUrl = (url: string): string => url.replace(/[<>"]/g, encodeURIComponent)
