import { routes } from '../../lib/api/index.ts'
import { subjects } from '../../lib/index.ts'
import { times } from '../support/long.ts'
import type { Served } from './instance.ts'

/** Values of each path parameter: some that exist, and one that does not. */
const VALUES: Record<string, readonly string[]> = {
  username: ['root', 'ann', 'ben', 'cleo', 'guild', 'nobody'],
  target: ['ann', 'cleo'],
  owner: ['ann', 'ben', 'guild'],
  // One that was deleted, and one that has another name now.
  'owner}/{repo': ['ann/demo', 'ann/hall', 'ann/gone', 'ann/lobby', 'ben/bare', 'guild/hidden'],
  org: ['guild', 'nobody'],
  reponame: ['demo', 'hidden', 'bare'],
  id: ['1', '2', '33'],
  index: ['1', '2', '9'],
  attachment_id: ['1', '2', '9'],
  tag: ['v1', 'v2', 'none'],
  quotarule: ['small', 'assets', 'none'],
  quotagroup: ['free', 'paid', 'none'],
  kind: ['artifacts', 'attachments', 'lfs', 'packages'],
  key: ['a0', 'a39', '%C3%A9', 'o', 'p'],
}

const filled = (path: string): string[] => {
  const [, name] = /\{(owner\}\/\{repo|\w+)\}/.exec(path) ?? []
  if (name === undefined) return [path]
  return (VALUES[name] ?? ['1']).flatMap((value) => filled(path.replace(`{${name}}`, value)))
}

interface Declared {
  method: string
  path: string
  paging?: string
  query?: { entries: object }
}

const queries = ({ path, paging, query }: Declared): string[] => {
  const members = Object.keys(query?.entries ?? {})
  const asked = [
    '',
    ...(paging === undefined ? [] : ['?limit=2&page=2']),
    ...(members.includes('subject') ? subjects.map((subject) => `?subject=${subject}`) : []),
    ...(members.includes('order_by') ? ['?order_by=size', '?order_by=name'] : []),
    ...(members.includes('q') ? ['?q=e', '?q=n'] : []),
  ]
  return filled(path).flatMap((one) => asked.map((question) => one + question))
}

/** One of how many paths is asked for: a number that shares no factor with those of the values. */
export const EVERY = times(7, 1)

/** All readable paths of the API, except the export. */
const paths = (routes as unknown as readonly Declared[])
  .filter(({ method, path }) => method === 'GET' && path !== '/admin/export')
  .flatMap(queries)
  .filter((_, index) => index % EVERY === 0)

interface Answered {
  status: number
  total: string | null
  link: string | null
  text: string
}

/** All responses to a token: status, totals, links and body. */
export const walk = async ({ ask }: Served, token: string | undefined): Promise<Map<string, Answered>> => {
  const answers = await atOnce(16, paths, async (path): Promise<[string, Answered]> => {
    const { status, text, headers } = await ask('GET', path, token === undefined ? {} : { token })
    // Each server notes the use of tokens itself.
    const same = text.replaceAll(/"last_used_at":(?:null|"[^"]*")/g, '"last_used_at":null')
    return [path, { status, total: headers.get('x-total-count'), link: headers.get('link'), text: same }]
  })
  return new Map(answers)
}

const atOnce = async <T, R>(
  many: number,
  items: readonly T[],
  work: (item: T) => Promise<R>,
): Promise<R[]> => {
  const results: R[] = []
  for (let at = 0; at < items.length; at += many)
    results.push(...(await Promise.all(items.slice(at, at + many).map(work))))
  return results
}
