import { parseExactly } from '../../lib/integers.ts'
import { UsageError } from '../usage-error.ts'

/** How a request reaches the server: over the network, or in process. */
export type Call = (url: string, request: RequestInit) => Promise<Response>

export interface Page<T> {
  items: T[]
  /** How many there are in all. */
  total: number
}

/** The API, of a running server or of the store itself: commands know no other way to what is kept. */
export interface Api {
  /**
   * The JSON at a path.
   * @param absent what is said when there is nothing
   * @throws Error with the server's own words for a refusal.
   */
  get<T>(path: string, absent?: string): Promise<T>
  /** Sends JSON, and answers what came: undefined for an answer without a body. */
  send<T>(method: string, path: string, body?: unknown, absent?: string): Promise<T>
  /** A list, page after page. */
  pages<T>(path: string, absent?: string): AsyncGenerator<Page<T>, void, undefined>
  /** The bytes of an answer as they come. @throws Error also when they break off. */
  stream(path: string): AsyncIterable<Uint8Array>
}

/** There is nothing at a path. */
export class NotFoundAtPath extends Error {}

const PAGE = 50

/**
 * @param api where it is, without a slash at the end
 * @param headers such as the credentials
 * @param named what messages call it; absent for the store, whose own words say enough
 */
export const createApi = (api: string, headers: Record<string, string>, call: Call, named?: string): Api => {
  const ask = async (method: string, path: string, body?: unknown, absent?: string): Promise<Response> => {
    const json = body === undefined ? {} : { body: JSON.stringify(body) }
    const type = body === undefined ? {} : { 'content-type': 'application/json' }
    const answer = await call(api + path, { method, headers: { ...headers, ...type }, ...json })
    if (answer.ok) return answer
    if (answer.status === 404 && absent !== undefined) return refuseAbsent(absent)
    const text = await answer.text()
    const words = text === '' ? '' : messageIn(text)
    throw new Error(
      named !== undefined || words === ''
        ? `${named ?? ''}${path} answered ${answer.status}${words && `: ${words}`}`
        : words,
    )
  }

  /** Nothing at a path may also mean that nobody there speaks of such things. */
  const refuseAbsent = async (absent: string): Promise<never> => {
    if (named !== undefined) {
      const version = await call(`${api}/version`, { headers })
      if (!version.ok) throw new Error(`there is no Allot at ${named}: it does not know ${named}/version`)
    }
    throw new NotFoundAtPath(absent)
  }

  const jsonOf = async <T>(answer: Response): Promise<T> => {
    const text = await answer.text()
    try {
      return (text === '' ? undefined : parseExactly(text)) as T
    } catch {
      throw new Error(`${named ?? api} did not answer JSON: is it the address of an Allot?`)
    }
  }

  return {
    get: async (path, absent) => jsonOf(await ask('GET', path, undefined, absent)),
    send: async (method, path, body, absent) => jsonOf(await ask(method, path, body, absent)),
    async *pages<T>(path: string, absent?: string) {
      const sign = path.includes('?') ? '&' : '?'
      for (let [page, seen, total] = [1, 0, 1]; seen < total; page++) {
        const answer = await ask('GET', `${path}${sign}page=${page}&limit=${PAGE}`, undefined, absent)
        const body = await jsonOf<T[] | { data: T[] }>(answer)
        const items = Array.isArray(body) ? body : body.data
        total = Number(answer.headers.get('x-total-count') ?? 0)
        yield { items, total }
        if (items.length === 0) return
        seen += items.length
      }
    },
    async *stream(path) {
      const answer = await ask('GET', path)
      try {
        for await (const chunk of answer.body!) yield chunk as Uint8Array
      } catch (cause) {
        throw new Error(`the answer of ${api}${path} broke off: its log says why`, { cause })
      }
    },
  }
}

const messageIn = (text: string): string => {
  try {
    return String((JSON.parse(text) as { message?: unknown }).message ?? text)
  } catch {
    return text.slice(0, 200)
  }
}

/** One part of a path, as a person typed it. */
export const pathSegment = (name: string): string => {
  if (name === '' || name === '.' || name === '..') throw new UsageError(`"${name}" is no name`)
  return encodeURIComponent(name)
}
