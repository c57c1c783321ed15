import { hasScope, type Viewer, viewerText } from '../accounts/access.ts'
import { visibleAccount } from '../accounts/find.ts'
import { type Account, accounts } from '../records/schema/index.ts'
import type { Store } from '../records/store.ts'
import type { ReadTransaction } from '../storage/driver.ts'
import { followTotal, starTotal } from './relations.ts'

/** An account, and how many relations of it the viewer can list. */
export interface Profile {
  readonly viewer: Viewer
  readonly account: Account
  readonly followers: number
  readonly following: number
  readonly starred: number
}

/** The same object as before where nothing that it is made of has changed, so that what is made of it can be kept too. */
export interface Profiles {
  byId(viewer: Viewer, id: number): Promise<Profile | undefined>
  /** For whoever may know that the account exists. */
  byName(viewer: Viewer, name: string): Promise<Profile | undefined>
  /** Those of the names that are of accounts which the viewer may see; a token without `read:user` sees the public ones. */
  visibleNames(viewer: Viewer, names: readonly string[]): Promise<string[]>
}

export const createProfiles = (store: Store): Profiles => ({
  byId: (viewer, id) =>
    store.read(
      async (tx) => profileOf(tx, viewer, await accounts.get(tx, [id])),
      `profile ${viewerText(viewer)} of number ${id}`,
    ),
  byName: (viewer, name) =>
    store.read(
      async (tx) => profileOf(tx, viewer, await visibleAccount(tx, viewer, name)),
      `profile ${viewerText(viewer)} of ${name.toLowerCase()}`,
    ),
  visibleNames: (viewer, names) =>
    store.read(async (tx) => {
      const reader = viewer !== null && hasScope(viewer.scopes, 'read:user') ? viewer : null
      const found = await Promise.all(names.map((name) => visibleAccount(tx, reader, name)))
      return names.filter((_, index) => found[index] !== undefined)
    }),
})

const profileOf = async (
  tx: ReadTransaction,
  viewer: Viewer,
  account: Account | undefined,
): Promise<Profile | undefined> => {
  if (account === undefined) return undefined
  const [followers, following, starred] = await Promise.all([
    followTotal(tx, 'followers', viewer, account.id),
    followTotal(tx, 'following', viewer, account.id),
    starTotal(tx, viewer, account.id),
  ])
  return { viewer, account, followers, following, starred }
}
