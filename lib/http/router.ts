import findMyWay, { type HTTPMethod } from 'find-my-way'

/** What the router needs to know of a route. `{x}` in the path marks a segment that matches any text. */
export interface Routed {
  readonly method: string
  readonly path: string
}

export interface Match<R> {
  readonly route: R
  /** Decoded segments of the path, by the names in the template. */
  readonly params: Readonly<Record<string, string | undefined>>
}

export interface Router<R> {
  /** @returns 'malformed' for a path that cannot be decoded */
  find(method: string, path: string): Match<R> | 'malformed' | undefined
  /** Methods that a path takes; empty for an unknown path. */
  allowed(path: string): string[] | 'malformed'
}

interface RouterOptions {
  /** Whether `/a//b/` is the same path as `/a/b`. */
  readonly ignoreExtraSlashes: boolean
  /** Characters; a path with a longer parameter is unknown. */
  readonly maxParamLength: number
  /** Whether the route of GET answers HEAD too. */
  readonly headIsGet: boolean
}

/** Options of the API: the longest key of the store fits into a parameter. */
const API_OPTIONS: RouterOptions = { ignoreExtraSlashes: true, maxParamLength: 1024, headIsGet: true }

/** In the order in which `Allow` names them. */
const METHODS = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'HEAD']

export const createRouter = <R extends Routed>(
  routes: readonly R[],
  { ignoreExtraSlashes, maxParamLength, headIsGet }: RouterOptions = API_OPTIONS,
): Router<R> => {
  const router = findMyWay({
    ignoreTrailingSlash: ignoreExtraSlashes,
    ignoreDuplicateSlashes: ignoreExtraSlashes,
    maxParamLength,
    onBadUrl: () => undefined,
  })
  for (const route of routes)
    router.on(route.method as HTTPMethod, routerPath(route.path), () => undefined, route)

  const find = (method: string, path: string): Match<R> | 'malformed' | undefined => {
    const found = router.find((headIsGet && method === 'HEAD' ? 'GET' : method) as HTTPMethod, path)
    if (found === null) return undefined
    // find-my-way answers a path that cannot be decoded with its own handler, which has no route.
    const route = found.store as R | null
    return route === null ? 'malformed' : { route, params: found.params }
  }

  return {
    find,
    allowed(path) {
      const found = METHODS.map((method) => find(method, path))
      if (found.includes('malformed')) return 'malformed'
      return METHODS.filter((_method, index) => found[index] !== undefined)
    },
  }
}

/** `{x}` is `:x` to find-my-way, and a literal colon is doubled. */
const routerPath = (path: string): string => path.replaceAll(':', '::').replace(/\{(\w+)\}/g, ':$1')
