/** Finds the new place of a resource that was named by two segments of a path; undefined when it has not moved. */
export type FindMoved<I> = (
  user: I | null,
  owner: string,
  name: string,
) => Promise<{ owner: string; name: string } | undefined>

/** The two segments of a path that name a repository. */
const REPOSITORY = /\{(owner|username)\}\/\{(repo|reponame)\}/

/** Whether the path of a route names a repository, which may have moved. */
export const namesRepository = (path: string): boolean => REPOSITORY.test(path)

/** 308 makes clients repeat the method. After 301 they may send GET instead of any other method. */
export const movedStatus = (method: string | undefined): 301 | 308 =>
  method === 'GET' || method === 'HEAD' ? 301 : 308

/**
 * Puts the new owner and name of a repository in the place of the former ones.
 * @param template path of the route, such as `/repos/{owner}/{repo}/issues`
 * @param path path of the request, percent-encoded
 * @returns undefined when the repository has not moved, or when the path does not name a repository
 */
export const movedPath = async <I>(
  find: FindMoved<I>,
  user: I | null,
  template: string,
  path: string,
): Promise<string | undefined> => {
  const match = REPOSITORY.exec(template)
  if (match === null) return undefined
  const index = template.slice(0, match.index).split('/').length - 1
  const segments = path.split('/')
  const [owner, name] = segments.slice(index, index + 2).map(decodeURIComponent) as [string, string]
  const ending = name.endsWith('.git') ? '.git' : ''
  const moved = await find(user, owner, name.slice(0, name.length - ending.length))
  if (moved === undefined) return undefined
  segments.splice(index, 2, encodeURIComponent(moved.owner), encodeURIComponent(moved.name) + ending)
  return segments.join('/')
}
