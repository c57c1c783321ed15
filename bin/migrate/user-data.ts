import { createHash } from 'node:crypto'
import * as v from 'valibot'
import { allItems, type Page, type Slice } from '../../lib/records/pages.ts'
import type { Account, Repository } from '../../lib/records/schema/index.ts'
import { Copies } from './copies.ts'
import { followLinks } from './links.ts'
import { apiPath, forUserHere, ifAvailable, type Migration, withAdminRights } from './migration.ts'
import { SourceLogin, SourceRepository } from './shapes.ts'
import type { Shape, Source } from './source.ts'
import type { Item, Things } from './things.ts'

const KEYS_NOT_SHOWN = 'keys, which the source does not show'
const NO_SIGNATURES =
  'GPG keys without their signatures, which the source does not give: their owners add them again'
const NOT_HERE = 'follows, stars and watches of what does not exist here'
const RELATIONS_NOT_SHOWN = 'follows, stars or watches, which the source does not show'

/** Title here of a key without one. */
const UNTITLED = 'a key'
const SourceKey = v.object({
  key: v.string(),
  title: v.pipe(v.nullish(v.string(), ''), v.trim()),
  read_only: v.nullish(v.boolean(), false),
})
const SourceGpgKey = v.object({ key_id: v.string() })

/** The things of one kind that belong to a user, and the list of the source that has them. */
interface UserThings<T> extends Things {
  /** Name of the list in the API of the source. */
  path: string
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
  const path = apiPath('users', name, things.path)
  const found = await ifAvailable(source.listAs(things.shape, path, sudo))
  if (found === undefined) return report.note('notCopied', notShown, name)
  const copies = new Copies(migration, things)
  const items = found.items.map(things.itemFor)
  await (found.isRefused ? copies.give(items) : copies.synchronize(items))
}

export const sshKeysOf = (
  { allot, names }: Migration,
  user: Account,
): UserThings<v.InferOutput<typeof SourceKey>> => {
  const { sshKeys } = allot.hosting
  return {
    kind: 'sshKey',
    ...keysOf(user, names.keyHere(user), sshKeys, ({ fingerprint }) => fingerprint),
    kept: async ({ id }) => ({ title: (await sshKeys.get(user.id, id!))?.title }),
    path: 'keys',
    shape: SourceKey,
    itemFor: ({ key, title, read_only: readOnly }) => ({
      name: fingerprintOf(key),
      label: title || fingerprintOf(key),
      kept: { title: title || UNTITLED },
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
  { id, name: within }: Account,
  scope: string,
  keys: UserKeys<K>,
  nameOf: (key: K) => string,
): Omit<Things, 'kind'> => {
  const list = async () => {
    const all = await allItems((slice) => keys.list(id, slice))
    return all.map((key) => ({ copy: { id: key.id, of: id }, label: nameOf(key) }))
  }
  return {
    scope,
    within,
    list,
    find: async (wanted) => (await list()).find(({ label }) => label === wanted)?.copy,
    remove: (_, copy) => keys.remove(id, copy.id!),
  }
}

/** @param key its type, the key in base64, and a comment */
const fingerprintOf = (key: string): string => {
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
    ...keysOf(user, names.keyHere(user), gpgKeys, ({ keyId }) => keyId),
    path: 'gpg_keys',
    shape: SourceGpgKey,
    itemFor(key) {
      const keyId = key.key_id.toUpperCase()
      const armored = async () => {
        published ??= publishedKeys(source, login)
        return (await published).get(keyId)
      }
      return {
        name: keyId,
        label: keyId,
        async isPossible() {
          const isPublished = (await armored()) !== undefined
          if (!isPublished) report.note('notCopied', NO_SIGNATURES, `${keyId} of ${user.name}`)
          return isPublished
        },
        async create() {
          await gpgKeys.add(user.id, { armored: (await armored())! })
          return true
        },
      }
    },
  }
}

/** The keys that a Gitea or Forgejo publishes on the page of a user, by their ids. */
const publishedKeys = (source: Source, login: string): Promise<Map<string, string>> =>
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

export const followsOf = (migration: Migration, { id, ...account }: Account): UserThings<SourceLogin> => {
  const { allot, names } = migration
  const { follows } = allot.hosting.relations
  const user = withAdminRights(id)
  const links = followLinks<Account>(migration, {
    kind: 'follow',
    scope: names.keyHere({ id }),
    within: account.name,
    of: id,
    withKey: (key) => names.accountWithKey(key),
    all: (slice) => follows.list('following', user, id, slice),
    has: ({ name }) => follows.check(user, id, name),
    add: ({ name }) => follows.follow(user, name),
    remove: ({ name }) => follows.unfollow(user, name),
    notHere: (label) => [NOT_HERE, `${account.name}: ${label}`],
  })
  return {
    ...links,
    path: 'following',
    shape: SourceLogin,
    itemFor: ({ login }) => links.itemFor(names.key(login), login),
  }
}

/** Names of the relations: in the API of the source, and here. */
const RELATIONS = {
  star: { path: 'starred', relation: 'stars' },
  watch: { path: 'subscriptions', relation: 'watches' },
} as const

export const starsOf = (migration: Migration, user: Account) => relationsOf(migration, user, 'star')
export const watchesOf = (migration: Migration, user: Account) => relationsOf(migration, user, 'watch')

/** Relations to repositories; the name of each is `owner/repository`. */
const relationsOf = (
  migration: Migration,
  account: Account,
  kind: keyof typeof RELATIONS,
): UserThings<SourceRepository> => {
  const { allot, names } = migration
  const { path, relation: records } = RELATIONS[kind]
  const relation = allot.hosting.relations[records]
  const { id } = account
  const user = withAdminRights(id)
  const addressOf = async (repository: Repository) => (await names.addressOf(repository))!
  const links = followLinks<Repository>(migration, {
    kind,
    scope: names.keyHere(account),
    within: account.name,
    of: id,
    withKey: (key) => names.repositoryWithKey(key),
    all: (slice) => relation.list(user, id, slice),
    has: async (repository) => relation.check(user, await addressOf(repository)),
    add: async (repository) => relation.set(user, await addressOf(repository)),
    remove: async (repository) => relation.clear(user, await addressOf(repository)),
    notHere: (label) => [NOT_HERE, `${account.name}: ${label}`],
  })
  return {
    ...links,
    path,
    shape: SourceRepository,
    itemFor: (given) => links.itemFor(names.repositoryKey(given), given.full_name),
  }
}
