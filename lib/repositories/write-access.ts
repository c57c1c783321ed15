import {
  type Permission,
  permissionOn,
  type ReadFor,
  readableRepository,
  type Viewer,
} from '../accounts/access.ts'
import { AllotError } from '../errors.ts'
import type { Repository } from '../records/schema/index.ts'
import type { ReadTransaction } from '../storage/driver.ts'
import type { RepositoryName } from './relations.ts'

export type SignedIn = NonNullable<Viewer>

/** A thing with the repository that it is in. */
export type InRepository<T> = T & { readonly repository: Repository }

/** A repository that something is to be changed in, and what the viewer may do there. */
export type WriteAccess = InRepository<{ readonly may: Permission }>

/**
 * Undefined for whoever may not know of the repository.
 * @throws AllotError forbidden when it is archived
 */
export const writeAccess = async (
  tx: ReadTransaction,
  viewer: SignedIn,
  { owner, name }: RepositoryName,
  readFor?: ReadFor,
): Promise<WriteAccess | undefined> => {
  const repository = await readableRepository(tx, viewer, owner, name, readFor)
  if (repository === undefined) return undefined
  if (repository.archived)
    throw new AllotError('forbidden', 'this repository is archived: nothing is changed in it')
  return { repository, may: await permissionOn(tx, viewer, repository) }
}

/** @throws AllotError forbidden for whoever is neither the author nor may write to the repository */
export const requireAuthorOrWriter = (viewer: SignedIn, { may }: WriteAccess, author: number): void => {
  if (!may.push && viewer.id !== author)
    throw new AllotError('forbidden', 'only the author and whoever may write to the repository may do this')
}

/** @throws AllotError forbidden */
export const requireWriter = ({ may }: WriteAccess): void => {
  if (!may.push) throw new AllotError('forbidden', 'only whoever may write to the repository may do this')
}
