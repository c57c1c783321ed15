import { createHash } from 'node:crypto'
import type { Account } from '../../lib/records/schema/index.ts'
import { follow, type SourceThing, type Things } from './synchronize.ts'
import { asOperator, collect, forUserHere, ifAvailable, type Migration, userPath } from './migration.ts'
import { SourceGpgKey, SourceKey, SourceRepository, SourceUser } from './source-types.ts'

const KEYS_NOT_SHOWN = 'keys, which the source does not show'
const NO_SIGNATURES =
  'GPG keys without their signatures, which the source does not give: their owners add them again'
const NOT_HERE = 'follows, stars and watches of what does not exist here'
const RELATIONS_NOT_SHOWN = 'follows, stars or watches, which the source does not show'

/** More keys than any user has. */
const ALL = { offset: 0, limit: 10_000 }

export const copyKeys = (migration: Migration, login: string): Promise<void> =>
  forUserHere(migration, `the keys of ${login}`, login, async (user) => {
    const { source, report } = migration
    const ssh = await ifAvailable(collect(source.list(SourceKey, userPath(user.name, 'keys'))))
    if (ssh === undefined) report.notCopied(KEYS_NOT_SHOWN, user.name)
    else await follow(migration, sshKeysOf(migration, user), ssh.map(sshKeyFor(migration, user)))
    const gpg = await ifAvailable(collect(source.list(SourceGpgKey, userPath(user.name, 'gpg_keys'))))
    if (gpg === undefined) report.notCopied(KEYS_NOT_SHOWN, user.name)
    else await follow(migration, gpgKeysOf(migration, user), gpg.map(gpgKeyFor(migration, user)))
  })

/** Copies whom a user follows, and which repositories the user stars and watches. */
export const copyRelations = (migration: Migration, login: string): Promise<void> =>
  forUserHere(migration, `what ${login} follows, stars and watches`, login, async (user) => {
    await copyFollows(migration, user)
    await copyRepositoryRelation(migration, user, 'star')
    await copyRepositoryRelation(migration, user, 'watch')
  })

/** Removes the copied keys and relations of a user who was deleted at the source. */
export const removeUserData = async (migration: Migration, user: Account): Promise<void> => {
  await follow(migration, sshKeysOf(migration, user), [])
  await follow(migration, gpgKeysOf(migration, user), [])
  await follow(migration, followsOf(migration, user), [])
  await follow(migration, relationsOf(migration, user, 'star'), [])
  await follow(migration, relationsOf(migration, user, 'watch'), [])
}

const sshKeysOf = ({ allot }: Migration, { id, name }: Account): Things => {
  const { sshKeys } = allot.hosting
  return {
    kind: 'sshKey',
    scope: name.toLowerCase(),
    parts: async () => [id],
    async find(fingerprint) {
      const { items } = await sshKeys.list(id, ALL)
      const key = items.find((item) => item.fingerprint === fingerprint)
      return key && [id, key.id]
    },
    remove: async (_, ids) => void (await sshKeys.remove(id, ids[1]!)),
  }
}

const sshKeyFor =
  ({ allot }: Migration, { id }: Account) =>
  ({ key, title }: SourceKey): SourceThing => ({
    name: fingerprintOf(key),
    label: title?.trim() || fingerprintOf(key),
    async create() {
      await allot.hosting.sshKeys.add(id, { title: title?.trim() || 'a key', key })
      return true
    },
  })

/** @param key its type, the key in base64, and a comment */
const fingerprintOf = (key: string): string => {
  const bytes = Buffer.from(key.split(' ')[1] ?? key, 'base64')
  return `SHA256:${createHash('sha256').update(bytes).digest('base64').replace(/=+$/, '')}`
}

const gpgKeysOf = ({ allot }: Migration, { id, name }: Account): Things => {
  const { gpgKeys } = allot.hosting
  return {
    kind: 'gpgKey',
    scope: name.toLowerCase(),
    parts: async () => [id],
    async find(keyId) {
      const { items } = await gpgKeys.list(id, ALL)
      const key = items.find((item) => item.keyId === keyId)
      return key && [id, key.id]
    },
    remove: async (_, ids) => void (await gpgKeys.remove(id, ids[1]!)),
  }
}

/** The API has only the bare packets of a key, without its signatures. Gitea and Forgejo publish whole keys on a page. */
const gpgKeyFor = ({ source, allot, report }: Migration, { id, name }: Account) => {
  let published: Promise<Map<string, string>> | undefined
  return ({ key_id }: SourceGpgKey): SourceThing => {
    const keyId = key_id.toUpperCase()
    return {
      name: keyId,
      label: keyId,
      async create() {
        published ??= source.page(`/${encodeURIComponent(name)}.gpg`).then(splitKeys)
        const armored = (await published).get(keyId)
        if (armored === undefined) report.notCopied(NO_SIGNATURES, `${keyId} of ${name}`)
        else await allot.hosting.gpgKeys.add(id, { armored })
        return armored !== undefined
      },
    }
  }
}

/** Splits a block of several keys. @returns an armored block for each key id */
const splitKeys = async (text: string | undefined): Promise<Map<string, string>> => {
  const { readKeys } = await import('openpgp')
  const keys = text === undefined ? [] : await readKeys({ armoredKeys: text }).catch(() => [])
  return new Map(keys.map((key) => [key.getKeyID().toHex().toUpperCase(), key.toPublic().armor()]))
}

/** @returns also whether the list is complete: read as another user it lacks what only the user sees */
const readAs = async <T>(
  { source }: Migration,
  shape: Parameters<typeof source.list<T>>[0],
  login: string,
  list: string,
): Promise<{ items: T[] | undefined; isComplete: boolean }> => {
  let isComplete = true
  const onRefused = () => {
    isComplete = false
  }
  const items = await ifAvailable(collect(source.list(shape, userPath(login, list), login, onRefused)))
  return { items, isComplete }
}

const copyFollows = async (migration: Migration, user: Account): Promise<void> => {
  const { allot, report } = migration
  const { id, name } = user
  const { items, isComplete } = await readAs(migration, SourceUser, name, 'following')
  if (items === undefined) return report.notCopied(RELATIONS_NOT_SHOWN, name)
  const wanted = items.map(({ login }) => ({
    name: login.toLowerCase(),
    label: login,
    async create() {
      const isHere = await allot.hosting.relations.follows.follow(asOperator(id), login)
      if (!isHere) report.notCopied(NOT_HERE, `${name}: ${login}`)
      return isHere
    },
  }))
  await follow(migration, followsOf(migration, user), wanted, isComplete)
}

const followsOf = ({ allot }: Migration, { id, name }: Account): Things => {
  const { accounts, relations } = allot.hosting
  const parts = async (login: string) => {
    const followed = await accounts.byName(login)
    return followed && [id, followed.id]
  }
  return {
    kind: 'follow',
    scope: name.toLowerCase(),
    parts,
    find: async (login) =>
      (await relations.follows.check(asOperator(id), id, login)) ? parts(login) : undefined,
    remove: async (login) => void (await relations.follows.unfollow(asOperator(id), login)),
  }
}

/** Names of the relations: in the API of the source, and here. */
const RELATIONS = {
  star: { list: 'starred', relation: 'stars' },
  watch: { list: 'subscriptions', relation: 'watches' },
} as const

const copyRepositoryRelation = async (
  migration: Migration,
  user: Account,
  kind: keyof typeof RELATIONS,
): Promise<void> => {
  const { allot, report } = migration
  const { id, name } = user
  const relation = allot.hosting.relations[RELATIONS[kind].relation]
  const { items, isComplete } = await readAs(migration, SourceRepository, name, RELATIONS[kind].list)
  if (items === undefined) return report.notCopied(RELATIONS_NOT_SHOWN, name)
  const wanted = items.map((repository) => ({
    name: `${repository.owner.login}/${repository.name}`.toLowerCase(),
    label: repository.full_name,
    async create() {
      const address = { owner: repository.owner.login, name: repository.name }
      const found = await relation.set(asOperator(id), address)
      if (found === undefined) report.notCopied(NOT_HERE, `${name}: ${repository.full_name}`)
      return found !== undefined
    },
  }))
  await follow(migration, relationsOf(migration, user, kind), wanted, isComplete)
}

/** Relations to repositories; the name of each is `owner/repository`. */
const relationsOf = ({ allot }: Migration, { id, name }: Account, kind: keyof typeof RELATIONS): Things => {
  const { repositories, relations } = allot.hosting
  const relation = relations[RELATIONS[kind].relation]
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
      return idsOf(await repositories.find(asOperator(id), owner, name))
    },
    find: async (path) => idsOf(await relation.check(asOperator(id), addressOf(path))),
    remove: async (path) => void (await relation.clear(asOperator(id), addressOf(path))),
  }
}
