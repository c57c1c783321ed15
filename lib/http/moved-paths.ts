/** Finds the new places of what was named in a path; undefined for what has not moved. */
export interface FindMoved<I> {
  account(user: I | null, name: string): Promise<string | undefined>
  repository(
    user: I | null,
    owner: string,
    name: string,
  ): Promise<{ owner: string; name: string } | undefined>
}

/** The two segments of a path that name a repository. */
const REPOSITORY = /\{(owner|username)\}\/\{(repo|reponame)\}/
/** The segment of a path that names a user or an organization. */
const ACCOUNT = /\{(owner|username|org)\}/

/** Deletes an account. The new name of an account may not be the one that the client means to delete. */
const DELETION = /^DELETE \/(?:users|orgs)\/\{\w+\}$/

/** Whether former names lead on from a route: from one that names an account or a repository, unless it serves administrators. */
export const mayHaveMoved = ({ method, path }: MovableRoute): boolean =>
  ACCOUNT.test(path) && !path.startsWith('/admin/') && !DELETION.test(`${method} ${path}`)

interface MovableRoute {
  readonly method: string
  /** Such as `/repos/{owner}/{repo}/issues`. */
  readonly path: string
}

/** 308 makes clients repeat the method. After 301 they may send GET instead of any other method. */
export const movedStatus = (method: string | undefined): 301 | 308 =>
  method === 'GET' || method === 'HEAD' ? 301 : 308

interface MovableRequest<I> {
  readonly user: I | null
  readonly route: MovableRoute
  /** Decoded segments of the path, by the names in the template of the route. */
  readonly params: Readonly<Record<string, string | undefined>>
  /** Percent-encoded. */
  readonly path: string
}

/**
 * Replaces the former name of an account, or the former owner and name of a repository, with the new ones.
 * @returns undefined when nothing has moved, or former names do not lead on from the route
 */
export const movedPath = async <I>(
  find: FindMoved<I>,
  { user, route, params, path }: MovableRequest<I>,
): Promise<string | undefined> => {
  const { path: template } = route
  const match = REPOSITORY.exec(template) ?? ACCOUNT.exec(template)
  if (match === null || !mayHaveMoved(route)) return undefined
  const index = template.slice(0, match.index).split('/').length - 1
  // The router of the API takes `//` for `/`, so only without doubled slashes are segments where the template has them.
  const segments = path.replace(/\/{2,}/g, '/').split('/')
  const { [match[1]!]: first = '', [match[2] ?? '']: second = '' } = params
  if (match[2] === undefined) {
    const moved = await find.account(user, first)
    if (moved === undefined) return undefined
    segments[index] = encodeURIComponent(moved)
    return segments.join('/')
  }
  const ending = second.endsWith('.git') ? '.git' : ''
  const moved = await find.repository(user, first, second.slice(0, second.length - ending.length))
  if (moved === undefined) return undefined
  segments.splice(index, 2, encodeURIComponent(moved.owner), encodeURIComponent(moved.name) + ending)
  return segments.join('/')
}
