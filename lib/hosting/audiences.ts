import { AllotError } from '../errors.ts'
import { paced } from '../records/paced.ts'
import {
  type Account,
  type Audience,
  accounts,
  follows,
  type Repository,
  repositories,
  stars,
  watches,
} from '../records/schema.ts'
import type { Change } from '../records/store.ts'
import { audienceOfAccount, audienceOfRepository } from './access.ts'

/**
 * The audience is kept on every relation, so that lists and totals come from an index. When it changes, it is carried
 * to them in the same transaction: a private thing is nowhere to be seen from the moment the change is acknowledged.
 */
export const spreadAccountAudience = async (tx: Change, account: Account): Promise<void> => {
  const audience = audienceOfAccount(account)
  for await (const follow of paced(await follows.list(tx, 'following', { prefix: [account.id] })))
    await follows.save(tx, { ...follow, followerAudience: audience })
  for await (const follow of paced(await follows.list(tx, 'followers', { prefix: [account.id] })))
    await follows.save(tx, { ...follow, followedAudience: audience })
  for await (const repository of paced(await repositories.list(tx, 'id', { prefix: [account.id] })))
    await saveWithAudience(tx, repository, audienceOfRepository(account, repository.private))
}

/** Saves a repository that may have changed its owner or its privacy, and tells its stars and watches. */
export const saveWithAudience = async (
  tx: Change,
  repository: Repository,
  audience: Audience,
): Promise<Repository> => {
  const after = { ...repository, audience }
  const before = await repositories.save(tx, after)
  if (before === undefined || before.audience === audience) return after
  for (const relation of [stars, watches])
    for await (const one of paced(await relation.list(tx, 'repository', { prefix: [repository.id] })))
      await relation.save(tx, { ...one, audience })
  return after
}

export const ownerOf = async (tx: Change, repository: Repository): Promise<Account> => {
  const owner = await accounts.get(tx, [repository.owner])
  if (owner === undefined) throw new AllotError('not_found', 'the owner is gone')
  return owner
}
