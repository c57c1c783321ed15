import { canSee, type SignedIn, type Viewer } from '../accounts/access.ts'
import { accountByName, ifVisible, NO_ACCOUNT, visibleAccount } from '../accounts/find.ts'
import { now } from '../clock.ts'
import { invalidMember } from '../errors.ts'
import type { Found, Slice } from '../records/pages.ts'
import { type Account, accounts, follows } from '../records/schema/index.ts'
import type { Store, WriteContext } from '../records/store.ts'
import type { ReadTransaction } from '../storage/index.ts'
import { referred, visibleIn } from './visible.ts'

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
  followers(viewer: Viewer, account: number, slice: Slice): Promise<Found<Account>> {
    return this.#store.read((tx) => followsOf(tx, 'followers', viewer, account, slice))
  }

  /** Accounts that an account follows, of those that the viewer can see. */
  following(viewer: Viewer, account: number, slice: Slice): Promise<Found<Account>> {
    return this.#store.read((tx) => followsOf(tx, 'following', viewer, account, slice))
  }
}

const saveFollow = async (tx: WriteContext, follower: Account, followed: Account) => {
  if ((await follows.get(tx, [follower.id, followed.id])) !== undefined) return
  await follows.save(tx, { follower: follower.id, followed: followed.id, createdAt: now() })
}

/** Accounts that follow an account, or that it follows, of those that the viewer can see. */
export const followsOf = (
  tx: ReadTransaction,
  index: 'followers' | 'following',
  viewer: Viewer,
  account: number,
  slice: Slice,
): Promise<Found<Account>> => {
  const other = index === 'followers' ? 0 : 1
  const found = follows.entries(tx, index, { prefix: [account] })
  const entries = referred(accounts, found, (entry) => follows.idOf(entry)[other] as number)
  const isVisible = (one: Account) => canSee(tx, viewer, one)
  return visibleIn(tx, { collection: accounts, entries, isVisible }, slice)
}
