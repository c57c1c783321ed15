/** Who may fetch from a repository and push to it: the same for git and Git LFS. */

import type { Identity } from '../accounts/access.ts'
import { permissionOn } from '../accounts/access.ts'
import { AllotError } from '../errors.ts'
import { checkScopes, type StreamRequest } from '../http/index.ts'
import type { Repository } from '../records/schema/index.ts'
import { type StreamServices, signInRequired } from './route.ts'

type RepositoryRequest = Pick<StreamRequest<Identity, 'owner' | 'repo'>, 'user' | 'params'>

/** The name of a repository in a path, which may end in `.git`, as on Forgejo. */
export const nameIn = (segment: string): string => segment.replace(/\.git$/, '')

/**
 * The repository that a request reads. A client without credentials is answered 401 whether the repository exists or not:
 * git asks for a password only then, and the answer does not reveal private repositories.
 * @throws AllotError unauthenticated, forbidden without the scope, not_found
 */
export const readableRepository = async (
  { hosting }: StreamServices,
  { user, params }: RepositoryRequest,
): Promise<Repository> => {
  if (user !== null) checkScopes(user, { scope: 'read:repository' })
  const name = nameIn(params.repo)
  const repository = await hosting.repositories.find(user, params.owner, name)
  if (repository !== undefined) return repository
  // The 404 of a former name becomes a redirect, for clients without credentials as well if the repository is public.
  const hasMoved = user === null && (await hosting.redirects.find(user, params.owner, name))
  if (user === null && !hasMoved) throw signInRequired()
  throw new AllotError('not_found', 'there is no such repository')
}

/**
 * The repository that a request pushes to, and the user who pushes.
 * @throws AllotError unauthenticated, forbidden, not_found
 */
export const writableRepository = async (
  services: StreamServices,
  request: RepositoryRequest,
): Promise<{ repository: Repository; user: Identity }> => {
  const { user } = request
  if (user === null) throw signInRequired()
  checkScopes(user, { scope: 'write:repository' })
  const repository = await readableRepository(services, request)
  const { push } = await services.store.read((tx) => permissionOn(tx, user, repository))
  if (!push) throw new AllotError('forbidden', `${user.username} may not push to this repository`)
  if (repository.archived)
    throw new AllotError('forbidden', 'this repository is archived: nothing can be pushed to it')
  return { repository, user }
}
