import { permissionOn } from '../accounts/access.ts'
import type { Identity } from '../accounts/identity.ts'
import { AllotError } from '../errors.ts'
import { checkScopes, type StreamRequest } from '../http/index.ts'
import type { Repository } from '../records/schema/index.ts'
import type { StreamServices } from './route.ts'

type Asked = Pick<StreamRequest<Identity, 'owner' | 'repo'>, 'user' | 'params'>

/** With and without `.git`, as Forgejo has it; once. */
export const nameIn = (segment: string): string => segment.replace(/\.git$/, '')

/**
 * The repository for whoever may read it. Whoever has not signed in is asked to, whether there is one or not: that alone
 * makes git ask for a password, and says nothing of what is private.
 */
export const readable = async ({ hosting }: StreamServices, { user, params }: Asked): Promise<Repository> => {
  if (user !== null) checkScopes(user, { scope: 'read:repository' })
  const repository = await hosting.repositories.find(user, params.owner, nameIn(params.repo))
  if (repository !== undefined) return repository
  // A former name is answered with the new one, without credentials where the repository is open.
  const hasMoved = user === null && (await hosting.redirects.find(user, params.owner, nameIn(params.repo)))
  if (user === null && !hasMoved) throw signIn()
  throw new AllotError('not_found', 'there is no such repository')
}

export const signIn = () => new AllotError('unauthenticated', 'sign in with a password or a token')

/** The repository for whoever may push to it, and who that is. */
export const writable = async (services: StreamServices, request: Asked): Promise<[Repository, Identity]> => {
  const { user } = request
  if (user === null) throw signIn()
  checkScopes(user, { scope: 'write:repository' })
  const repository = await readable(services, request)
  const { push } = await services.store.read((tx) => permissionOn(tx, user, repository))
  if (!push) throw new AllotError('forbidden', `${user.username} may not push to this repository`)
  if (repository.archived)
    throw new AllotError('forbidden', 'this repository is archived: nothing is pushed to it')
  return [repository, user]
}
