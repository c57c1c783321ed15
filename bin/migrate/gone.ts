import type { Migrated } from '../../lib/records/schema/index.ts'
import { followAccount } from './accounts.ts'
import { dropKeys } from './user-data.ts'
import { type Migration, reportErrors } from './migration.ts'
import { copyMembers } from './organizations.ts'
import { dropRelations } from './relations.ts'
import { followRepository } from './repositories.ts'
import type { Selection } from './selection.ts'
import type { SourceRepository } from './source-types.ts'

/**
 * Accounts that were brought earlier and are deleted at the source now: nothing is deleted here, and nobody but administrators
 * can use or see what they were.
 */
export const takeBackGone = async (
  migration: Migration,
  { users, organizations }: Selection,
): Promise<void> => {
  const { history, allot } = migration
  const names = new Set(
    [...users.map(({ login }) => login), ...organizations.map(({ name }) => name)].map((one) =>
      one.toLowerCase(),
    ),
  )
  for (const one of await history.list('account')) {
    if (names.has(one.name)) continue
    await reportErrors(migration.report, `the account ${one.name}`, async () => {
      const account = await allot.hosting.accounts.byName(one.name)
      if (account === undefined || !one.ids.includes(account.id)) return history.remove([one])
      const path = account.kind === 'user' ? '/users/' : '/orgs/'
      if (!(await isGone(migration, path + encodeURIComponent(one.name)))) return
      await followAccount(migration, account, [])
      await takeBackGoneRepositories(migration, account.name, [])
      if (account.kind === 'organization')
        return copyMembers(migration, account, { owners: new Set(), members: new Set(), leftOut: [] })
      await dropKeys(migration, account)
      await dropRelations(migration, account)
    })
  }
}

/** Repositories that were brought earlier and are not at the source now become private and archived. */
export const takeBackGoneRepositories = async (
  migration: Migration,
  ownerName: string,
  found: readonly SourceRepository[],
): Promise<void> => {
  const { history, allot } = migration
  const names = new Set(found.map(({ name }) => name.toLowerCase()))
  const owner = await allot.hosting.accounts.byName(ownerName)
  if (owner === undefined) return
  for (const one of await history.list('repository', ownerName.toLowerCase()))
    if (!names.has(one.name))
      await reportErrors(migration.report, `the repository ${owner.name}/${one.name}`, async () => {
        const path = `/repos/${encodeURIComponent(ownerName)}/${encodeURIComponent(one.name)}`
        const record = await repositoryOf(migration, one)
        if (record === undefined || record.owner !== owner.id) return history.remove([one])
        if (await isGone(migration, path)) await followRepository(migration, owner, record, [], one.name)
      })
}

const repositoryOf = ({ allot }: Migration, { ids: [id] }: Migrated) =>
  id === undefined ? undefined : allot.hosting.repositories.byId(id)

/** A list may lack what was there all the time, when something was deleted while its pages were read. */
const isGone = async ({ source }: Migration, path: string): Promise<boolean> => {
  const status = await source.status(path)
  return status === 404 || (status >= 300 && status < 400)
}
