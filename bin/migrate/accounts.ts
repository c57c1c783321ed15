import type { NewAccount } from '../../lib/accounts/accounts.ts'
import { AllotError, existing, invalid } from '../../lib/errors.ts'
import { pick } from '../../lib/records/edits.ts'
import { type Account, audienceOf, type Visibility } from '../../lib/records/schema/index.ts'
import { Copies, removedHere } from './copies.ts'
import { type Migration, OPERATOR, reportErrors } from './migration.ts'
import type { Named } from './names/index.ts'
import type { SourceProfile, SourceUser } from './shapes.ts'
import type { Source } from './source.ts'
import type { Item, Things, Values } from './things.ts'

/** Where several processes share a store, somebody can delete a copy meanwhile. */
export const DELETED = 'it was deleted during the migration'
const NO_PASSWORD =
  'no password comes along: write a token and a link to set one for each of them (--tokens FILE), or set one (PATCH /admin/users/{username})'
const NO_EMAIL = 'no email: the source does not show it, or another account has it here'
const EMAIL_REFUSED = 'users whose address at the source is refused here'
const EXTERNAL_LOGIN = 'sign-in through another service, which is not used here'
const RESTRICTED =
  'restricted users, who are inactive here, because an active user here sees everything that is public'
const CREATED_HERE = 'users created here, who are treated as the users of the same name at the source'

/** At a source where everyone must sign in, nothing is public. */
export const visibilityAt = (source: Source, visibility: Visibility): Visibility =>
  visibility === 'public' && !source.isOpen ? 'limited' : visibility

type Members = Required<Pick<Account, (typeof MEMBERS)[number]>>
/** The members that are followed. */
const MEMBERS = [
  ...(['fullName', 'email', 'website', 'description', 'location'] as const),
  ...(['admin', 'active', 'visibility'] as const),
] as const

const membersOf = (account: Account): Members => pick(account, MEMBERS)

/**
 * Creates a user, who can sign in only once everything is withdrawn that the source has withdrawn: whoever
 * signs in sees what is shown to all users. One who exists follows the source, and gets no right before the
 * end of the run.
 */
export const copyUser = (migration: Migration, user: SourceUser): Promise<void> =>
  reportErrors(migration.report, `the user ${user.login}`, async () => {
    const { report, migrationLog, source, names } = migration
    const existing = await names.accountOf(user.login)
    if (existing === undefined && migration.comparison !== undefined)
      return migration.comparison.missing('user', user.login)
    if (
      isOfKind(existing, 'user') &&
      (await migrationLog.get('account', '', names.key(user.login))) === undefined
    )
      report.note('differs', CREATED_HERE, user.login)
    const account = existing ?? (await createUser(migration, user))
    const { name: _, email, ...others } = newAccount(source, user)
    const values = { ...others, ...(email !== '' && { email }) }
    const outcome = await followAccount(migration, account, values, user.login, { createdAt: user.created })
    if (existing !== undefined) report.count('users', outcome)
    if (user.restricted) report.note('leftOut', RESTRICTED, user.login)
    if (migration.comparison === undefined) await completeUser(migration, account.id, user)
  })

const createUser = (migration: Migration, user: SourceUser): Promise<Account> =>
  createCopy(migration, { id: user.id, name: user.login }, 'users', (name) =>
    migration.allot.hosting.accounts.createUser(
      // Another account can have the address, which follows.
      { ...newAccount(migration.source, user), name, email: '', active: false },
      { by: OPERATOR },
    ),
  )

/**
 * Creates an account with its record in the migration log.
 * @param kind in the report
 * @param make creates it with the name here; gets its key, too
 * @throws AllotError invalid when the copy of another account has the name
 */
export const createCopy = async (
  migration: Migration,
  { id, name: login }: Named,
  kind: 'users' | 'organizations',
  make: (name: string, key: string) => Promise<Account>,
): Promise<Account> => {
  const { allot, names, migrationLog, report } = migration
  const key = names.key(login)
  if ((await migrationLog.get('account', '', key))?.copy !== undefined)
    report.note('overwritten', removedHere('account'), login)
  const name = names.wantedName(login)
  const found = await allot.hosting.accounts.byName(name)
  if (found !== undefined && names.isCopyOfOther('account', found.id, key))
    throw invalid(
      `name: ${name} here is the copy of another account of the source: give --rename ${login}=NAME, or rename the copy`,
    )
  const record = {
    kind: 'account' as const,
    scope: '',
    name: key,
    original: { id, name: login.toLowerCase() },
  }
  await migrationLog.save([record])
  const account = await make(name, key)
  await migrationLog.save([{ ...record, copy: { id: account.id } }])
  names.created(account, key)
  report.count(kind, 'copied')
  return account
}

/**
 * Gives a copy the date of its original, and reports what cannot be copied, in every run until it is set
 * here.
 */
const completeUser = async (
  { allot, migrationLog, names, report }: Migration,
  id: number,
  { login, created, source_id: source }: SourceUser,
): Promise<void> => {
  const { accounts } = allot.hosting
  const record = await migrationLog.get('account', '', names.key(login))
  if (created !== undefined && record?.copy?.id === id) await accounts.setCreatedAt(id, created)
  const { email, password } = existing(await accounts.byId(id), DELETED)
  if (email === '') report.note('notCopied', NO_EMAIL, login)
  if (password === null) report.note('notCopied', source === 0 ? NO_PASSWORD : EXTERNAL_LOGIN, login)
}

/**
 * Gives the copy of an account the values that it has at the source, or those of a deleted account.
 * @param login the name at the source
 * @param kept what is only compared
 */
export const followAccount = async (
  migration: Migration,
  account: Account,
  values: Partial<Members>,
  login: string,
  kept?: Values,
): Promise<'found' | 'updated'> => {
  const { accounts } = migration.allot.hosting
  const { id, kind } = account
  migration.report.noteName('accounts', login, account.name)
  const things: Things = {
    kind: 'account',
    scope: '',
    one: kind,
    find: async () => ({ id }),
    kept: async () => ({ createdAt: account.createdAt }),
    members: async () => membersOf(existing(await accounts.byId(id), DELETED)),
    remove: async () => undefined,
  }
  const item: Item = {
    name: migration.names.keyHere(account),
    label: login,
    values,
    kept: kept ?? {},
    rightsOnBothSides: (here) => lesser(here as Members, values),
    create: async () => false,
    async edit(_, { email, ...edit }: Partial<Members>) {
      await accounts.edit(id, edit, { by: OPERATOR })
      if (email === undefined) return
      const setEmail = async (refused: (error: AllotError) => unknown): Promise<void> => {
        await accounts.edit(id, { email }, { by: OPERATOR }).catch((error: unknown) => {
          if (!(error instanceof AllotError) || !['invalid', 'conflict'].includes(error.code)) throw error
          refused(error)
        })
      }
      const report = ({ message }: AllotError) =>
        migration.report.note('differs', EMAIL_REFUSED, `${login} (${message})`)
      // Another account can have the address here, also a copy that gets another one in this run.
      await setEmail(() => migration.giving.push(() => setEmail(report)))
    },
  }
  return new Copies(migration, things).followNarrowed(async () => item, { id })
}

/** The lesser one of the rights on both sides, as far as the source has them. */
const lesser = (here: Members, { admin, active, visibility }: Partial<Members>): Partial<Members> => ({
  ...(admin !== undefined && { admin: admin && here.admin }),
  ...(active !== undefined && { active: active && here.active }),
  ...(visibility !== undefined && {
    visibility: audienceOf[visibility] > audienceOf[here.visibility] ? visibility : here.visibility,
  }),
})

/** @throws AllotError invalid when the name belongs to an account of the other kind */
export const isOfKind = (account: Account | undefined, kind: Account['kind']): account is Account => {
  if (account !== undefined && account.kind !== kind)
    throw invalid(`name: ${account.kind === 'user' ? 'a user' : 'an organization'} here has this name`)
  return account !== undefined
}

/** A restricted user sees less at the source than every user sees here, and is inactive. */
export const canSignIn = ({ active, prohibit_login, restricted }: SourceUser): boolean =>
  active && !prohibit_login && !restricted

const newAccount = (source: Source, user: SourceUser) =>
  ({
    name: user.login,
    ...profileAt(source, user),
    email: realEmail(user),
    admin: user.is_admin,
    active: canSignIn(user),
  }) satisfies NewAccount

/** The members that are copied of users and of organizations. */
export const profileAt = (source: Source, account: SourceProfile) => ({
  fullName: account.full_name,
  website: account.website,
  description: account.description,
  location: account.location,
  visibility: visibilityAt(source, account.visibility),
})

/** A hidden email is shown as an address at `noreply.`, which receives nothing. */
const realEmail = ({ email }: SourceUser): string =>
  email && !/[@.]noreply\./i.test(email.slice(email.indexOf('@'))) ? email : ''
