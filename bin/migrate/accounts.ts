import { AllotError, invalid } from '../../lib/errors.ts'
import type { NewAccount } from '../../lib/hosting/accounts.ts'
import type { Account } from '../../lib/records/schema.ts'
import { attempt, type Moving } from './moving.ts'
import type { SourceUser } from './shapes.ts'

const NO_PASSWORD =
  'no password comes along: set one (PATCH /admin/users/{username}), or give a token (allot token add)'
const NO_EMAIL = 'no email: the source does not show it, or somebody else has it here'
const ELSEWHERE = 'signed in by way of another service, which is not asked here'

/** An account that is there stays as it is. */
export const copyUser = ({ allot, report }: Moving, user: SourceUser): Promise<void> =>
  attempt(report, `the user ${user.login}`, async () => {
    const { accounts } = allot.hosting
    if (isThere(await accounts.byName(user.login), 'user')) return report.found('users')
    const account = accountOf(user)
    const { email } = await accounts.createUser(account).catch((error) => {
      if (!(error instanceof AllotError) || !error.message.startsWith('email:')) throw error
      return accounts.createUser({ ...account, email: '' })
    })
    report.copied('users')
    if (email === '') report.behind(NO_EMAIL, user.login)
    report.behind(user.source_id === 0 ? NO_PASSWORD : ELSEWHERE, user.login)
  })

/** @throws AllotError invalid when the name is that of something else */
export const isThere = (account: Account | undefined, kind: Account['kind']): account is Account => {
  if (account !== undefined && account.kind !== kind)
    throw invalid(`name: here is ${account.kind === 'user' ? 'a user' : 'an organization'} of that name`)
  return account !== undefined
}

/** What is shown in the place of a hidden email leads nowhere. */
const emailOf = ({ email }: SourceUser): string => (email && !/@(?:.+\.)?noreply\./i.test(email) ? email : '')

const accountOf = (user: SourceUser): NewAccount => ({
  name: user.login,
  email: emailOf(user),
  fullName: user.full_name ?? '',
  website: user.website ?? '',
  description: user.description ?? '',
  location: user.location ?? '',
  admin: user.is_admin === true,
  active: user.active !== false && user.prohibit_login !== true,
  visibility: user.visibility,
})
