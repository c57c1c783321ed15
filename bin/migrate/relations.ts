import type { Account } from '../../lib/records/schema/index.ts'
import { follow, type Things } from './follow.ts'
import { asOperator, collect, ifAvailable, type Migration, pathOf, reportErrorsFor } from './migration.ts'
import { SourceRepository, SourceUser } from './source-types.ts'

const ELSEWHERE = 'follows, stars and watches of what is not here'
const UNTOLD = 'follows, stars or watches, which the source does not show'

type Kind = 'star' | 'watch'
const LISTS = { star: 'starred', watch: 'subscriptions' } as const
const WORDS = { star: 'stars', watch: 'watches' } as const

/** Whom a user follows, and which repositories they star and watch; seen as the user where the source allows that. */
export const copyRelations = (migration: Migration, login: string): Promise<void> =>
  reportErrorsFor(migration, `what ${login} follows, stars and watches`, login, async (account) => {
    await copyFollows(migration, account)
    await copyRepositoryRelation(migration, account, 'star')
    await copyRepositoryRelation(migration, account, 'watch')
  })

/** Those of an account that is gone at the source. */
export const dropRelations = async (migration: Migration, account: Account): Promise<void> => {
  await follow(migration, followsOf(migration, account), [])
  await follow(migration, relationsOf(migration, account, 'star'), [])
  await follow(migration, relationsOf(migration, account, 'watch'), [])
}

const copyFollows = async (migration: Migration, account: Account): Promise<void> => {
  const { allot, report } = migration
  const { id, name } = account
  const { items, isComplete } = await listedFor(migration, SourceUser, name, 'following')
  if (items === undefined) return report.behind(UNTOLD, name)
  const wanted = items.map(({ login }) => ({
    ...{ name: login.toLowerCase(), label: login },
    async bring() {
      const isHere = await allot.hosting.relations.follows.follow(asOperator(id), login)
      if (!isHere) report.behind(ELSEWHERE, `${name}: ${login}`)
      return isHere
    },
  }))
  await follow(migration, followsOf(migration, account), wanted, isComplete)
}

const copyRepositoryRelation = async (migration: Migration, account: Account, kind: Kind): Promise<void> => {
  const { allot, report } = migration
  const { id, name } = account
  const relation = allot.hosting.relations[WORDS[kind]]
  const { items, isComplete } = await listedFor(migration, SourceRepository, name, LISTS[kind])
  if (items === undefined) return report.behind(UNTOLD, name)
  const wanted = items.map((one) => ({
    ...{ name: `${one.owner.login}/${one.name}`.toLowerCase(), label: one.full_name },
    async bring() {
      const found = await relation.set(asOperator(id), { owner: one.owner.login, name: one.name })
      if (found === undefined) report.behind(ELSEWHERE, `${name}: ${one.full_name}`)
      return found !== undefined
    },
  }))
  await follow(migration, relationsOf(migration, account, kind), wanted, isComplete)
}

/** A list that is not seen as the user lacks what only the user sees: what it lacks may still be at the source. */
const listedFor = async <T>(
  { source }: Migration,
  shape: Parameters<typeof source.list<T>>[0],
  login: string,
  list: string,
): Promise<{ items: T[] | undefined; isComplete: boolean }> => {
  let isComplete = true
  const onRefused = () => {
    isComplete = false
  }
  const items = await ifAvailable(collect(source.list(shape, pathOf(login, list), login, onRefused)))
  return { items, isComplete }
}

const followsOf = ({ allot }: Migration, { id, name }: Account): Things => {
  const { accounts, relations } = allot.hosting
  const parts = async (login: string) => {
    const followed = await accounts.byName(login)
    return followed && [id, followed.id]
  }
  return {
    ...{ kind: 'follow', scope: name.toLowerCase(), parts },
    find: async (login) =>
      (await relations.follows.check(asOperator(id), id, login)) ? parts(login) : undefined,
    remove: async (login) => void (await relations.follows.unfollow(asOperator(id), login)),
  }
}

const relationsOf = ({ allot }: Migration, { id, name }: Account, kind: Kind): Things => {
  const { repositories, relations } = allot.hosting
  const relation = relations[WORDS[kind]]
  const named = (path: string) => {
    const [owner = '', repository = ''] = path.split('/')
    return { owner, name: repository }
  }
  return {
    ...{ kind, scope: name.toLowerCase() },
    async parts(path) {
      const found = await repositories.find(asOperator(id), named(path).owner, named(path).name)
      return found && [id, found.id]
    },
    async find(path) {
      const found = await relation.check(asOperator(id), named(path))
      return found && [id, found.id]
    },
    remove: async (path) => void (await relation.clear(asOperator(id), named(path))),
  }
}
