/** The paths of requests that name an account or a repository by a former name. */
import type { Identity } from '../accounts/access.ts'
import type { Hosting } from '../hosting/create.ts'
import type { FindMovedPath, NamingRoute } from '../http/former-names.ts'

/** The two segments of a path that name a repository. */
const REPOSITORY = /\{(owner|username)\}\/\{(repo|reponame)\}/
/** The segment of a path that names a user or an organization. */
const ACCOUNT = /\{(owner|username|org)\}/

/**
 * Deletes an account or a repository. A client that names it by a former name may mean another one, which no
 * longer exists.
 */
const DELETION = /^DELETE \/(?:(?:users|orgs)\/\{\w+\}|repos\/\{owner\}\/\{repo\})$/

/**
 * Whether former names lead on from a route: from one that names an account or a repository, unless it serves
 * administrators.
 */
export const mayHaveMoved = ({ method, path }: NamingRoute): boolean =>
  ACCOUNT.test(path) && !path.startsWith('/admin/') && !DELETION.test(`${method} ${path}`)

/**
 * Replaces the former name of an account, or the former owner and name of a repository, in the path of a
 * request.
 * @returns undefined when nothing has moved, or former names do not lead on from the route
 */
export const movedPath =
  ({ accounts, repositories }: Pick<Hosting, 'accounts' | 'repositories'>): FindMovedPath<Identity> =>
  async ({ user, route, params, path }) => {
    const { path: template } = route
    const match = REPOSITORY.exec(template) ?? ACCOUNT.exec(template)
    if (match === null || !mayHaveMoved(route)) return undefined
    const index = template.slice(0, match.index).split('/').length - 1
    // The router of the API takes `//` for `/`, so only without doubled slashes are segments where the
    // template has them.
    const segments = path.replace(/\/{2,}/g, '/').split('/')
    const { [match[1]!]: first = '', [match[2] ?? '']: second = '' } = params
    if (match[2] === undefined) {
      const moved = await accounts.presentName(user, first)
      if (moved === undefined) return undefined
      segments[index] = encodeURIComponent(moved)
      return segments.join('/')
    }
    const ending = second.endsWith('.git') ? '.git' : ''
    const moved = await repositories.presentName(user, first, second.slice(0, second.length - ending.length))
    if (moved === undefined) return undefined
    segments.splice(index, 2, encodeURIComponent(moved.owner), encodeURIComponent(moved.name) + ending)
    return segments.join('/')
  }
