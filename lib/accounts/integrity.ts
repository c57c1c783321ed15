import {
  check,
  type Find,
  type IntegrityChecks,
  isKnown,
  lookup,
  pendingJob,
  repairMembers,
} from '../integrity/index.ts'
import { type Audience, accounts, follows, ownerUsages } from '../records/schema/index.ts'
import { audienceOfAccount } from './access.ts'

const accountAudience = lookup(accounts, audienceOfAccount)
const pendingFollows = pendingJob('updateFollows')

export const findAudience = (find: Find, account: number) =>
  find(accountAudience, account) as Audience | undefined

const followAudiences = check(follows, (follow, find, report) => {
  const { follower, followed } = follow
  const sides = [
    { account: follower, member: 'followerAudience' },
    { account: followed, member: 'followedAudience' },
  ] as const
  for (const { account, member } of sides) {
    const audience = findAudience(find, account)
    if (audience === undefined || audience === follow[member] || find(pendingFollows, account) !== undefined)
      continue
    report(
      `the follow of account ${followed} by ${follower} has the ${member} ${follow[member]}, but must have ${audience}`,
      (tx) => repairMembers(tx, follows, [follower, followed], { [member]: audience }),
    )
  }
})

/** Checks of what is derived from accounts. */
export const accountsIntegrity: IntegrityChecks = {
  recounts: [],
  checks: [
    followAudiences,
    check(ownerUsages, ({ owner, day: _, ...usage }, find, report) => {
      if (isKnown(find, 'owner', owner)) return
      const isUnused = Object.values(usage).every((size) => size === 0)
      report(
        `usage is stored of account ${owner}, which does not exist`,
        isUnused ? async (tx) => (await ownerUsages.remove(tx, [owner])) !== undefined : undefined,
      )
    }),
  ],
}
