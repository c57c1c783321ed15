import { canRead, type Permission, permissionOn, type SignedIn } from '../accounts/access.ts'
import { readableRepository, repositoryById } from '../accounts/find.ts'
import type { Rights } from '../accounts/rights.ts'
import { AllotError } from '../errors.ts'
import type { Repository } from '../records/schema/index.ts'
import type { ReadTransaction } from '../storage/index.ts'
import type { RepositoryName } from './names.ts'

interface WithRepository {
  /** The repository that it belongs to. */
  readonly repository: Repository
}

/** A record with its repository. */
export type InRepository<T> = T & WithRepository

/** A repository to change something in, and the viewer's permission on it. */
export type WriteAccess = InRepository<{ readonly permission: Permission }>

/**
 * @param frees whether the change removes bytes that count toward the owner, which those who administer an
 * archived repository can do
 * @returns undefined when the viewer cannot see the repository
 * @throws AllotError forbidden when it is archived
 */
export const writeAccess = async (
  tx: ReadTransaction,
  viewer: SignedIn,
  { owner, name }: RepositoryName,
  part: keyof Rights,
  frees = false,
): Promise<WriteAccess | undefined> => {
  const repository = await readableRepository(tx, viewer, owner, name, part)
  if (repository === undefined) return undefined
  const permission = await permissionOn(tx, viewer, repository, part)
  if (repository.archived && !(frees && permission.admin))
    throw new AllotError('forbidden', 'this repository is archived: it cannot be changed')
  return { repository, permission }
}

/**
 * Checks that a user may push to a repository.
 * @param frees as in {@link writeAccess}
 * @throws AllotError forbidden without write permission, or when the repository is archived
 */
export const requirePush = async (
  tx: ReadTransaction,
  user: SignedIn & { readonly username: string },
  repository: Repository,
  frees = false,
): Promise<void> => {
  const { push, admin } = await permissionOn(tx, user, repository)
  if (!push) throw new AllotError('forbidden', `${user.username} may not push to this repository`)
  if (repository.archived && !(frees && admin))
    throw new AllotError('forbidden', 'this repository is archived: nothing can be pushed to it')
}

/** A right that a fetch or a push needs. */
export type GitRight = 'read' | 'push'

/**
 * Reads the right on a repository again, for a fetch or a push that lasts. It may have another name by now.
 * @throws AllotError not_found when it was deleted, or the user may not read it any more; forbidden as
 * {@link requirePush}
 */
export const requireStill = async (
  tx: ReadTransaction,
  user: (SignedIn & { readonly username: string }) | null,
  id: number,
  right: GitRight,
): Promise<void> => {
  const repository = await repositoryById(tx, id)
  if (repository === undefined || !(await canRead(tx, user, repository, 'code')))
    throw new AllotError('not_found', 'the repository was deleted, or you may not read it any more')
  if (right === 'push' && user !== null) await requirePush(tx, user, repository)
}

/** @throws AllotError forbidden unless the viewer is the author or can write to the repository */
export const requireAuthorOrWriter = (
  viewer: SignedIn,
  { permission }: WriteAccess,
  author: number,
): void => {
  if (!permission.push && viewer.id !== author)
    throw new AllotError(
      'forbidden',
      'only the author and users with write permission on the repository can do this',
    )
}

/** @throws AllotError forbidden */
export const requireWriter = ({ permission }: WriteAccess): void => {
  if (!permission.push)
    throw new AllotError('forbidden', 'only users with write permission on the repository can do this')
}
