import type { Account, Visibility } from '../../lib/records/schema/index.ts'
import { collect, ifAvailable } from './migration.ts'
import { usersOf } from './organizations.ts'
import type { Source } from './source.ts'
import { SourceOrganization, SourceUser } from './source-types.ts'

/** What is to be copied. */
export interface Selection {
  users: SourceUser[]
  organizations: SourceOrganization[]
  /** Whose repositories come along. */
  owners: { kind: Account['kind']; name: string; visibility: Visibility }[]
}

/** @param names users and organizations, these with their members; none: everything */
export const select = (source: Source, names: readonly string[]): Promise<Selection> =>
  names.length === 0 ? everything(source) : named(source, names)

const everything = async (source: Source): Promise<Selection> => {
  const users = await collect(source.list(SourceUser, '/admin/users'))
  const organizations = await collect(source.list(SourceOrganization, '/admin/orgs'))
  return withOwners(users, organizations)
}

const named = async (source: Source, names: readonly string[]): Promise<Selection> => {
  const users = new Map<string, SourceUser>()
  const organizations: SourceOrganization[] = []
  const add = (user: SourceUser) => void users.set(user.login.toLowerCase(), user)
  for (const name of names) {
    const path = encodeURIComponent(name)
    const organization = await ifAvailable(source.get(SourceOrganization, `/orgs/${path}`))
    const user = organization ? undefined : await ifAvailable(source.get(SourceUser, `/users/${path}`))
    if (organization !== undefined) organizations.push(organization)
    else if (user !== undefined) add(user)
    else throw new Error(`there is no user or organization named ${name} at ${source.base}`)
  }
  const chosen = withOwners([...users.values()], organizations)
  for (const { name } of organizations) (await usersOf(source, name))?.forEach(add)
  return { ...chosen, users: [...users.values()] }
}

const withOwners = (users: SourceUser[], organizations: SourceOrganization[]): Selection => ({
  users,
  organizations,
  owners: [
    ...users.map(({ login, visibility }) => ({ kind: 'user' as const, name: login, visibility })),
    ...organizations.map(({ name, visibility }) => ({ kind: 'organization' as const, name, visibility })),
  ],
})
