import type { AccountEdit, NewAccount } from '../../lib/accounts/accounts.ts'
import { AllotError, invalid } from '../../lib/errors.ts'
import { type Account, audienceOf } from '../../lib/records/schema/index.ts'
import { followGrants } from './grants.ts'
import { type Migration, reportErrors } from './migration.ts'
import type { Source } from './source.ts'
import type { SourceUser } from './source-types.ts'
import { grantsOfAudience, visibilityAt, visibilityWithout } from './visibility.ts'

const NO_PASSWORD =
  'no password comes along: set one (PATCH /admin/users/{username}), or give a token (allot token add)'
const NO_EMAIL = 'no email: the source does not show it, or somebody else has it here'
const ELSEWHERE = 'signed in by way of another service, which is not asked here'
const RESTRICTED =
  'restricted users, who are brought inactive, for an active user here sees all that is public'
const MADE_HERE = 'users made here, who are taken for those of the same name at the source'

const ADMIN = 'administrator'
const ACTIVE = 'active'

/** An account that is here stays as it is, except for rights that came from the source and are withdrawn there. */
export const copyUser = (migration: Migration, user: SourceUser): Promise<void> =>
  reportErrors(migration.report, `the user ${user.login}`, async () => {
    const { allot, report, history, source } = migration
    const { accounts } = allot.hosting
    const name = user.login.toLowerCase()
    const given = accountOf(source, user)
    const there = await accounts.byName(name)
    if (isThere(there, 'user')) {
      report.found('users')
      if ((await history.get('account', '', name)) === undefined) report.differs(MADE_HERE, user.login)
      return followAccount(migration, there, grantsOf(given))
    }
    const record = { kind: 'account', scope: '', name, ids: [], grants: grantsOf(given) } as const
    await history.save([record])
    const { id, email } = await accounts.createUser(given).catch((error) => {
      if (!(error instanceof AllotError) || !error.message.startsWith('email:')) throw error
      return accounts.createUser({ ...given, email: '' })
    })
    await history.save([{ ...record, ids: [id] }])
    report.copied('users')
    if (email === '') report.behind(NO_EMAIL, user.login)
    if (user.restricted === true) report.leftOut(RESTRICTED, user.login)
    report.behind(user.source_id === 0 ? NO_PASSWORD : ELSEWHERE, user.login)
  })

/** @param source the rights at the source; none when the account is gone there */
export const followAccount = (
  migration: Migration,
  account: Account,
  source: readonly string[],
): Promise<void> =>
  followGrants(
    migration,
    {
      ...{ kind: 'account', scope: '', name: account.name.toLowerCase(), id: account.id },
      ...{ label: account.name, here: grantsOf(account), source },
    },
    (grants) => migration.allot.hosting.accounts.edit(account.id, editWithout(grants)),
  )

/** An organization has only its visibility. */
const grantsOf = ({ kind, admin, active, visibility }: Partial<Account>): string[] => [
  ...(admin === true ? [ADMIN] : []),
  ...(kind !== 'organization' && active === true ? [ACTIVE] : []),
  ...grantsOfAudience(audienceOf[visibility ?? 'public']),
]

const editWithout = (grants: readonly string[]): AccountEdit => ({
  ...(grants.includes(ADMIN) && { admin: false }),
  ...(grants.includes(ACTIVE) && { active: false }),
  ...visibilityWithout(grants),
})

/** @throws AllotError invalid when the name is that of something else */
export const isThere = (account: Account | undefined, kind: Account['kind']): account is Account => {
  if (account !== undefined && account.kind !== kind)
    throw invalid(`name: here is ${account.kind === 'user' ? 'a user' : 'an organization'} of that name`)
  return account !== undefined
}

/** What is shown in the place of a hidden email leads nowhere. */
const emailOf = ({ email }: SourceUser): string => (email && !/@(?:.+\.)?noreply\./i.test(email) ? email : '')

const accountOf = (source: Source, user: SourceUser) =>
  ({
    name: user.login,
    email: emailOf(user),
    fullName: user.full_name ?? '',
    website: user.website ?? '',
    description: user.description ?? '',
    location: user.location ?? '',
    admin: user.is_admin === true,
    active: user.active !== false && user.prohibit_login !== true && user.restricted !== true,
    visibility: visibilityAt(source, user.visibility),
  }) satisfies NewAccount
