import type { Organization } from '../../lib/api/organization-schema.ts'
import type { Repository } from '../../lib/api/repository-schema.ts'
import type { AccessToken } from '../../lib/api/token-schema.ts'
import type { User } from '../../lib/api/user-schema.ts'
import { formatSizeFixed } from '../../lib/byte-sizes.ts'
import { type ApiFlags, withApi } from '../client/api-access.ts'
import { pathSegment } from '../client/api-client.ts'
import { type Column, type PrintFlags, printPages } from '../terminal/print.ts'
import { UsageError } from '../usage-error.ts'

interface Flags extends ApiFlags, PrintFlags {}

const id = { title: 'ID', cell: (one: { id: number }) => one.id }

const USERS: readonly Column<User>[] = [
  id,
  { title: 'NAME', cell: ({ login }) => login },
  { title: 'ROLE', cell: ({ is_admin }) => (is_admin ? 'administrator' : 'user') },
  { title: 'SIGNS IN', cell: ({ active }) => (active ? 'yes' : 'no') },
  { title: 'SEEN BY', cell: ({ visibility }) => visibility },
  { title: 'SINCE', cell: ({ created }) => created.slice(0, 10) },
  { title: 'EMAIL', cell: ({ email }) => email },
]
export const listUsers = (flags: Flags): Promise<void> =>
  withApi(flags, (api) => printPages(api.pages<User>('/admin/users'), USERS, flags, 'there is no user yet'))

const ORGANIZATIONS: readonly Column<Organization>[] = [
  id,
  { title: 'NAME', cell: ({ name }) => name },
  { title: 'SEEN BY', cell: ({ visibility }) => visibility },
  { title: 'FULL NAME', cell: ({ full_name }) => full_name },
  { title: 'NOTE', cell: ({ owners_count }) => (owners_count === 0 ? 'no owner' : '') },
]
export const listOrganizations = (flags: Flags): Promise<void> =>
  withApi(flags, (api) =>
    printPages(api.pages<Organization>('/admin/orgs'), ORGANIZATIONS, flags, 'there is no organization yet'),
  )

const TOKENS: readonly Column<AccessToken>[] = [
  id,
  { title: 'ENDS IN', cell: ({ token_last_eight }) => token_last_eight },
  { title: 'SINCE', cell: ({ created_at }) => created_at.slice(0, 10) },
  { title: 'SCOPES', cell: ({ scopes }) => scopes.join(',') },
  { title: 'NAME', cell: ({ name }) => name },
]
export const listTokens = (user: string, flags: Flags): Promise<void> =>
  withApi(flags, (api) =>
    printPages(
      api.pages<AccessToken>(`/users/${pathSegment(user)}/tokens`, `there is no user named ${user}`),
      TOKENS,
      flags,
      `${user} has no token`,
    ),
  )

const REPOSITORIES: readonly Column<Repository>[] = [
  id,
  { title: 'SIZE', cell: ({ size }) => formatSizeFixed(size * 1024) },
  { title: 'SEEN BY', cell: (one) => (one.private ? 'members' : 'readers') },
  { title: 'CHANGED', cell: ({ updated_at }) => updated_at.slice(0, 10) },
  { title: 'NAME', cell: ({ full_name }) => full_name },
]
/** The orders that a person asks for, by the API's words for them. */
export const ORDERS: Readonly<Record<string, string>> = {
  name: 'name',
  largest: 'reversesize',
  newest: 'newest',
  changed: 'recentupdate',
  stars: 'moststars',
}

export const listRepositories = (
  owner: string | undefined,
  flags: Flags & { by?: string },
): Promise<void> => {
  if (owner === undefined && flags.by !== undefined)
    throw new UsageError("--by orders an owner's repositories: name the owner, too")
  return withApi(flags, (api) => {
    const pages =
      owner === undefined
        ? api.pages<Repository>('/repos/search')
        : api.pages<Repository>(
            `/users/${pathSegment(owner)}/repos?order_by=${ORDERS[flags.by ?? 'name']}`,
            `there is no user or organization named ${owner}`,
          )
    return printPages(pages, REPOSITORIES, flags, 'there is no repository yet')
  })
}
