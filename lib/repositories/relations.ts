import {
  accountByName,
  audienceOfAccount,
  canRead,
  canSee,
  existingAccount,
  ownersFor,
  readableRepository,
  repositoryById,
  repositoryViewer,
  type Viewer,
  visibleAccount,
} from '../accounts/access.ts'
import { pendingFollows, pendingRelations } from '../accounts/visibility.ts'
import { type Page, type Slice, visiblePage } from '../accounts/visible-page.ts'
import { now } from '../clock.ts'
import {
  type Account,
  accounts,
  type Follow,
  follows,
  type Relation,
  type RelationCollection,
  type Repository,
  repositories,
  stars,
  watches,
} from '../records/schema/index.ts'
import type { Store, WriteContext } from '../records/store.ts'
import type { ReadTransaction } from '../storage/driver.ts'

/** Which repository, by its names. */
export interface RepositoryName {
  owner: string
  name: string
}

/** What an account can be to a repository. Undefined answers stand for a repository that the viewer may not know of. */
export interface RepositoryRelation {
  /** Idempotent; answers the repository. */
  set(viewer: NonNullable<Viewer>, repository: RepositoryName): Promise<Repository | undefined>
  clear(viewer: NonNullable<Viewer>, repository: RepositoryName): Promise<Repository | undefined>
  /** The repository when the relation is set. */
  check(viewer: NonNullable<Viewer>, repository: RepositoryName): Promise<Repository | undefined>
  /** The repositories of an account's relations, as far as the viewer may know of them. */
  list(viewer: Viewer, account: number, slice: Slice): Promise<Page<Repository>>
}

export interface Follows {
  /** "user follows {username}". Answers whether there is such an account; following oneself changes nothing. */
  follow(viewer: NonNullable<Viewer>, name: string): Promise<boolean>
  unfollow(viewer: NonNullable<Viewer>, name: string): Promise<boolean>
  /** Whether the follower follows the named account, and the viewer may know of it. */
  check(viewer: Viewer, follower: number, name: string): Promise<boolean>
  followers(viewer: Viewer, account: number, slice: Slice): Promise<Page<Account>>
  following(viewer: Viewer, account: number, slice: Slice): Promise<Page<Account>>
}

export interface Relations {
  readonly stars: RepositoryRelation
  readonly watches: RepositoryRelation
  readonly follows: Follows
}

export const createRelations = (store: Store): Relations => ({
  stars: createRepositoryRelation(store, stars, 'stars'),
  watches: createRepositoryRelation(store, watches, 'watchers'),
  follows: createFollows(store),
})

type Count = 'stars' | 'watchers'

const createRepositoryRelation = (
  store: Store,
  relation: RelationCollection,
  count: Count,
): RepositoryRelation => ({
  set: (viewer, { owner, name }) =>
    store.write(async (tx) => {
      const repository = await readableRepository(tx, viewer, owner, name)
      return repository && relate(tx, relation, count, viewer.id, repository)
    }),
  clear: (viewer, { owner, name }) =>
    store.write(async (tx) => {
      const repository = await readableRepository(tx, viewer, owner, name)
      return repository && unrelate(tx, relation, count, viewer.id, repository)
    }),
  check: (viewer, { owner, name }) =>
    store.read(async (tx) => {
      const repository = await readableRepository(tx, viewer, owner, name)
      if (repository === undefined) return undefined
      return (await relation.get(tx, [viewer.id, repository.id])) && repository
    }),
  list: (viewer, account, slice) =>
    store.read(async (tx) => {
      const page = await relationsOf(tx, relation, viewer, account, slice)
      const found = await repositories.getMany(
        tx,
        page.items.map((one) => [one.repository]),
      )
      return { items: found.filter((one) => one !== undefined), total: page.total }
    }),
})

const relationsOf = async (
  tx: ReadTransaction,
  relation: RelationCollection,
  viewer: Viewer,
  account: number,
  slice: Slice,
): Promise<Page<Relation>> => {
  const isReadable = async (one: Relation) => {
    const repository = await repositoryById(tx, one.repository)
    return repository !== undefined && canRead(tx, viewer, repository)
  }
  const pending = await pendingRelations(tx, relation, account)
  const asked = {
    ...{ relation, index: 'account' as const, prefix: [account], viewer: repositoryViewer(viewer) },
    ...{ isReadable, pending: pending },
    belonging: (viewer: NonNullable<Viewer>) => relationsToOwn(tx, relation, viewer, account),
  }
  return visiblePage(tx, asked, slice)
}

const NONE: Slice = { offset: 0, limit: 0 }

/** How many stars of an account the viewer can list. */
export const starTotal = async (tx: ReadTransaction, viewer: Viewer, account: number): Promise<number> =>
  (await relationsOf(tx, stars, viewer, account, NONE)).total

/** How many of those that follow an account, or that it follows, the viewer can list. */
export const followTotal = async (
  tx: ReadTransaction,
  index: 'followers' | 'following',
  viewer: Viewer,
  account: number,
): Promise<number> => (await followsOf(tx, index, viewer, account, NONE)).total

/** Saves the relation if it is not there, and counts it. */
const relate = async (
  tx: WriteContext,
  relation: RelationCollection,
  count: Count,
  account: number,
  repository: Repository,
): Promise<Repository> => {
  if ((await relation.get(tx, [account, repository.id])) !== undefined) return repository
  await existingAccount(tx, account)
  const { id, audience } = repository
  await relation.save(tx, { account, repository: id, audience, createdAt: now() })
  const counted = { ...repository, [count]: repository[count] + 1 }
  await repositories.save(tx, counted)
  return counted
}

export const unrelate = async (
  tx: WriteContext,
  relation: RelationCollection,
  count: Count,
  account: number,
  repository: Repository,
): Promise<Repository> => {
  if ((await relation.remove(tx, [account, repository.id])) === undefined) return repository
  const counted = { ...repository, [count]: repository[count] - 1 }
  await repositories.save(tx, counted)
  return counted
}

export const watch = (tx: WriteContext, account: number, repository: Repository): Promise<Repository> =>
  relate(tx, watches, 'watchers', account, repository)

const createFollows = (store: Store): Follows => ({
  follow: (viewer, name) =>
    store.write(async (tx) => {
      const [follower, followed] = [
        await accounts.get(tx, [viewer.id]),
        await visibleAccount(tx, viewer, name),
      ]
      if (follower === undefined || followed === undefined) return false
      if (follower.id !== followed.id) await saveFollow(tx, follower, followed)
      return true
    }),
  unfollow: (viewer, name) =>
    store.write(async (tx) => {
      const followed = await accountByName(tx, name)
      if (followed === undefined) return false
      // Whoever follows an account that has hidden itself since may still let go of it.
      if ((await follows.remove(tx, [viewer.id, followed.id])) !== undefined) return true
      return canSee(tx, viewer, followed)
    }),
  check: (viewer, follower, name) =>
    store.read(async (tx) => {
      const followed = await visibleAccount(tx, viewer, name)
      return followed !== undefined && (await follows.get(tx, [follower, followed.id])) !== undefined
    }),
  followers: (viewer, account, slice) =>
    store.read((tx) => accountsOf(tx, 'followers', viewer, account, slice)),
  following: (viewer, account, slice) =>
    store.read((tx) => accountsOf(tx, 'following', viewer, account, slice)),
})

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
  const page = await followsOf(tx, index, viewer, account, slice)
  const found = await accounts.getMany(
    tx,
    page.items.map((follow) => [otherIn(follow, index)]),
  )
  return { items: found.filter((one) => one !== undefined), total: page.total }
}

const otherIn = (follow: Follow, index: 'followers' | 'following'): number =>
  index === 'followers' ? follow.follower : follow.followed

const followsOf = async (
  tx: ReadTransaction,
  index: 'followers' | 'following',
  viewer: Viewer,
  account: number,
  slice: Slice,
): Promise<Page<Follow>> => {
  const isReadable = async (follow: Follow) => {
    const found = await accounts.get(tx, [otherIn(follow, index)])
    return found !== undefined && canSee(tx, viewer, found)
  }
  const pending = await pendingFollows(tx, index, account)
  // Of the accounts for a few, a viewer may see itself and the organizations that it belongs to.
  const belonging = async ({ id }: NonNullable<Viewer>) => {
    const places = (await ownersFor(tx, id)).map((own) =>
      index === 'followers' ? [own, account] : [account, own],
    )
    return (await follows.getMany(tx, places)).filter((one) => one !== undefined)
  }
  const asked = {
    relation: follows,
    index,
    prefix: [account],
    viewer,
    isReadable,
    belonging,
    pending: pending,
  }
  return visiblePage(tx, asked, slice)
}

/** The relations of an account to private repositories that the viewer belongs to, unless its own ones are fewer. */
export const relationsToOwn = async (
  tx: ReadTransaction,
  relation: RelationCollection,
  viewer: NonNullable<Viewer>,
  account: number,
): Promise<Relation[] | undefined> => {
  const owners = await ownersFor(tx, viewer.id)
  const counts = await Promise.all(owners.map((owner) => repositories.count(tx, 'owner', [owner, 2])))
  const readable = counts.reduce((sum, count) => sum + count, 0)
  if (readable > (await relation.count(tx, 'account', [account, 2]))) return undefined
  const found: Relation[] = []
  for (const owner of owners.filter((_, place) => counts[place]! > 0)) {
    const own = await repositories.list(tx, 'id', { prefix: [owner, 2] })
    const places = own.map(({ id }) => [account, id])
    found.push(...(await relation.getMany(tx, places)).filter((one) => one !== undefined))
  }
  return found
}
