import findMyWay, { type HTTPMethod } from 'find-my-way'
import type { Identity, Method, Route } from './route.ts'
import { type Coercion, coercionOf } from './validate.ts'

/** A route with what is worked out of its declaration once. */
export interface PreparedRoute<I extends Identity, S> {
  readonly route: Route<I, S>
  readonly params: Coercion | undefined
  readonly query: Coercion | undefined
}

export interface Match<I extends Identity, S> {
  readonly served: PreparedRoute<I, S>
  readonly params: Record<string, string | undefined>
}

export interface Router<I extends Identity, S> {
  /** @returns 'malformed' for a path that cannot be decoded. */
  find(method: string, path: string): Match<I, S> | 'malformed' | undefined
  /** The methods that a path takes, HEAD and OPTIONS included; empty for an unknown path. */
  allowed(path: string): string[] | 'malformed'
}

const METHODS: readonly Method[] = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE']

export const createRouter = <I extends Identity, S>(routes: readonly Route<I, S>[]): Router<I, S> => {
  // The default would answer 404 to any parameter over 100 characters; no key of the store could hold the longest.
  const router = findMyWay({
    ignoreTrailingSlash: true,
    ignoreDuplicateSlashes: true,
    maxParamLength: 1024,
    onBadUrl: () => undefined,
  })
  for (const route of routes) router.on(route.method, waysPath(route.path), () => undefined, served(route))

  const find = (method: string, path: string): Match<I, S> | 'malformed' | undefined => {
    const found = router.find((method === 'HEAD' ? 'GET' : method) as HTTPMethod, path)
    if (found === null) return undefined
    const served = found.store as PreparedRoute<I, S> | null
    return served === null ? 'malformed' : { served, params: found.params }
  }

  return {
    find,
    allowed(path) {
      const found = METHODS.map((method) => find(method, path))
      if (found.includes('malformed')) return 'malformed'
      const taken = METHODS.filter((_method, at) => found[at] !== undefined)
      if (taken.length === 0) return []
      return [...taken, ...(taken.includes('GET') ? ['HEAD'] : []), 'OPTIONS']
    },
  }
}

/** `{x}` is `:x` to find-my-way, and a literal colon is doubled. */
const waysPath = (path: string): string => path.replaceAll(':', '::').replace(/\{(\w+)\}/g, ':$1')

const served = <I extends Identity, S>(route: Route<I, S>): PreparedRoute<I, S> => ({
  route,
  params: route.params && coercionOf(route.params),
  query: route.query && coercionOf(route.query),
})
