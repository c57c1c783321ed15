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

/**
 * The headers of a page: `X-Total-Count`, and a `Link` to its neighbours.
 * @param query as it came, @param read what the route read of it. Invariant: `Link` carries what was read and nothing else,
 *   so that a client cannot make the headers longer than the declarations of the route allow.
 */
export const pageHeaders = (
  page: PageRequest,
  total: number,
  url: string,
  query: URLSearchParams,
  read: unknown,
): string[] => {
  const kept = keptMembers(query, read)
  const last = Math.max(1, Math.ceil(total / page.limit))
  const links: string[] = []
  const link = (rel: string, number: number) => {
    kept.set('page', String(number))
    const members = kept.toString()
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

/** The members of the neighbours' addresses, sorted by name as a Forgejo sends them. */
const keptMembers = (query: URLSearchParams, read: unknown): URLSearchParams => {
  const kept: [string, string][] = [['page', '']]
  for (const [name, value] of Object.entries(read ?? {}))
    if (value !== undefined) kept.push([name, String(value)])
  for (const name of ['limit', 'sudo']) {
    const value = query.get(name)
    if (value !== null && value.length <= LONGEST_KEPT) kept.push([name, value])
  }
  return new URLSearchParams(kept.sort(([left], [right]) => (left < right ? -1 : 1)))
}

/** Characters: of a login, or of an integer of 64 bits. */
const LONGEST_KEPT = 40

/** A path may hold what would end the address within the header too early; node:http lets it through. */
const linkable = (url: string): string => url.replace(/[<>"]/g, encodeURIComponent)
