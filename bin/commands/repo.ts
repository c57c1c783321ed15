import { type Command, Option } from 'commander'
import type { Repository } from '../../lib/api/repository-presenter.ts'
import { formatSizeFixed } from '../../lib/byte-sizes.ts'
import { pathSegment } from '../client/api.ts'
import { type Column, type ListFlags, printList } from '../client/list.ts'
import { UsageError } from '../errors.ts'
import { apiOptions, examples } from './options.ts'

/** Values of `--by`, and the API's `order_by` for each. */
const ORDERS = {
  name: 'name',
  largest: 'reversesize',
  newest: 'newest',
  changed: 'recentupdate',
  stars: 'moststars',
}

export const addRepositoryCommands = (program: Command): void => {
  const repository = program.command('repo').description('inspect repositories')
  apiOptions(repository.command('list'))
    .argument('[owner]', 'a user or an organization; all owners when absent')
    .description('list repositories and their sizes')
    .addOption(
      new Option('--by <order>', "order of an owner's repositories (default: name)").choices(
        Object.keys(ORDERS),
      ),
    )
    .addHelpText('after', examples('allot repo list', 'allot repo list acme --by largest'))
    .action(listRepositories)
}

const REPOSITORIES: readonly Column<Repository>[] = [
  { title: 'ID', cell: ({ id }) => id },
  { title: 'SIZE', cell: ({ size }) => formatSizeFixed(size * 1024) },
  { title: 'SEEN BY', cell: (repository) => (repository.private ? 'members' : 'readers') },
  { title: 'CHANGED', cell: ({ updated_at }) => updated_at.slice(0, 10) },
  { title: 'NAME', cell: ({ full_name }) => full_name },
]

const listRepositories = (
  owner: string | undefined,
  { by, ...flags }: ListFlags & { by?: keyof typeof ORDERS },
): Promise<void> => {
  const list = { columns: REPOSITORIES, empty: 'there are no repositories yet' }
  if (owner !== undefined) {
    const path = `/users/${pathSegment(owner)}/repos?order_by=${ORDERS[by ?? 'name']}`
    return printList(flags, { ...list, path, notFound: `there is no user or organization named ${owner}` })
  }
  if (by !== undefined) throw new UsageError("--by orders one owner's repositories: name the owner")
  return printList(flags, { ...list, path: '/repos/search' })
}
