import findMyWay, { type HTTPMethod } from 'find-my-way'

/** The part of a route that the router reads. `{x}` in the path marks a segment that matches any text. */
export interface Routed {
  readonly method: string
  readonly path: string
  /** Whether the last parameter takes the rest of the path, with its slashes. */
  readonly takesRest?: boolean
  /** Expression that the last parameter, at the end of the path, matches; any text when absent. */
  readonly matching?: string
}

export interface Match<R> {
  readonly route: R
  /** Decoded segments of the path, by the names in the template. */
  readonly params: Readonly<Record<string, string | undefined>>
}

/** A path without a route for the method. */
export interface NoMatch {
  readonly route?: undefined
  readonly params: Readonly<Record<string, never>>
  /** The methods that the path takes, none for an unknown one; undefined when it cannot be decoded. */
  readonly allow: string | undefined
}

/** What the router of find-my-way returns for a path. */
interface Stored<R> {
  readonly route: R
  /** Name of the parameter that takes the rest of the path. */
  readonly restName: string | undefined
}

interface RouterOptions {
  /** Whether `/a//b/` is the same path as `/a/b`. */
  readonly ignoreExtraSlashes?: boolean
  /**
   * Characters; a path with a longer parameter is unknown. By default, the longest key of the store fits into
   * one.
   */
  readonly maxParamLength?: number
}

/** The methods that routes can have, in the order in which `Allow` names them. */
const METHODS: readonly HTTPMethod[] = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'HEAD']

/** Finds the routes of requests. That of GET answers HEAD, too, and no parameter is empty. */
export class Router<R extends Routed> {
  readonly #router: findMyWay.Instance<findMyWay.HTTPVersion.V1>

  constructor(routes: readonly R[], options: RouterOptions = {}) {
    const { ignoreExtraSlashes = true, maxParamLength = 1024 } = options
    this.#router = findMyWay({
      ignoreTrailingSlash: ignoreExtraSlashes,
      ignoreDuplicateSlashes: ignoreExtraSlashes,
      maxParamLength,
      onBadUrl: () => undefined,
    })
    for (const route of routes) {
      const restName = route.takesRest ? route.path.slice(route.path.lastIndexOf('{') + 1, -1) : undefined
      const stored: Stored<R> = { route, restName }
      this.#router.on(route.method as HTTPMethod, routerPath(route), () => undefined, stored)
    }
  }

  match(method: string, path: string): Match<R> | NoMatch {
    const found = this.#find(method as HTTPMethod, path)
    // find-my-way answers a path that cannot be decoded with its own handler, which has no route.
    if (!found?.store) return this.#matchNone(path)
    const { route, restName } = found.store as Stored<R>
    const { params } = found
    // find-my-way calls the rest of the path `*`.
    if (restName !== undefined) params[restName] = params['*']
    return { route, params }
  }

  #find(method: HTTPMethod, path: string): findMyWay.FindResult<findMyWay.HTTPVersion.V1> | null {
    const found = this.#router.find(method, path)
    for (const name in found?.params) if (found.params[name] === '' && name !== '*') return null
    if (found !== null || method !== 'HEAD') return found
    return this.#router.find('GET', path)
  }

  #matchNone(path: string): NoMatch {
    const found = METHODS.map((method) => this.#find(method, path))
    if (found.some((result) => result?.store === null)) return { params: {}, allow: undefined }
    return { params: {}, allow: METHODS.filter((_method, index) => found[index] !== null).join(', ') }
  }
}

/**
 * `{x}` is `:x` to find-my-way, or `*` when it takes the rest of the path, and a literal colon is doubled.
 */
const routerPath = ({ path, takesRest, matching }: Routed): string => {
  const pattern = path.replaceAll(':', '::').replace(/\{(\w+)\}/g, ':$1')
  if (matching !== undefined) return `${pattern}(${matching})`
  return takesRest ? pattern.replace(LAST_PARAMETER, '*') : pattern
}

const LAST_PARAMETER = /:\w+$/
