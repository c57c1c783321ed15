import * as v from 'valibot'
import type { Account, MigrationRecord, Repository } from '../../lib/records/schema/index.ts'
import { followAccount } from './accounts.ts'
import { collaboratorsOf } from './collaborators.ts'
import { Copies } from './copies.ts'
import { apiPath, type Migration, reportErrors } from './migration.ts'
import type { Named } from './names/index.ts'
import { membershipsOf } from './organizations.ts'
import { followRepository } from './repositories.ts'
import { SourceRepository } from './shapes.ts'
import { NAME_IS_FREE } from './source.ts'
import { withdrawTeams } from './teams/index.ts'
import { followsOf, gpgKeysOf, sshKeysOf, starsOf, watchesOf } from './user-data.ts'

/**
 * Revokes the rights of copied accounts that were deleted at the source. Nothing is deleted here, but only
 * administrators can use or see it any more.
 * @param accounts all users and organizations of the source
 */
export const revokeDeletedAccounts = async (
  migration: Migration,
  accounts: readonly Named[],
): Promise<void> => {
  const { migrationLog, report, names, listed } = migration
  const existing = new Set(accounts.map(({ id }) => String(id)))
  for (const record of await migrationLog.list('account')) {
    if (existing.has(record.name)) continue
    await reportErrors(report, `the account ${record.original?.name ?? record.name}`, async () => {
      const account = await names.accountWithKey(record.name)
      if (account === undefined || record.copy?.id !== account.id) return migrationLog.remove([record])
      if (!(await isAccountDeleted(migration, account.kind, record))) return
      listed.add(record.name)
      await revokeAccount(migration, account)
    })
  }
}

const Identified = v.object({ id: v.number() })

/** Another account can have its name now. */
const isAccountDeleted = async (
  { source }: Migration,
  kind: Account['kind'],
  { name, original }: MigrationRecord,
): Promise<boolean> => {
  const path = apiPath(kind === 'user' ? 'users' : 'orgs', original?.name ?? name)
  const found = await source.find(Identified, path, NAME_IS_FREE)
  return found === undefined || String(found.id) !== name
}

const revokeAccount = async (migration: Migration, account: Account): Promise<void> => {
  const isUser = account.kind === 'user'
  const hidden = { visibility: 'private' as const, ...(isUser && { admin: false, active: false }) }
  await followAccount(migration, account, hidden, account.name)
  if (isUser)
    for (const of of [sshKeysOf, gpgKeysOf, followsOf, starsOf, watchesOf])
      await new Copies(migration, of(migration, account)).withdraw([])
  else {
    await withdrawTeams(migration, account, [])
    await new Copies(migration, membershipsOf(migration, account)).withdraw([])
  }
}

/**
 * Makes copied repositories private and archived when the source has deleted them, or has moved them to an
 * account whose repositories are not listed: a run of everything moves these.
 */
export const revokeDeletedRepositories = async (migration: Migration): Promise<void> => {
  const { allot, migrationLog, names, found, listed } = migration
  const seen = new Set<string>()
  for (const { given } of found)
    if ((await names.accountOf(given.owner.login)) !== undefined) seen.add(names.repositoryKey(given))
  for (const record of await migrationLog.list('repository')) {
    const [owner = ''] = record.original!.name.split('/')
    if (seen.has(record.name) || !listed.has(owner)) continue
    const id = record.copy?.id
    const repository = id === undefined ? undefined : await allot.hosting.repositories.byId(id)
    if (repository === undefined) await migrationLog.remove([record])
    else await revokeIfGone(migration, record.name, owner, repository)
  }
}

/**
 * @param key of the repository in the migration log
 * @param owner key of its owner
 */
const revokeIfGone = async (
  migration: Migration,
  key: string,
  owner: string,
  repository: Repository,
): Promise<void> => {
  const label = await migration.names.pathOf(repository)
  await reportErrors(migration.report, `the repository ${label}`, async () => {
    if (!(await hasLeft(migration, key, owner))) return
    const hidden = { private: true, archived: true }
    await followRepository(migration, { id: repository.id, key, label, valuesIn: () => hidden })
    await new Copies(migration, collaboratorsOf(migration, { key, repository, within: label })).withdraw([])
  })
}

/** Whether the original was deleted, or has another owner than the one whose repositories were listed. */
const hasLeft = async ({ source, names }: Migration, id: string, owner: string): Promise<boolean> => {
  const found = await source.find(SourceRepository, apiPath('repositories', id))
  return found === undefined || names.key(found.owner.login) !== owner
}
