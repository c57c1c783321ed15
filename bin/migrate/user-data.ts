import { createHash } from 'node:crypto'
import * as v from 'valibot'
import { importWith } from '../../lib/optional-package.ts'
import type { Account } from '../../lib/records/schema/index.ts'
import { apiPath, forUserHere, ifAvailable, type Migration, withAdminRights } from './migration.ts'
import { textOf } from './names/index.ts'
import { SourceRepository, SourceUser } from './shapes.ts'
import type { Shape, Source } from './source.ts'
import { type ExistenceSubject, type SourceItem, synchronize } from './synchronize.ts'

const KEYS_NOT_SHOWN = 'keys, which the source does not show'
const NO_SIGNATURES =
  'GPG keys without their signatures, which the source does not give: their owners add them again'
const UNVERIFIED = 'further addresses that their users have not confirmed at the source'
export const NOT_HERE = 'follows, stars and watches of what does not exist here'
const RELATIONS_NOT_SHOWN = 'follows, stars or watches, which the source does not show'

/** More keys than any user has. */
const ALL = { offset: 0, limit: 10_000 }

export const SourceKey = v.object({ key: v.string(), title: v.nullish(v.string()) })
export const SourceGpgKey = v.object({ key_id: v.string() })

/** The things of one kind that belong to a user, and the list of the source that has them. */
interface UserSubject<T> extends ExistenceSubject {
  /** Name of the list in the API of the source. */
  list: string
  shape: Shape<T>
  itemFor(item: T): SourceItem
}

export const copyKeys = (migration: Migration, login: string): Promise<void> =>
  forUserHere(migration, `the keys of ${login}`, login, async (user) => {
    await copyList(migration, login, sshKeysOf(migration, user), KEYS_NOT_SHOWN)
    await copyList(migration, login, gpgKeysOf(migration, user, login), KEYS_NOT_SHOWN)
  })

/** Copies whom a user follows, and which repositories the user stars and watches. */
export const copyRelations = (migration: Migration, login: string): Promise<void> =>
  forUserHere(migration, `what ${login} follows, stars and watches`, login, async (user) => {
    // Read as the user, who sees more of these lists than an administrator.
    await copyList(migration, login, followsOf(migration, user), RELATIONS_NOT_SHOWN, login)
    await copyList(migration, login, starsOf(migration, user), RELATIONS_NOT_SHOWN, login)
    await copyList(migration, login, watchesOf(migration, user), RELATIONS_NOT_SHOWN, login)
  })

export const SourceEmail = v.object({
  email: v.string(),
  username: v.nullish(v.string(), ''),
  primary: v.nullish(v.boolean(), false),
  verified: v.nullish(v.boolean(), true),
})

/** Copies the further addresses of users, which the source lists for all users together. One that it has removed stays. */
export const copyEmails = async (migration: Migration, logins: readonly string[]): Promise<void> => {
  const { source, report } = migration
  const further = new Map(logins.map((login) => [login.toLowerCase(), [] as string[]]))
  const found = (await ifAvailable(source.list(SourceEmail, '/admin/emails'))) ?? []
  for (const { email, username, primary, verified } of found) {
    const own = further.get(username.toLowerCase())
    if (primary || own === undefined) continue
    if (verified) own.push(email)
    else report.note('notCopied', UNVERIFIED, `${email} of ${username}`)
  }
  for (const [login, emails] of further)
    if (emails.length > 0)
      await forUserHere(migration, `the further addresses of ${login}`, login, (user) =>
        synchronize(migration, emailsOf(migration, user), emails.map(addressOf(migration, user)), false),
      )
}

const emailsOf = ({ allot, names }: Migration, user: Account): ExistenceSubject => ({
  kind: 'email',
  scope: names.keyHere(user),
  ends: async () => ({ of: user.id }),
  async find(address) {
    const own = await allot.hosting.emails.list(user.id)
    return own.some(({ email }) => email.toLowerCase() === address) ? { of: user.id } : undefined
  },
  remove: async (address) => void (await allot.hosting.emails.remove(user.id, [address])),
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

/** Removes the copied keys and relations of a user who was deleted at the source. Further addresses stay: see {@link copyEmails}. */
export const removeUserData = async (migration: Migration, user: Account): Promise<void> => {
  for (const subjectOf of [sshKeysOf, gpgKeysOf, followsOf, starsOf, watchesOf])
    await synchronize(migration, subjectOf(migration, user), [])
}

/**
 * @param name of the user at the source
 * @param sudo user to read the list as; when the source refuses that, the list may be incomplete
 */
const copyList = async <T>(
  migration: Migration,
  name: string,
  subject: UserSubject<T>,
  notShown: string,
  sudo?: string,
): Promise<void> => {
  const { source, report } = migration
  const path = apiPath('users', name, subject.list)
  const list =
    sudo === undefined
      ? source.list(subject.shape, path).then((items) => ({ items, isRefused: false }))
      : source.listAs(subject.shape, path, sudo)
  const found = await ifAvailable(list)
  if (found === undefined) report.note('notCopied', notShown, name)
  else await synchronize(migration, subject, found.items.map(subject.itemFor), !found.isRefused)
}

const sshKeysOf = (
  { allot, names }: Migration,
  user: Account,
): UserSubject<v.InferOutput<typeof SourceKey>> => {
  const { sshKeys } = allot.hosting
  return {
    kind: 'sshKey',
    ...keysOf({ id: user.id, scope: names.keyHere(user) }, sshKeys, ({ fingerprint }) => fingerprint),
    list: 'keys',
    shape: SourceKey,
    itemFor: ({ key, title }) => ({
      name: fingerprintOf(key),
      label: title?.trim() || fingerprintOf(key),
      async create() {
        await sshKeys.add(user.id, { title: title?.trim() || 'a key', key })
        return true
      },
    }),
  }
}

interface UserKeys<K> {
  list(user: number, page: typeof ALL): Promise<{ items: readonly K[] }>
  remove(user: number, id: number): Promise<unknown>
}

/** @param nameOf what identifies a key, here and at the source */
const keysOf = <K extends { id: number }>(
  { id, scope }: { id: number; scope: string },
  keys: UserKeys<K>,
  nameOf: (key: K) => string,
): Omit<ExistenceSubject, 'kind'> => ({
  scope,
  ends: async () => ({ of: id }),
  async find(wanted) {
    const { items } = await keys.list(id, ALL)
    const key = items.find((item) => nameOf(item) === wanted)
    return key && { id: key.id, of: id }
  },
  remove: async (_, copy) => void (await keys.remove(id, copy.id!)),
})

/** @param key its type, the key in base64, and a comment */
export const fingerprintOf = (key: string): string => {
  const bytes = Buffer.from(key.split(' ')[1] ?? key, 'base64')
  return `SHA256:${createHash('sha256').update(bytes).digest('base64').replace('=', '')}`
}

/** The API has only the bare packets of a key, without its signatures. Gitea and Forgejo publish whole keys on a page. */
const gpgKeysOf = (
  { source, allot, report, names }: Migration,
  user: Account,
  login = user.name,
): UserSubject<v.InferOutput<typeof SourceGpgKey>> => {
  const { gpgKeys } = allot.hosting
  let published: Promise<Map<string, string>> | undefined
  return {
    kind: 'gpgKey',
    ...keysOf({ id: user.id, scope: names.keyHere(user) }, gpgKeys, ({ keyId }) => keyId),
    list: 'gpg_keys',
    shape: SourceGpgKey,
    itemFor(key) {
      const keyId = key.key_id.toUpperCase()
      const create = async () => {
        published ??= publishedKeys(source, login)
        const armored = (await published).get(keyId)
        if (armored === undefined) report.note('notCopied', NO_SIGNATURES, `${keyId} of ${user.name}`)
        else await gpgKeys.add(user.id, { armored })
        return armored !== undefined
      }
      return { name: keyId, label: keyId, create }
    },
  }
}

/** The keys that a Gitea or Forgejo publishes on the page of a user, by their ids. */
export const publishedKeys = (source: Source, login: string): Promise<Map<string, string>> =>
  source.page(`${apiPath(login)}.gpg`).then(splitKeys)

/** Splits a block of several keys. @returns an armored block for each key id */
const splitKeys = async (text: string | undefined): Promise<Map<string, string>> => {
  const { readKeys } = await importWith('openpgp', 'GPG keys', () => import('openpgp'))
  const keys = text === undefined ? [] : await readKeys({ armoredKeys: text }).catch(() => [])
  return new Map(keys.map((key) => [key.getKeyID().toHex().toUpperCase(), key.toPublic().armor()]))
}

const followsOf = ({ allot, report, names }: Migration, account: Account): UserSubject<SourceUser> => {
  const { follows } = allot.hosting.relations
  const { id, name } = account
  const user = withAdminRights(id)
  const ends = (key: string) => names.ends(id, key)
  return {
    kind: 'follow',
    scope: names.keyHere(account),
    ends,
    find: async (key) =>
      (await follows.check(user, id, await names.loginHere(key))) ? ends(key) : undefined,
    remove: async (key) => void (await follows.unfollow(user, await names.loginHere(key))),
    list: 'following',
    shape: SourceUser,
    itemFor: ({ login }) => ({
      name: names.key(login),
      label: login,
      async create() {
        const isHere = await follows.follow(user, await names.loginHere(names.key(login)))
        if (!isHere) report.note('notCopied', NOT_HERE, `${name}: ${login}`)
        return isHere
      },
    }),
  }
}

/** Names of the relations: in the API of the source, and here. */
const RELATIONS = {
  star: { list: 'starred', relation: 'stars' },
  watch: { list: 'subscriptions', relation: 'watches' },
} as const

const starsOf = (migration: Migration, user: Account) => relationsOf(migration, user, 'star')
const watchesOf = (migration: Migration, user: Account) => relationsOf(migration, user, 'watch')

/** Relations to repositories; the name of each is `owner/repository`. */
const relationsOf = (
  { allot, report, names }: Migration,
  account: Account,
  kind: keyof typeof RELATIONS,
): UserSubject<SourceRepository> => {
  const relation = allot.hosting.relations[RELATIONS[kind].relation]
  const { id, name } = account
  const user = withAdminRights(id)
  const addressOf = async (key: string) => {
    const repository = await names.repositoryWithKey(key)
    return repository && names.addressOf(repository)
  }
  const endsWith = (repository: { id: number } | undefined) => repository && { of: id, to: repository.id }
  const change = async <R>(key: string, work: (path: { owner: string; name: string }) => Promise<R>) => {
    const path = await addressOf(key)
    return path === undefined ? undefined : work(path)
  }
  return {
    kind,
    scope: names.keyHere(account),
    ends: async (key) => endsWith(await names.repositoryWithKey(key)),
    find: async (key) => endsWith(await change(key, (path) => relation.check(user, path))),
    remove: async (key) => void (await change(key, (path) => relation.clear(user, path))),
    list: RELATIONS[kind].list,
    shape: SourceRepository,
    itemFor: ({ id, owner, name: repository, full_name: label }) => ({
      name: textOf(names.repositoryKey(owner.login, repository, id)),
      label,
      async create() {
        const key = textOf(names.repositoryKey(owner.login, repository, id))
        const found = await change(key, (path) => relation.set(user, path))
        if (found === undefined) report.note('notCopied', NOT_HERE, `${name}: ${label}`)
        return found !== undefined
      },
    }),
  }
}
