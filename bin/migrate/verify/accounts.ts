import * as v from 'valibot'
import type { Account } from '../../../lib/records/schema/index.ts'
import { profileAt, RESTRICTED, realEmail } from '../accounts.ts'
import { apiPath, ifAvailable, reportErrors } from '../migration.ts'
import { SourceRepository, SourceUser } from '../shapes.ts'
import type { Shape, Source } from '../source.ts'
import {
  fingerprintOf,
  NO_SIGNATURES,
  NOT_HERE,
  publishedKeys,
  SourceGpgKey,
  SourceKey,
  UNTITLED,
} from '../user-data.ts'
import { dateOf, type Fields, type Item, named } from './comparison.ts'
import type { Sides } from './sides.ts'

export const OTHER_NAME = 'accounts with another name here'

/** Whether a user of the source may sign in there. */
export const canSignIn = ({ active, prohibit_login }: SourceUser): boolean => active && !prohibit_login

const fieldsOf = (side: Source, user: SourceUser): Fields => ({
  ...profileAt(side, user),
  // A hidden address is not compared.
  email: realEmail(user) || undefined,
  administrator: user.is_admin,
  active: canSignIn(user) && !user.restricted,
  created: dateOf(user.created),
})

/** Compares the profile and the keys of a user. */
export const compareUser = (sides: Sides, user: SourceUser): Promise<void> =>
  reportErrors(sides.report, `the user ${user.login}`, async () => {
    const { source, here, report, names } = sides
    const account = await names.account(user.login)
    if (account?.kind !== 'user') return report.missing('user', user.login)
    report.count('user')
    if (account.name.toLowerCase() !== user.login.toLowerCase())
      report.note('renamed', OTHER_NAME, `${user.login} is ${account.name}`)
    const copy = await here.get(SourceUser, apiPath('users', account.name))
    report.fields('user', user.login, fieldsOf(source, user), fieldsOf(here, copy))
    if (user.restricted) report.note('leftOut', RESTRICTED, user.login)
    await compareKeys(sides, user.login, account)
  })

const compareKeys = async ({ source, here, report }: Sides, login: string, account: Account) => {
  const sshKeys = async (side: Source, name: string): Promise<Item[]> => {
    const keys = (await ifAvailable(side.list(SourceKey, apiPath('users', name, 'keys')))) ?? []
    return keys.map(({ key, title }) => ({ name: fingerprintOf(key), fields: { title: title || UNTITLED } }))
  }
  const gpgKeys = async (side: Source, name: string) => {
    const keys = (await ifAvailable(side.list(SourceGpgKey, apiPath('users', name, 'gpg_keys')))) ?? []
    return named(keys.map(({ key_id: id }) => id.toUpperCase()))
  }
  report.count('key')
  report.lists('key', login, await sshKeys(source, login), await sshKeys(here, account.name))
  const [given, copied] = [await gpgKeys(source, login), await gpgKeys(here, account.name)]
  const unpublished = new Set<string>()
  if (given.length > copied.length) {
    const published = await publishedKeys(source, login)
    for (const { name } of given) if (!published.has(name)) unpublished.add(name)
    for (const name of unpublished) report.note('notCopied', NO_SIGNATURES, `${name} of ${login}`)
  }
  const isExpected = ({ name }: Item) => !unpublished.has(name) || copied.some((key) => key.name === name)
  report.lists('key', login, given.filter(isExpected), copied)
}

/** Compares whom a user follows, and which repositories the user stars and watches. */
export const compareRelations = (sides: Sides, user: SourceUser): Promise<void> =>
  reportErrors(sides.report, `what ${user.login} follows, stars and watches`, async () => {
    const { names, report } = sides
    const account = await names.account(user.login)
    if (account?.kind !== 'user') return
    report.count('relation')
    const nameOf = async (followed: string) => (await names.account(followed))?.name
    const pathOf = async (path: string) => {
      const [owner = '', name = ''] = path.split('/')
      return (await names.repository(owner, name))?.path
    }
    const from = { login: user.login, account }
    const login = v.pipe(
      SourceUser,
      v.transform((user) => user.login),
    )
    await compareRelation(sides, from, 'following', login, nameOf)
    const path = v.pipe(
      SourceRepository,
      v.transform(({ owner, name }) => `${owner.login}/${name}`),
    )
    await compareRelation(sides, from, 'starred', path, pathOf)
    await compareRelation(sides, from, 'subscriptions', path, pathOf)
  })

/** @param nameHere finds the name here by the name at the source */
const compareRelation = async (
  { source, here, report }: Sides,
  { login, account }: { login: string; account: Account },
  list: 'following' | 'starred' | 'subscriptions',
  shape: Shape<string>,
  nameHere: (name: string) => Promise<string | undefined>,
): Promise<void> => {
  // Read as the user, who sees more of these lists than an administrator.
  const given = await ifAvailable(source.listAs(shape, apiPath('users', login, list), login))
  if (given === undefined) return
  const expected: string[] = []
  for (const name of given.items) {
    const copy = await nameHere(name)
    if (copy === undefined) report.note('notCopied', NOT_HERE, `${login}: ${name}`)
    else expected.push(copy.toLowerCase())
  }
  // Read as an administrator: here the user may not see a private account or repository of the list.
  const found = await here.list(shape, apiPath('users', account.name, list))
  const items = found.map((name) => name.toLowerCase())
  report.lists('relation', `${login} ${list}`, named(expected), named(items))
}
