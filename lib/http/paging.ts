import { invalid } from '../errors.ts'

/** How a list takes nonsense for `page` and `limit`: as the default, or with a 422. */
export type Paging = 'lenient' | 'strict'

export interface PageLimits {
  readonly default: number
  readonly max: number
}

export interface PageRequest {
  /** From 1. */
  readonly number: number
  readonly limit: number
  readonly offset: number
}

/** "Lists take `page` (from 1) and `limit` (30 when absent, at most 50)"; `limit=0` is the default. */
export const pageRequest = (query: URLSearchParams, paging: Paging, limits: PageLimits): PageRequest => {
  const read = paging === 'strict' ? strictNumber : lenientNumber
  const limit = Math.min(read(query, 'limit') || limits.default, limits.max)
  const number = read(query, 'page') || 1
  // A page that is far past every end stays past it, without losing the exactness of its offset.
  const offset = Math.min((number - 1) * limit, Number.MAX_SAFE_INTEGER - limits.max)
  return { number, limit, offset }
}

/** 0 stands for absent. */
const lenientNumber = (query: URLSearchParams, name: string): number => {
  const text = query.get(name) ?? ''
  return /^\d+$/.test(text) ? Math.min(Number(text), Number.MAX_SAFE_INTEGER) : 0
}

/** "A negative number or no integer is 422 on the quota lists." */
const strictNumber = (query: URLSearchParams, name: string): number => {
  const text = query.get(name)
  if (text !== null && !/^\d+$/.test(text)) throw invalid(`${name}: expected a whole number, not below 0`)
  return lenientNumber(query, name)
}

/** The headers of a page: `X-Total-Count`, and a `Link` to its neighbours with the other members of the query kept. */
export const pageHeaders = (
  page: PageRequest,
  total: number,
  url: string,
  query: URLSearchParams,
): string[] => {
  const last = Math.max(1, Math.ceil(total / page.limit))
  const links: string[] = []
  const link = (rel: string, number: number) => {
    const members = new URLSearchParams(query)
    members.set('page', String(number))
    links.push(`<${linkable(url)}?${members}>; rel="${rel}"`)
  }
  if (page.number < last) {
    link('next', page.number + 1)
    link('last', last)
  }
  if (page.number > 1) {
    link('first', 1)
    link('prev', Math.min(page.number - 1, last))
  }
  const headers = ['X-Total-Count', String(total), 'Access-Control-Expose-Headers', 'Link, X-Total-Count']
  return links.length === 0 ? headers : [...headers, 'Link', links.join(', ')]
}

/** A path may hold what would end the address within the header too early; node:http lets it through. */
const linkable = (url: string): string => url.replace(/[<>"]/g, encodeURIComponent)
