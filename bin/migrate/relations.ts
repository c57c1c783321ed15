import type { Account } from '../../lib/records/schema.ts'
import { allOf, asOperator, attemptFor, ifTold, type Moving, pathOf } from './moving.ts'
import { SourceRepository, SourceUser } from './shapes.ts'

const ELSEWHERE = 'follows, stars and watches of what is not here'
const UNTOLD = 'follows, stars or watches, which the source does not show'

/** Whom a user follows, and which repositories they star and watch; seen as the user where the source allows that. */
export const copyRelations = (moving: Moving, login: string): Promise<void> =>
  attemptFor(moving, `what ${login} follows, stars and watches`, login, async (account) => {
    await copyFollows(moving, account)
    await copyRepositoryRelation(moving, account, 'stars', 'starred')
    const watched = await copyRepositoryRelation(moving, account, 'watches', 'subscriptions')
    if (watched !== undefined) await unwatch(moving, account, watched)
    else moving.report.behind(UNTOLD, login)
  })

const copyFollows = async ({ source, allot, report }: Moving, { id, name }: Account): Promise<void> => {
  const { follows } = allot.hosting.relations
  const followed = await ifTold(allOf(source.list(SourceUser, pathOf(name, 'following'), name)))
  if (followed === undefined) return report.behind(UNTOLD, name)
  for (const { login } of followed)
    if (await follows.check(asOperator(id), id, login)) report.found('follows')
    else if (await follows.follow(asOperator(id), login)) report.copied('follows')
    else report.behind(ELSEWHERE, `${name}: ${login}`)
}

/** @returns the names in lower case; undefined where they are not shown */
const copyRepositoryRelation = async (
  { source, allot, report }: Moving,
  { id, name }: Account,
  kind: 'stars' | 'watches',
  list: string,
): Promise<Set<string> | undefined> => {
  const relation = allot.hosting.relations[kind]
  const listed = await ifTold(allOf(source.list(SourceRepository, pathOf(name, list), name)))
  for (const one of listed ?? []) {
    const repository = { owner: one.owner.login, name: one.name }
    if (await relation.check(asOperator(id), repository)) report.found(kind)
    else if (await relation.set(asOperator(id), repository)) report.copied(kind)
    else report.behind(ELSEWHERE, `${name}: ${one.full_name}`)
  }
  return listed && new Set(listed.map((one) => one.full_name.toLowerCase()))
}

/** Whoever makes a repository watches it, but may have stopped since. */
const unwatch = async (
  { allot, made }: Moving,
  { id, name }: Account,
  watched: Set<string>,
): Promise<void> => {
  for (const repository of made)
    if (repository.owner === name && !watched.has(`${name}/${repository.name}`.toLowerCase()))
      await allot.hosting.relations.watches.clear(asOperator(id), repository)
}
