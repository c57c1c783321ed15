import type { NewAccount } from '../../lib/accounts/accounts.ts'
import { AllotError, type ErrorCode, invalid } from '../../lib/errors.ts'
import { pick } from '../../lib/records/edits.ts'
import { type Account, type Audience, audienceOf, type Visibility } from '../../lib/records/schema/index.ts'
import { followNarrowed, removedHere } from './copies.ts'
import type { Right } from './labels.ts'
import { type Migration, OPERATOR, reportErrors } from './migration.ts'
import type { Named } from './names/known-names.ts'
import type { SourceProfile, SourceUser } from './shapes.ts'
import type { Source } from './source.ts'
import { digestOf, type Item, type Things } from './things.ts'

const NO_PASSWORD =
  'no password comes along: write a token and a link to set one for each of them (--tokens FILE), or set one (PATCH /admin/users/{username})'
const NO_EMAIL = 'no email: the source does not show it, or another account has it here'
const EMAIL_REFUSED = 'users whose address at the source is refused here'
const EXTERNAL_LOGIN = 'sign-in through another service, which is not used here'
export const RESTRICTED =
  'restricted users, who are inactive here, because an active user here sees everything that is public'
const CREATED_HERE = 'users created here, who are treated as the users of the same name at the source'

/** At a source where everyone must sign in, nothing is public. */
export const visibilityAt = (source: Source, visibility: Visibility): Visibility =>
  visibility === 'public' && !source.isOpen ? 'limited' : visibility

/** The rights of everyone to see something, the wider one first. */
export const rightsToSee = (audience: Audience): Right[] => {
  if (audience === audienceOf.public) return ['everyone', 'signedIn']
  return audience === audienceOf.limited ? ['signedIn'] : []
}

type Members = Required<Pick<Account, (typeof MEMBERS)[number]>>
/** The members that are followed. */
const MEMBERS = [
  ...(['fullName', 'email', 'website', 'description', 'location'] as const),
  ...(['admin', 'active', 'visibility'] as const),
] as const

const membersOf = (account: Account): Members => pick(account, MEMBERS)

/** Creates a user. One who exists follows the source, and gets no right before the end of the run. */
export const copyUser = (migration: Migration, user: SourceUser): Promise<void> =>
  reportErrors(migration.report, `the user ${user.login}`, async () => {
    const { report, migrationLog, source, names } = migration
    const existing = await names.accountOf(user.login)
    if (
      isOfKind(existing, 'user') &&
      (await migrationLog.get('account', '', names.key(user.login))) === undefined
    )
      report.note('differs', CREATED_HERE, user.login)
    const account = existing ?? (await createUser(migration, user))
    const { name: _, email, ...others } = newAccount(source, user)
    const values = { ...others, ...(email !== '' && { email }) }
    const outcome = await followAccount(migration, account, values, user.login)
    if (existing !== undefined) report.count('users', outcome)
    await keepDate(migration, account, user)
    reportUser(migration, (await migration.allot.hosting.accounts.byId(account.id)) ?? account, user)
  })

/** Codes of an account that is refused for its address, malformed or taken, or for its name. */
const REFUSED: readonly ErrorCode[] = ['invalid', 'conflict']

const createUser = async (migration: Migration, user: SourceUser): Promise<Account> => {
  const { allot, report, migrationLog, source, names } = migration
  const { accounts } = allot.hosting
  const wanted = { ...newAccount(source, user), name: await freeName(migration, user.login) }
  const record = newRecord(migration, { id: user.id, name: user.login })
  await migrationLog.save([record])
  const account = await accounts.createUser(wanted, { by: OPERATOR }).catch((error: unknown) => {
    // The address may be the reason: another account can have it. Any other reason refuses the account again.
    if (!isRefused(error) || wanted.email === '') throw error
    return accounts.createUser({ ...wanted, email: '' }, { by: OPERATOR })
  })
  await migrationLog.save([copiedAs(record, account)])
  names.created(account, record.name)
  report.count('users', 'copied')
  return account
}

/** The migration log's record of an account, before it is created. */
export const newRecord = ({ names }: Migration, { id, name }: Named) => ({
  ...({ kind: 'account', scope: '', name: names.key(name) } as const),
  ...(id === undefined ? {} : { original: { id, name: name.toLowerCase() } }),
})

export const copiedAs = <T>(record: T, account: Account) => ({
  ...record,
  copy: { id: account.id },
  digest: digestOf(membersOf(account)),
})

/**
 * The name that an account gets here.
 * @throws AllotError invalid when the copy of another account has it
 */
export const freeName = async (
  { allot, names, migrationLog, report }: Migration,
  login: string,
): Promise<string> => {
  const known = await migrationLog.get('account', '', names.key(login))
  if (known?.copy !== undefined) report.note('overwritten', removedHere('account'), login)
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
 * Changes the copy of an account to what the source has, or to what is left of one that was deleted there.
 * @param login the name at the source
 */
export const followAccount = async (
  migration: Migration,
  account: Account,
  values: Partial<Members>,
  login: string,
): Promise<'found' | 'updated'> => {
  const { accounts } = migration.allot.hosting
  const { id, name: label, kind } = account
  if (label.toLowerCase() !== login.toLowerCase())
    migration.report.note('renamed', 'accounts', `${login} is ${label}`)
  const things: Things = {
    ...{ kind: 'account', scope: '' },
    find: async () => ({ id }),
    members: async () => membersOf((await accounts.byId(id))!),
    remove: async () => undefined,
  }
  const item: Item = {
    ...{ name: migration.names.keyHere(account), label, values },
    narrowed: (here) => ({ ...values, ...narrowed(here as Members, values) }),
    rights: ({ admin, active, visibility }) => [
      ...(admin === true ? (['admin'] as const) : []),
      ...(kind === 'user' && active === true ? (['active'] as const) : []),
      ...rightsToSee(audienceOf[visibility as Visibility]),
    ],
    create: async () => false,
    async edit(_, { email, ...edit }: Partial<Members>) {
      await accounts.edit(id, edit, { by: OPERATOR })
      if (email !== undefined) await followEmail(migration, account, email)
    },
  }
  return followNarrowed(migration, things, async () => item, { id })
}

/** Another account can have the address here, also a copy that gets another one in this run. */
const followEmail = async (
  migration: Migration,
  account: Account,
  email: string,
  isAgain = false,
): Promise<void> => {
  const { allot, report, giving } = migration
  try {
    await allot.hosting.accounts.edit(account.id, { email }, { by: OPERATOR })
  } catch (error) {
    if (!isRefused(error)) throw error
    if (isAgain) report.note('differs', EMAIL_REFUSED, `${account.name} (${error.message})`)
    else giving.push(() => followEmail(migration, account, email, true))
  }
}

const isRefused = (error: unknown): error is AllotError =>
  error instanceof AllotError && REFUSED.includes(error.code)

/** The lesser one of the rights on both sides, as far as the source has them. */
const narrowed = (here: Members, { admin, active, visibility }: Partial<Members>): Partial<Members> => ({
  ...(admin !== undefined && { admin: admin && here.admin }),
  ...(active !== undefined && { active: active && here.active }),
  ...(visibility !== undefined && {
    visibility: audienceOf[visibility] > audienceOf[here.visibility] ? visibility : here.visibility,
  }),
})

/** A copy has the date of its original. */
const keepDate = async (
  { allot, migrationLog, names }: Migration,
  account: Account,
  { created }: SourceProfile,
): Promise<void> => {
  const record = await migrationLog.get('account', '', names.keyHere(account))
  if (created !== undefined && record?.copy?.id === account.id)
    await allot.hosting.accounts.setCreatedAt(account.id, created)
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
