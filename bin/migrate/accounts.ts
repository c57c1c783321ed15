import type { AccountEdit, NewAccount } from '../../lib/accounts/accounts.ts'
import { AllotError, type ErrorCode, invalid } from '../../lib/errors.ts'
import { type Account, type Audience, audienceOf, type Visibility } from '../../lib/records/schema/index.ts'
import { followDetails } from './details.ts'
import { GRANTS, type Grant } from './grants.ts'
import { type Migration, OPERATOR, reportErrors } from './migration.ts'
import type { Named } from './names/known-names.ts'
import type { SourceProfile, SourceUser } from './shapes.ts'
import type { Source } from './source.ts'
import { synchronizeGrants } from './synchronize.ts'

const NO_PASSWORD =
  'no password comes along: write a token and a link to set one for each of them (--tokens FILE), or set one (PATCH /admin/users/{username})'
const NO_EMAIL = 'no email: the source does not show it, or another account has it here'
const EXTERNAL_LOGIN = 'sign-in through another service, which is not used here'
export const RESTRICTED =
  'restricted users, who are inactive here, because an active user here sees everything that is public'
const CREATED_HERE = 'users created here, who are treated as the users of the same name at the source'

type AudienceGrant = typeof GRANTS.everyone | typeof GRANTS.signedIn
type AccountGrant = Exclude<Grant, typeof GRANTS.owner | typeof GRANTS.writable>

/**
 * The right of an audience to see something, as grants that can be revoked one by one: the wider one first.
 */
export const audienceGrants = (audience: Audience): AudienceGrant[] => {
  if (audience === audienceOf.public) return [GRANTS.everyone, GRANTS.signedIn]
  return audience === audienceOf.limited ? [GRANTS.signedIn] : []
}

/** At a source where everyone must sign in, nothing is public. */
export const visibilityAt = (source: Source, visibility: Visibility): Visibility =>
  visibility === 'public' && !source.isOpen ? 'limited' : visibility

/** An organization has only the grants of its visibility. */
const grantsOf = ({ kind, admin, active, visibility }: Partial<Account>): AccountGrant[] => [
  ...(admin === true ? [GRANTS.admin] : []),
  ...(kind !== 'organization' && active === true ? [GRANTS.active] : []),
  ...audienceGrants(audienceOf[visibility ?? 'public']),
]

/**
 * Creates a user. One who exists loses copied rights that the source has revoked, and follows changes of the
 * profile.
 */
export const copyUser = (migration: Migration, user: SourceUser): Promise<void> =>
  reportErrors(migration.report, `the user ${user.login}`, async () => {
    const { report, migrationLog, source, names } = migration
    const existing = await names.accountOf(user.login)
    if (isOfKind(existing, 'user')) {
      report.count('users', 'found')
      if ((await migrationLog.get('account', '', names.key(user.login))) === undefined)
        report.note('differs', CREATED_HERE, user.login)
      await synchronizeAccount(migration, existing, grantsOf(newAccount(source, user)))
    }
    const account = existing ?? (await createUser(migration, user))
    await followAccount(migration, account, user, user.login)
    reportUser(migration, account, user)
  })

/** Codes of an account that is refused for its address, malformed or taken, or for its name. */
const REFUSED: readonly ErrorCode[] = ['invalid', 'conflict']

const createUser = async (migration: Migration, user: SourceUser): Promise<Account> => {
  const { allot, report, migrationLog, source, names } = migration
  const { accounts } = allot.hosting
  const wanted = { ...newAccount(source, user), name: await freeName(migration, user.login) }
  const record = { ...newRecord(migration, { id: user.id, name: user.login }), grants: grantsOf(wanted) }
  await migrationLog.save([record])
  const account = await accounts.createUser(wanted, { by: OPERATOR }).catch((error: unknown) => {
    // The address may be the reason: another account can have it. Any other reason refuses the account again.
    const isRefused = error instanceof AllotError && REFUSED.includes(error.code) && wanted.email !== ''
    if (!isRefused) throw error
    return accounts.createUser({ ...wanted, email: '' }, { by: OPERATOR })
  })
  await migrationLog.save([{ ...record, copy: { id: account.id } }])
  names.created(account, record.name)
  report.count('users', 'copied')
  return account
}

/** The migration log's record of an account, before it is created. */
export const newRecord = ({ names }: Migration, { id, name }: Named) => ({
  ...({ kind: 'account', scope: '', name: names.key(name), grants: [] as string[] } as const),
  ...(id === undefined ? {} : { original: { id, name: name.toLowerCase() } }),
})

/**
 * The name that an account gets here.
 * @throws AllotError invalid when the copy of another account has it
 */
export const freeName = async ({ allot, names }: Migration, login: string): Promise<string> => {
  const name = names.wantedName(login)
  const found = await allot.hosting.accounts.byName(name)
  if (found === undefined || !names.isCopyOfOther('account', found.id, names.key(login))) return name
  throw invalid(
    `name: ${name} here is the copy of another account of the source: give --rename ${login}=NAME, or rename the copy`,
  )
}

/** Reports the parts of an account that cannot be copied, in every run until they are set here. */
const reportUser = ({ report }: Migration, account: Account, user: SourceUser): void => {
  if (account.email === '') report.note('notCopied', NO_EMAIL, user.login)
  if (user.restricted) report.note('leftOut', RESTRICTED, user.login)
  if (account.password === null)
    report.note('notCopied', user.source_id === 0 ? NO_PASSWORD : EXTERNAL_LOGIN, user.login)
}

/**
 * Follows changes of the profile at the source, and keeps the date of creation there.
 * @param login the name at the source
 */
export const followAccount = async (
  migration: Migration,
  account: Account,
  given: SourceProfile,
  login: string,
): Promise<void> => {
  const { allot, migrationLog, names, report } = migration
  const { id, name: label, fullName, website, description, location } = account
  if (label.toLowerCase() !== login.toLowerCase()) report.note('renamed', 'accounts', `${login} is ${label}`)
  const name = names.keyHere(account)
  const known = await migrationLog.get('account', '', name)
  if (known?.copy?.id !== id) return
  if (given.created !== undefined) await allot.hosting.accounts.setCreatedAt(id, given.created)
  const source = textsOf(given)
  const here = { fullName, website, description, location }
  await followDetails(migration, { kind: 'account', scope: '', name, label, here, source }, (details) =>
    allot.hosting.accounts.edit(id, details, { by: OPERATOR }),
  )
}

/** @param source the rights at the source; none when the account was deleted there */
export const synchronizeAccount = (
  migration: Migration,
  account: Account,
  source: readonly AccountGrant[],
): Promise<void> => {
  const { id, name: label } = account
  const subject = {
    kind: 'account',
    scope: '',
    name: migration.names.keyHere(account),
    copy: { id },
    label,
  } as const
  return synchronizeGrants(migration, { ...subject, here: grantsOf(account), source }, (grants) =>
    // Of two visibilities the last one counts: that without both grants of the audience.
    migration.allot.hosting.accounts.edit(id, Object.assign({}, ...grants.map((grant) => WITHOUT[grant])), {
      by: OPERATOR,
    }),
  )
}

/** How an account loses each right. */
const WITHOUT: Record<AccountGrant, AccountEdit> = {
  [GRANTS.admin]: { admin: false },
  [GRANTS.active]: { active: false },
  [GRANTS.everyone]: { visibility: 'limited' },
  [GRANTS.signedIn]: { visibility: 'private' },
}

/** @throws AllotError invalid when the name belongs to an account of the other kind */
export const isOfKind = (account: Account | undefined, kind: Account['kind']): account is Account => {
  if (account !== undefined && account.kind !== kind)
    throw invalid(`name: ${account.kind === 'user' ? 'a user' : 'an organization'} here has this name`)
  return account !== undefined
}

const newAccount = (source: Source, user: SourceUser) =>
  ({
    name: user.login,
    ...profileAt(source, user),
    email: realEmail(user),
    admin: user.is_admin,
    active: user.active && !user.prohibit_login && !user.restricted,
  }) satisfies NewAccount

const textsOf = ({ full_name: fullName, website, description, location }: SourceProfile) => ({
  fullName,
  website,
  description,
  location,
})

/** The members that are copied of users and of organizations. */
export const profileAt = (source: Source, account: SourceProfile) => ({
  ...textsOf(account),
  visibility: visibilityAt(source, account.visibility),
})

/** A hidden email is shown as an address at `noreply.`, which receives nothing. */
export const realEmail = ({ email }: SourceUser): string =>
  email && !/[@.]noreply\./i.test(email.slice(email.indexOf('@'))) ? email : ''
