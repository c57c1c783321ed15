import * as v from 'valibot'
import type { Account } from '../../lib/records/schema/index.ts'
import { forUserHere, ifAvailable, type Migration } from './migration.ts'
import type { Report } from './report.ts'
import type { Source } from './source.ts'
import { createMissing, type KeptSubject, type SourceItem } from './synchronize.ts'

const UNVERIFIED = 'further addresses that their users have not confirmed at the source'

const SourceEmail = v.object({
  email: v.string(),
  username: v.nullish(v.string(), ''),
  primary: v.nullish(v.boolean(), false),
  verified: v.nullish(v.boolean(), true),
})

/**
 * The further addresses of users, which the source lists for all users together.
 * @returns the confirmed ones by login in lower case; undefined when the source shows none
 */
export const furtherAddresses = async (
  source: Source,
  report: Pick<Report, 'note'>,
  logins: readonly string[],
): Promise<ReadonlyMap<string, readonly string[]> | undefined> => {
  const found = await ifAvailable(source.list(SourceEmail, '/admin/emails'))
  const further = new Map(logins.map((login) => [login.toLowerCase(), [] as string[]]))
  for (const { email, username, primary, verified } of found ?? []) {
    const own = further.get(username.toLowerCase())
    if (primary || own === undefined) continue
    if (verified) own.push(email)
    else report.note('notCopied', UNVERIFIED, `${email} of ${username}`)
  }
  return found && further
}

/**
 * Copies the further addresses of users. One that the source has removed stays: an address gives no right,
 * and says whose the commits with it are.
 */
export const copyEmails = async (migration: Migration, logins: readonly string[]): Promise<void> => {
  const further = await furtherAddresses(migration.source, migration.report, logins)
  for (const [login, emails] of further ?? [])
    if (emails.length > 0)
      await forUserHere(migration, `the further addresses of ${login}`, login, (user) =>
        createMissing(migration, emailsOf(migration, user), emails.map(addressOf(migration, user))),
      )
}

const emailsOf = ({ allot, names }: Migration, user: Account): KeptSubject => ({
  kind: 'email',
  scope: names.keyHere(user),
  ends: async () => ({ of: user.id }),
  async find(address) {
    const own = await allot.hosting.emails.list(user.id)
    return own.some(({ email }) => email.toLowerCase() === address) ? { of: user.id } : undefined
  },
})

const addressOf =
  ({ allot }: Migration, { id }: Account) =>
  (email: string): SourceItem => ({
    name: email.toLowerCase(),
    label: email,
    async create() {
      await allot.hosting.emails.add(id, [email])
      return true
    },
  })
