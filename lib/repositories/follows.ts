import { type SignedIn, type Viewer, visibleAmong } from '../accounts/access.ts'
import { accountByName, ifVisible, NO_ACCOUNT, visibleAccount } from '../accounts/find.ts'
import type { ClientBudget } from '../client-budget.ts'
import { now } from '../clock.ts'
import { invalidMember } from '../errors.ts'
import type { Found, Slice } from '../records/pages.ts'
import { type Account, accounts, follows } from '../records/schema/index.ts'
import type { Store } from '../records/store.ts'
import type { ReadTransaction } from '../storage/index.ts'
import { type Acquire, idsIn, slotFor, visiblePage } from './visible.ts'

/** Which accounts follow which. */
export class Follows {
  readonly #store: Store
  readonly #budget: ClientBudget

  constructor(store: Store, budget: ClientBudget) {
    this.#store = store
    this.#budget = budget
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
      const ids = { follower: follower.id, followed: followed.id }
      if ((await follows.get(tx, [ids.follower, ids.followed])) === undefined)
        await follows.save(tx, { ...ids, createdAt: now() })
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

  /**
   * The accounts that an account follows, or that follow it, of those that the viewer can see.
   * @param client whose budget the read counts against once it has read some thousand records
   * @throws AllotError unavailable while too many such reads wait
   */
  list(side: Side, viewer: Viewer, account: number, slice: Slice, client?: string): Promise<Found<Account>> {
    const acquire = slotFor(this.#budget, client)
    return this.#store.read((tx) => followsOf(tx, side, viewer, account, slice, acquire))
  }
}

type Side = 'followers' | 'following'

/** The accounts that an account follows, or that follow it, and that the viewer can see. */
export const followsOf = (
  tx: ReadTransaction,
  side: Side,
  viewer: Viewer,
  account: number,
  slice: Slice,
  acquire?: Acquire,
): Promise<Found<Account>> =>
  visiblePage(otherIds(tx, side, account), (ids) => visibleAmong(tx, viewer, ids), slice, acquire)

const otherIds = (tx: ReadTransaction, side: Side, account: number): AsyncGenerator<number> => {
  if (side === 'following') return idsIn(follows.all(tx, [account]), ({ followed }) => followed)
  const entries = follows.entries(tx, 'followers', { prefix: [account] })
  return idsIn(entries, (entry) => follows.idOf(entry)[0] as number)
}
