import { type Check, check, isKnown, repairMembers } from '../integrity/index.ts'
import { accounts, follows, ownerUsages } from '../records/schema/index.ts'
import { audienceOfAccount } from './access.ts'

/** Checks of what is derived from accounts. */
export const accountChecks: readonly Check[] = [
  check(follows, async (follow, store) => {
    const { follower, followed } = follow
    const sides = [
      { id: follower, member: 'followerAudience' },
      { id: followed, member: 'followedAudience' },
    ] as const
    for (const { id, member } of sides) {
      const account = await store.load(accounts, [id])
      const audience = account && audienceOfAccount(account)
      if (audience === undefined || audience === follow[member]) continue
      if (await store.isPending('updateFollows', id)) continue
      store.report(
        `the follow of account ${followed} by ${follower} has the ${member} ${follow[member]}, but must have ${audience}`,
        (tx) => repairMembers(tx, follows, [follower, followed], { [member]: audience }),
      )
    }
  }),
  check(ownerUsages, async ({ owner, day: _, ...usage }, store) => {
    if (await isKnown(store, 'owner', owner)) return
    const isUnused = Object.values(usage).every((size) => size === 0)
    store.report(
      `usage is stored of account ${owner}, which does not exist`,
      isUnused ? async (tx) => (await ownerUsages.remove(tx, [owner])) !== undefined : undefined,
    )
  }),
]
