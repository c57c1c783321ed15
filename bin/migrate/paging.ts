import { createHash } from 'node:crypto'
import type { Answer, Limits } from './source-requests.ts'

/** Items on a page. */
const PAGE = 50

/**
 * The items of a list, page after page. The list ends whatever the server answers: a page that is sent a second time, or
 * more pages than a list may have, end the run with an error.
 * @param ask answers the page at a path
 * @param parse the items of a page
 */
export async function* pagesOf<T>(
  path: string,
  ask: (path: string) => Promise<Answer>,
  parse: (text: string) => T[],
  { maxPages }: Pick<Limits, 'maxPages'>,
): AsyncGenerator<T, void, undefined> {
  const sign = path.includes('?') ? '&' : '?'
  const digests = new Set<string>()
  let last = ''
  for (let [page, seen] = [1, 0]; page <= maxPages; page++) {
    const { text, headers } = await ask(`${path}${sign}page=${page}&limit=${PAGE}`)
    const digest = createHash('sha256').update(text).digest('base64')
    // A list without pages answers the same to each `page`.
    if (digest === last) return
    last = digest
    const items = parse(text)
    if (items.length > 0 && digests.has(digest))
      throw new Error(`the list ${path} of the source does not end: page ${page} was sent before`)
    digests.add(digest)
    yield* items
    seen += items.length
    const total = Number(headers.get('x-total-count') ?? Number.NaN)
    // The total may count items that are not shown, so an empty page before it is reached is not the end.
    if (items.length === 0 && !(page * PAGE < total)) return
    if (seen >= total) return
  }
  throw new Error(`the list ${path} of the source does not end: it has more than ${maxPages} pages`)
}
