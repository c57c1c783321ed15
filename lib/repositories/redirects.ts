/**
 * Redirects from former names of repositories, until another repository takes the name.
 * Invariant: a name has a repository or a redirect, never both, and the target of a redirect exists.
 */
import { canSee, type RepositoryPart, type Viewer } from '../accounts/access.ts'
import {
  accountByFormerName,
  accountByName,
  ifReadable,
  NO_ACCOUNT,
  NO_REPOSITORY,
  readableRepository,
  repositoryById,
  repositoryOf,
} from '../accounts/find.ts'
import { now } from '../clock.ts'
import { accounts, type Repository, redirects } from '../records/schema/index.ts'
import type { Store, WriteContext } from '../records/store.ts'
import type { ReadTransaction } from '../storage/index.ts'
import type { RepositoryName } from './names.ts'

/** Former names that a repository can have; a further one replaces the oldest. */
const MAX_REDIRECTS = 50

/**
 * Present name of the repository with the former name, or of a former owner; undefined unless the viewer can
 * read the repository, and see a former owner.
 */
export const presentName = async (
  tx: ReadTransaction,
  viewer: Viewer,
  owner: string,
  name: string,
): Promise<RepositoryName | undefined> => (await findByFormerName(tx, viewer, owner, name))?.presentName

const findByFormerName = async (
  tx: ReadTransaction,
  viewer: Viewer,
  ownerName: string,
  name: string,
  part?: RepositoryPart,
): Promise<FoundRepository | undefined> => {
  const owner = await accountByName(tx, ownerName)
  const renamed = await accountByFormerName(tx, ownerName)
  const former = owner ?? renamed
  const { id } = former ?? NO_ACCOUNT
  const redirect = await redirects.get(tx, [id, name.toLowerCase()])
  const [moved, named] = [
    await repositoryById(tx, redirect?.repository ?? NO_REPOSITORY.id),
    await repositoryOf(tx, { id }, name),
  ]
  const found = redirect === undefined && owner === undefined ? named : moved
  const repository = await ifReadable(tx, viewer, found, { id }, part)
  if (former === undefined || repository === undefined) return undefined
  // Who can read a repository learns who owns it, but not that an account which owned it before exists.
  if (repository.owner !== former.id && !(await canSee(tx, viewer, former))) return undefined
  const newOwner = await accounts.get(tx, [repository.owner])
  return newOwner && { repository, presentName: { owner: newOwner.name, name: repository.name } }
}

interface FoundRepository {
  readonly repository: Repository
  /** Undefined when the repository was found by its present name. */
  readonly presentName: RepositoryName | undefined
}

/** The repository with the name, or with the former name, if the viewer can read its git data. */
export const findForGit = (
  store: Store,
  viewer: Viewer,
  owner: string,
  name: string,
): Promise<FoundRepository | undefined> =>
  store.read(async (tx) => {
    const repository = await readableRepository(tx, viewer, owner, name, 'code')
    if (repository !== undefined) return { repository, presentName: undefined }
    return findByFormerName(tx, viewer, owner, name, 'code')
  })

/** Adds a redirect from a repository's former name or owner, and removes the one that its new name had. */
export const addRedirect = async (tx: WriteContext, before: Repository, after: Repository): Promise<void> => {
  const [from, to] = [keyOf(before), keyOf(after)]
  await redirects.remove(tx, to)
  if (from[0] === to[0] && from[1] === to[1]) return
  if ((await redirects.count(tx, 'repository', [before.id])) >= MAX_REDIRECTS)
    for (const oldest of await redirects.list(tx, 'repository', { prefix: [before.id], limit: 1 }))
      await redirects.removeLoaded(tx, oldest)
  const [owner, name] = from
  await redirects.save(tx, { owner, name, repository: before.id, createdAt: now() })
}

/** Removes the redirect of a name that a repository takes. */
export const takeName = async (tx: WriteContext, repository: Repository): Promise<void> => {
  await redirects.remove(tx, keyOf(repository))
}

const keyOf = ({ owner, name }: Repository): [owner: number, name: string] => [owner, name.toLowerCase()]
