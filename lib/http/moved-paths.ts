/** Paths that name an account or a repository by a former name: such a request is redirected to the path with the present name. */

/** A route whose path may have names that have changed. */
export interface NamingRoute {
  readonly method: string
  /** With the names in braces, such as `/repos/{owner}/{repo}/issues`. */
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

/** Finds present names by former ones; undefined unless the viewer can see what has the name. */
interface FormerNames<I> {
  readonly accounts: { findMoved(viewer: I | null, name: string): Promise<string | undefined> }
  readonly repositories: {
    findMoved(
      viewer: I | null,
      owner: string,
      name: string,
    ): Promise<{ readonly owner: string; readonly name: string } | undefined>
  }
}

/** The two segments of a path that name a repository. */
const REPOSITORY = /\{(owner|username)\}\/\{(repo|reponame)\}/
/** The segment of a path that names a user or an organization. */
const ACCOUNT = /\{(owner|username|org)\}/

/** Deletes an account. The new name of an account may not be the one that the client means to delete. */
const DELETION = /^DELETE \/(?:users|orgs)\/\{\w+\}$/

/** Whether former names lead on from a route: from one that names an account or a repository, unless it serves administrators. */
export const mayHaveMoved = ({ method, path }: NamingRoute): boolean =>
  ACCOUNT.test(path) && !path.startsWith('/admin/') && !DELETION.test(`${method} ${path}`)

/** Replaces the former name of an account, or the former owner and name of a repository, in the path of a request. */
export const movedPath =
  <I>({ accounts, repositories }: FormerNames<I>): FindMovedPath<I> =>
  async ({ user, route, params, path }) => {
    const { path: template } = route
    const match = REPOSITORY.exec(template) ?? ACCOUNT.exec(template)
    if (match === null || !mayHaveMoved(route)) return undefined
    const index = template.slice(0, match.index).split('/').length - 1
    // The router of the API takes `//` for `/`, so only without doubled slashes are segments where the template has them.
    const segments = path.replace(/\/{2,}/g, '/').split('/')
    const { [match[1]!]: first = '', [match[2] ?? '']: second = '' } = params
    if (match[2] === undefined) {
      const moved = await accounts.findMoved(user, first)
      if (moved === undefined) return undefined
      segments[index] = encodeURIComponent(moved)
      return segments.join('/')
    }
    const ending = second.endsWith('.git') ? '.git' : ''
    const moved = await repositories.findMoved(user, first, second.slice(0, second.length - ending.length))
    if (moved === undefined) return undefined
    segments.splice(index, 2, encodeURIComponent(moved.owner), encodeURIComponent(moved.name) + ending)
    return segments.join('/')
  }

/** 308 makes clients repeat the method. After 301 they may send GET instead of any other method. */
export const movedStatus = (method: string | undefined): 301 | 308 =>
  method === 'GET' || method === 'HEAD' ? 301 : 308
