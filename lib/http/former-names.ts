/** A route whose path may have names that have changed. */
export interface NamingRoute {
  readonly method: string
  /** With the names in braces. */
  readonly path: string
}

interface NamingRequest<I> {
  readonly user: I | null
  readonly route: NamingRoute
  /** Decoded segments of the path, by the names in the template of the route. */
  readonly params: Readonly<Record<string, string | undefined>>
  /** Percent-encoded. */
  readonly path: string
}

/** Finds the path of a request with the present names; undefined when none of its names is a former one. */
export type FindMovedPath<I> = (request: NamingRequest<I>) => Promise<string | undefined>

/** 308 makes clients repeat the method. After 301 they may send GET instead of any other method. */
export const movedStatus = (method: string | undefined): 301 | 308 =>
  method === 'GET' || method === 'HEAD' ? 301 : 308
