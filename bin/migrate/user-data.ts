import { createHash } from 'node:crypto'
import * as v from 'valibot'
import { importWith } from '../../lib/optional-package.ts'
import type { Account } from '../../lib/records/schema/index.ts'
import { apiPath, asOperator, forUserHere, ifAvailable, type Migration } from './migration.ts'
import { SourceRepository, SourceUser } from './shapes.ts'
import type { Shape, Source } from './source.ts'
import { type SourceThing, synchronize, type Things } from './synchronize.ts'

const KEYS_NOT_SHOWN = 'keys, which the source does not show'
const NO_SIGNATURES =
  'GPG keys without their signatures, which the source does not give: their owners add them again'
const UNVERIFIED = 'further addresses that their users have not confirmed at the source'
const NOT_HERE = 'follows, stars and watches of what does not exist here'
const RELATIONS_NOT_SHOWN = 'follows, stars or watches, which the source does not show'

/** More keys than any user has. */
const ALL = { offset: 0, limit: 10_000 }

export const SourceKey = v.object({ key: v.string(), title: v.nullish(v.string()) })
export const SourceGpgKey = v.object({ key_id: v.string() })

/** Things of one kind that belong to a user, and the list of the source that has them. */
interface UserThings<T> extends Things {
  /** Name of the list in the API of the source. */
  list: string
  shape: Shape<T>
  thingFor(item: T): SourceThing
}

export const copyKeys = (migration: Migration, login: string): Promise<void> =>
  forUserHere(migration, `the keys of ${login}`, login, async (user) => {
    await copyList(migration, user, sshKeysOf(migration, user), KEYS_NOT_SHOWN)
    await copyList(migration, user, gpgKeysOf(migration, user), KEYS_NOT_SHOWN)
  })

/** Copies whom a user follows, and which repositories the user stars and watches. */
export const copyRelations = (migration: Migration, login: string): Promise<void> =>
  forUserHere(migration, `what ${login} follows, stars and watches`, login, async (user) => {
    // Read as the user, who sees more of these lists than an administrator.
    await copyList(migration, user, followsOf(migration, user), RELATIONS_NOT_SHOWN, user.name)
    await copyList(migration, user, starsOf(migration, user), RELATIONS_NOT_SHOWN, user.name)
    await copyList(migration, user, watchesOf(migration, user), RELATIONS_NOT_SHOWN, user.name)
  })

export const SourceEmail = v.object({
  email: v.string(),
  username: v.nullish(v.string(), ''),
  primary: v.nullish(v.boolean(), false),
  verified: v.nullish(v.boolean(), true),
})

/** Copies the further addresses of users, which the source lists for all users together. */
export const copyEmails = async (migration: Migration, logins: readonly string[]): Promise<void> => {
  const { source, allot, report } = migration
  const names = new Set(logins.map((login) => login.toLowerCase()))
  const found = (await ifAvailable(source.list(SourceEmail, '/admin/emails'))) ?? []
  for (const { email, username, primary, verified } of found) {
    if (primary || !names.has(username.toLowerCase())) continue
    if (!verified) {
      report.note('notCopied', UNVERIFIED, `${email} of ${username}`)
      continue
    }
    await forUserHere(migration, `the address ${email} of ${username}`, username, async (user) => {
      const own = await allot.hosting.emails.list(user.id)
      const isHere = own.some((one) => one.email.toLowerCase() === email.toLowerCase())
      if (!isHere) await allot.hosting.emails.add(user.id, [email])
      report.count('further addresses', isHere ? 'found' : 'copied')
    })
  }
}

/** Removes the copied keys and relations of a user who was deleted at the source. */
export const removeUserData = async (migration: Migration, user: Account): Promise<void> => {
  for (const thingsOf of [sshKeysOf, gpgKeysOf, followsOf, starsOf, watchesOf])
    await synchronize(migration, thingsOf(migration, user), [])
}

/** @param sudo user to read the list as; when the source refuses that, the list may be incomplete */
const copyList = async <T>(
  migration: Migration,
  { name }: Account,
  things: UserThings<T>,
  notShown: string,
  sudo?: string,
): Promise<void> => {
  const { source, report } = migration
  let isComplete = true
  const onRefused = () => {
    isComplete = false
  }
  const path = apiPath('users', name, things.list)
  const items = await ifAvailable(source.list(things.shape, path, sudo, onRefused))
  if (items === undefined) report.note('notCopied', notShown, name)
  else await synchronize(migration, things, items.map(things.thingFor), isComplete)
}

const sshKeysOf = ({ allot }: Migration, user: Account): UserThings<v.InferOutput<typeof SourceKey>> => {
  const { sshKeys } = allot.hosting
  return {
    kind: 'sshKey',
    ...keysOf(user, sshKeys, ({ fingerprint }) => fingerprint),
    list: 'keys',
    shape: SourceKey,
    thingFor: ({ key, title }) => ({
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
  { id, name }: Account,
  keys: UserKeys<K>,
  nameOf: (key: K) => string,
): Omit<Things, 'kind'> => ({
  scope: name.toLowerCase(),
  parts: async () => [id],
  async find(wanted) {
    const { items } = await keys.list(id, ALL)
    const key = items.find((item) => nameOf(item) === wanted)
    return key && [id, key.id]
  },
  remove: async (_, ids) => void (await keys.remove(id, ids[1]!)),
})

/** @param key its type, the key in base64, and a comment */
export const fingerprintOf = (key: string): string => {
  const bytes = Buffer.from(key.split(' ')[1] ?? key, 'base64')
  return `SHA256:${createHash('sha256').update(bytes).digest('base64').replace(/=+$/, '')}`
}

/** The API has only the bare packets of a key, without its signatures. Gitea and Forgejo publish whole keys on a page. */
const gpgKeysOf = (
  { source, allot, report }: Migration,
  user: Account,
): UserThings<v.InferOutput<typeof SourceGpgKey>> => {
  const { gpgKeys } = allot.hosting
  let published: Promise<Map<string, string>> | undefined
  return {
    kind: 'gpgKey',
    ...keysOf(user, gpgKeys, ({ keyId }) => keyId),
    list: 'gpg_keys',
    shape: SourceGpgKey,
    thingFor(key) {
      const keyId = key.key_id.toUpperCase()
      const create = async () => {
        published ??= publishedKeys(source, user.name)
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

const followsOf = ({ allot, report }: Migration, { id, name }: Account): UserThings<SourceUser> => {
  const { accounts, relations } = allot.hosting
  const { follows } = relations
  const user = asOperator(id)
  const parts = async (login: string) => {
    const followed = await accounts.byName(login)
    return followed && [id, followed.id]
  }
  return {
    kind: 'follow',
    scope: name.toLowerCase(),
    parts,
    find: async (login) => ((await follows.check(user, id, login)) ? parts(login) : undefined),
    remove: async (login) => void (await follows.unfollow(user, login)),
    list: 'following',
    shape: SourceUser,
    thingFor: ({ login }) => ({
      name: login.toLowerCase(),
      label: login,
      async create() {
        const isHere = await follows.follow(user, login)
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
  { allot, report }: Migration,
  { id, name }: Account,
  kind: keyof typeof RELATIONS,
): UserThings<SourceRepository> => {
  const { repositories, relations } = allot.hosting
  const relation = relations[RELATIONS[kind].relation]
  const user = asOperator(id)
  const addressOf = (path: string) => {
    const [owner = '', repository = ''] = path.split('/')
    return { owner, name: repository }
  }
  const idsOf = (repository: { id: number } | undefined) => repository && [id, repository.id]
  return {
    kind,
    scope: name.toLowerCase(),
    async parts(path) {
      const { owner, name } = addressOf(path)
      return idsOf(await repositories.find(user, owner, name))
    },
    find: async (path) => idsOf(await relation.check(user, addressOf(path))),
    remove: async (path) => void (await relation.clear(user, addressOf(path))),
    list: RELATIONS[kind].list,
    shape: SourceRepository,
    thingFor: ({ owner, name: repository, full_name: label }) => ({
      name: `${owner.login}/${repository}`.toLowerCase(),
      label,
      async create() {
        const found = await relation.set(user, { owner: owner.login, name: repository })
        if (found === undefined) report.note('notCopied', NOT_HERE, `${name}: ${label}`)
        return found !== undefined
      },
    }),
  }
}
