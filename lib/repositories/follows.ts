import { audienceOfAccount, canSee, ownersFor, type SignedIn, type Viewer } from '../accounts/access.ts'
import { accountByName, ifVisible, NO_ACCOUNT, visibleAccount } from '../accounts/find.ts'
import { now } from '../clock.ts'
import { invalidMember } from '../errors.ts'
import { pendingIds } from '../records/jobs.ts'
import type { Page, Slice } from '../records/pages.ts'
import { type Account, accounts, type Follow, follows } from '../records/schema/index.ts'
import type { Store, WriteContext } from '../records/store.ts'
import type { ReadTransaction } from '../storage/index.ts'
import { visiblePage } from './visible-page.ts'

/** Which accounts follow which. */
export class Follows {
  readonly #store: Store

  constructor(store: Store) {
    this.#store = store
  }

  /**
   * Makes the viewer follow an account.
   * @returns whether the viewer can see the account
   * @throws AllotError invalid for the viewer's own account
   */
  follow(viewer: SignedIn, name: string): Promise<boolean> {
    return this.#store.write(async (tx) => {
      const follower = await accounts.get(tx, [viewer.id])
      const followed = await visibleAccount(tx, viewer, name)
      if (follower === undefined || followed === undefined) return false
      if (follower.id === followed.id) throw invalidMember('username', 'you cannot follow yourself')
      await saveFollow(tx, follower, followed)
      return true
    })
  }

  /**
   * Ends following an account.
   * @returns whether the viewer can see the account
   */
  unfollow(viewer: SignedIn, name: string): Promise<boolean> {
    return this.#store.write(async (tx) => {
      const followed = await accountByName(tx, name)
      const { id } = followed ?? NO_ACCOUNT
      // An account that has become hidden can still be unfollowed by those who follow it.
      if ((await follows.remove(tx, [viewer.id, id])) !== undefined) return true
      return (await ifVisible(tx, viewer, followed)) !== undefined
    })
  }

  /** Whether the follower follows the account, if the viewer can see it. */
  check(viewer: Viewer, follower: number, name: string): Promise<boolean> {
    return this.#store.read(async (tx) => {
      const followed = await visibleAccount(tx, viewer, name)
      return followed !== undefined && (await follows.get(tx, [follower, followed.id])) !== undefined
    })
  }

  /** Accounts that follow an account, of those that the viewer can see. */
  followers(viewer: Viewer, account: number, slice: Slice): Promise<Page<Account>> {
    return this.#store.read((tx) => accountsOf(tx, 'followers', viewer, account, slice))
  }

  /** Accounts that an account follows, of those that the viewer can see. */
  following(viewer: Viewer, account: number, slice: Slice): Promise<Page<Account>> {
    return this.#store.read((tx) => accountsOf(tx, 'following', viewer, account, slice))
  }
}

const saveFollow = async (tx: WriteContext, follower: Account, followed: Account) => {
  if ((await follows.get(tx, [follower.id, followed.id])) !== undefined) return
  await follows.save(tx, {
    follower: follower.id,
    followed: followed.id,
    followerAudience: audienceOfAccount(follower),
    followedAudience: audienceOfAccount(followed),
    createdAt: now(),
  })
}

const accountsOf = async (
  tx: ReadTransaction,
  index: 'followers' | 'following',
  viewer: Viewer,
  account: number,
  slice: Slice,
): Promise<Page<Account>> => {
  const { items, total } = await followsOf(tx, index, viewer, account, slice)
  const ids = items.map((follow) => otherIn(follow, index))
  return { items: [...(await accounts.byIds(tx, ids)).values()], total }
}

const otherIn = (follow: Follow, index: 'followers' | 'following'): number =>
  index === 'followers' ? follow.follower : follow.followed

/** The follows of an account, or of it as the followed one, that the viewer can list. */
export const followsOf = async (
  tx: ReadTransaction,
  index: 'followers' | 'following',
  viewer: Viewer,
  account: number,
  slice: Slice,
): Promise<Page<Follow>> => {
  const isReadable = async (follow: Follow) => {
    const other = await accounts.get(tx, [otherIn(follow, index)])
    return other !== undefined && canSee(tx, viewer, other)
  }
  // The private accounts that a viewer can see are the viewer itself and the viewer's organizations.
  const candidates = async ({ id }: SignedIn) => {
    const keys = (await ownersFor(tx, id)).map((own) =>
      index === 'followers' ? [own, account] : [account, own],
    )
    return (await follows.getMany(tx, keys)).filter((follow) => follow !== undefined)
  }
  const pending = await pendingFollows(tx, index, account)
  return visiblePage(
    tx,
    { relation: follows, index, prefix: [account], viewer, isReadable, candidates, pending },
    slice,
  )
}

/** Pending follows of an account: those of its followers, or of the accounts that it follows. */
const pendingFollows = async (
  tx: ReadTransaction,
  index: 'followers' | 'following',
  account: number,
): Promise<Follow[]> => {
  const ids = new Set([
    ...(await pendingIds(tx, 'updateFollows')),
    ...(await pendingIds(tx, 'removeAccountData')),
  ])
  const keys = [...ids].map((id) => (index === 'followers' ? [id, account] : [account, id]))
  return (await follows.getMany(tx, keys)).filter((follow) => follow !== undefined)
}
