import { type Command, Option } from 'commander'
import type { QuotaUsedRepository } from '../../lib/api/quota/largest-repositories.ts'
import type { Repository } from '../../lib/api/repository-presenter.ts'
import { formatSizeFixed } from '../../lib/byte-sizes.ts'
import { pathSegment } from '../client/api.ts'
import { type Columns, type ListFlags, printList } from '../client/list.ts'
import { UsageError } from '../errors.ts'
import { apiOptions, examples } from './options.ts'

/** Values of `--by`, and the API's `order_by` for each; `largest` has a list of its own. */
const ORDERS = {
  name: 'name',
  largest: undefined,
  newest: 'newest',
  changed: 'recentupdate',
  stars: 'moststars',
}

export const addRepositoryCommands = (program: Command): void => {
  const repository = program.command('repo').description('inspect repositories')
  apiOptions(repository.command('list'))
    .argument('[owner]', 'a user or an organization; all owners when absent')
    .description('list repositories and the size of their git data and LFS objects')
    .addOption(
      new Option(
        '--by <order>',
        "order of an owner's repositories (default: name); largest also works for all owners, and counts attachments, artifacts and packages too",
      ).choices(Object.keys(ORDERS)),
    )
    .addHelpText(
      'after',
      examples('allot repo list', 'allot repo list acme --by largest', 'allot repo list --by largest'),
    )
    .action(listRepositories)
}

/** A repository that is not private may still have an owner who is not public. */
const visibilityOf = (repository: { private: boolean }): string => (repository.private ? 'private' : 'open')

const REPOSITORIES: Columns<Repository> = {
  ID: ({ id }) => id,
  'GIT AND LFS': ({ size }) => formatSizeFixed(size * 1024),
  VISIBILITY: visibilityOf,
  CHANGED: ({ updated_at }) => updated_at.slice(0, 10),
  NAME: ({ full_name }) => full_name,
}

const LARGEST: Columns<QuotaUsedRepository> = {
  ID: ({ id }) => id,
  USED: ({ used }) => formatSizeFixed(used),
  BYTES: ({ used }) => used.toLocaleString('en'),
  VISIBILITY: visibilityOf,
  CHANGED: ({ updated_at }) => updated_at.slice(0, 10),
  NAME: ({ full_name }) => full_name,
}

const NO_REPOSITORIES = 'there are no repositories yet'

const listRepositories = (
  owner: string | undefined,
  { by, ...flags }: ListFlags & { by?: keyof typeof ORDERS },
): Promise<void> => {
  if (by === 'largest') return listLargest(owner, flags)
  const list = { columns: REPOSITORIES, empty: NO_REPOSITORIES }
  if (owner !== undefined) {
    const path = `/users/${pathSegment(owner)}/repos?order_by=${ORDERS[by ?? 'name']}`
    return printList(flags, { ...list, path, notFound: noOwner(owner) })
  }
  if (by !== undefined) throw new UsageError("--by orders one owner's repositories: name the owner")
  return printList(flags, { ...list, path: '/repos/search' })
}

/**
 * Lists the repositories of one owner, or only the first page of those of all: every page of that list reads
 * the usage of all repositories.
 */
const listLargest = (owner: string | undefined, flags: ListFlags): Promise<void> => {
  const list = { columns: LARGEST, empty: NO_REPOSITORIES }
  if (owner !== undefined) {
    const path = `/admin/users/${pathSegment(owner)}/quota/repositories`
    return printList(flags, { ...list, path, notFound: noOwner(owner) })
  }
  const firstPage = (printed: number, total: number) =>
    `the ${printed} largest of ${total} repositories; name an owner to list all of the owner's`
  return printList(flags, { ...list, path: '/admin/quota/repositories', firstPage })
}

const noOwner = (owner: string): string => `there is no user or organization named ${owner}`
