import { createHash } from 'node:crypto'
import * as v from 'valibot'
import { allItems, type Page, type Slice } from '../../lib/records/pages.ts'
import type { Account } from '../../lib/records/schema/index.ts'
import { give, synchronize } from './copies.ts'
import { apiPath, forUserHere, ifAvailable, type Migration, withAdminRights } from './migration.ts'
import { textOf } from './names/index.ts'
import { SourceRepository, SourceUser } from './shapes.ts'
import type { Shape, Source } from './source.ts'
import type { Item, Things } from './things.ts'

const KEYS_NOT_SHOWN = 'keys, which the source does not show'
export const NO_SIGNATURES =
  'GPG keys without their signatures, which the source does not give: their owners add them again'
export const NOT_HERE = 'follows, stars and watches of what does not exist here'
const RELATIONS_NOT_SHOWN = 'follows, stars or watches, which the source does not show'

/** Title here of a key without one. */
export const UNTITLED = 'a key'
export const SourceKey = v.object({
  key: v.string(),
  title: v.pipe(v.nullish(v.string(), ''), v.trim()),
  read_only: v.nullish(v.boolean(), false),
})
export const SourceGpgKey = v.object({ key_id: v.string() })

/** The things of one kind that belong to a user, and the list of the source that has them. */
interface UserThings<T> extends Things {
  /** Name of the list in the API of the source. */
  list: string
  shape: Shape<T>
  itemFor(item: T): Item
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

/**
 * @param name of the user at the source
 * @param sudo user to read the list as; when the source refuses that, the list may be incomplete
 */
const copyList = async <T>(
  migration: Migration,
  name: string,
  things: UserThings<T>,
  notShown: string,
  sudo?: string,
): Promise<void> => {
  const { source, report } = migration
  const path = apiPath('users', name, things.list)
  const list =
    sudo === undefined
      ? source.list(things.shape, path).then((items) => ({ items, isRefused: false }))
      : source.listAs(things.shape, path, sudo)
  const found = await ifAvailable(list)
  if (found === undefined) return report.note('notCopied', notShown, name)
  const update = found.isRefused ? give : synchronize
  await update(migration, things, found.items.map(things.itemFor))
}

export const sshKeysOf = (
  { allot, names }: Migration,
  user: Account,
): UserThings<v.InferOutput<typeof SourceKey>> => {
  const { sshKeys } = allot.hosting
  return {
    kind: 'sshKey',
    ...keysOf({ id: user.id, scope: names.keyHere(user) }, sshKeys, ({ fingerprint }) => fingerprint),
    list: 'keys',
    shape: SourceKey,
    itemFor: ({ key, title, read_only: readOnly }) => ({
      name: fingerprintOf(key),
      label: title || fingerprintOf(key),
      async create() {
        await sshKeys.add(user.id, { title: title || UNTITLED, key, readOnly })
        return true
      },
    }),
  }
}

interface UserKeys<K> {
  list(user: number, slice: Slice): Promise<Page<K>>
  remove(user: number, id: number): Promise<unknown>
}

/** @param nameOf what identifies a key, here and at the source */
const keysOf = <K extends { id: number }>(
  { id, scope }: { id: number; scope: string },
  keys: UserKeys<K>,
  nameOf: (key: K) => string,
): Omit<Things, 'kind'> => ({
  scope,
  async find(wanted) {
    const all = await allItems((slice) => keys.list(id, slice))
    const key = all.find((item) => nameOf(item) === wanted)
    return key && { id: key.id, of: id }
  },
  remove: (_, copy) => keys.remove(id, copy.id!),
})

/** @param key its type, the key in base64, and a comment */
export const fingerprintOf = (key: string): string => {
  const bytes = Buffer.from(key.split(' ')[1] ?? key, 'base64')
  return `SHA256:${createHash('sha256').update(bytes).digest('base64').replace('=', '')}`
}

/**
 * The API has only the bare packets of a key, without its signatures. Gitea and Forgejo publish whole keys on
 * a page.
 */
export const gpgKeysOf = (
  { source, allot, report, names }: Migration,
  user: Account,
  login = user.name,
): UserThings<v.InferOutput<typeof SourceGpgKey>> => {
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

/**
 * Splits a block of several keys.
 * @returns an armored block for each key id
 */
const splitKeys = async (text: string | undefined): Promise<Map<string, string>> => {
  const { readKeys } = await import('openpgp')
  const keys = text === undefined ? [] : await readKeys({ armoredKeys: text }).catch(() => [])
  return new Map(keys.map((key) => [key.getKeyID().toHex().toUpperCase(), key.toPublic().armor()]))
}

export const followsOf = ({ allot, report, names }: Migration, account: Account): UserThings<SourceUser> => {
  const { follows } = allot.hosting.relations
  const { id, name } = account
  const user = withAdminRights(id)
  return {
    kind: 'follow',
    scope: names.keyHere(account),
    find: async (key) =>
      (await follows.check(user, id, await names.loginHere(key))) ? names.ends(id, key) : undefined,
    remove: async (key) => follows.unfollow(user, await names.loginHere(key)),
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

export const starsOf = (migration: Migration, user: Account) => relationsOf(migration, user, 'star')
export const watchesOf = (migration: Migration, user: Account) => relationsOf(migration, user, 'watch')

/** Relations to repositories; the name of each is `owner/repository`. */
const relationsOf = (
  { allot, report, names }: Migration,
  account: Account,
  kind: keyof typeof RELATIONS,
): UserThings<SourceRepository> => {
  const relation = allot.hosting.relations[RELATIONS[kind].relation]
  const { id, name } = account
  const user = withAdminRights(id)
  const addressOf = async (key: string) => {
    const repository = await names.repositoryWithKey(key)
    return repository && names.addressOf(repository)
  }
  const change = async <R>(key: string, work: (path: { owner: string; name: string }) => Promise<R>) => {
    const path = await addressOf(key)
    return path === undefined ? undefined : work(path)
  }
  return {
    kind,
    scope: names.keyHere(account),
    async find(key) {
      const found = await change(key, (path) => relation.check(user, path))
      return found && { of: id, to: found.repository.id }
    },
    remove: (key) => change(key, (path) => relation.clear(user, path)),
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
