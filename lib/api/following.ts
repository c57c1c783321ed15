import type { Viewer } from '../accounts/access.ts'
import { AllotError } from '../errors.ts'
import type { Account } from '../records/schema/index.ts'
import { at, type Services } from './route.ts'
import { userView } from './users.ts'

/**
 * The account of a path segment that the specification writes with a colon: `:alice` and `alice` both mean
 * alice, and the placeholder itself, sent as it is, means the caller.
 * @throws AllotError unauthenticated for the placeholder without credentials
 */
const accountOrCaller = (
  { hosting }: Services,
  viewer: Viewer,
  segment: string,
  placeholder: `:${string}`,
): Promise<Account | undefined> => {
  if (segment !== placeholder) return hosting.accounts.find(viewer, segment.replace(/^:/, ''))
  if (viewer === null) throw new AllotError('unauthenticated', `${placeholder} stands for the signed-in user`)
  return hosting.accounts.byId(viewer.id)
}

const own = at('/user', { scope: 'user', reads: 'required' })
const ofUser = at('/users/{username}', { scope: 'user' })

export const followingRoutes = [
  own.list('userCurrentListFollowers', '/followers', {
    summary: "The signed-in user's followers",
    of: userView,
    run: ({ user, page, client }, { hosting }) =>
      hosting.relations.follows.list('followers', user, user.id, page, client()),
  }),
  own.list('userCurrentListFollowing', '/following', {
    summary: 'The users that the signed-in user follows',
    of: userView,
    run: ({ user, page, client }, { hosting }) =>
      hosting.relations.follows.list('following', user, user.id, page, client()),
  }),
  own.get('userCurrentCheckFollowing', '/following/{username}', {
    summary: 'Whether the signed-in user follows a user: 204 when followed, 404 otherwise',
    run: ({ user, params }, { hosting }) => hosting.relations.follows.check(user, user.id, params.username),
  }),
  own.put('userCurrentPutFollow', '/following/{username}', {
    summary: 'Follow a user',
    also: [422],
    run: ({ user, params }, { hosting }) => hosting.relations.follows.follow(user, params.username),
  }),
  own.delete('userCurrentDeleteFollow', '/following/{username}', {
    summary: 'Unfollow a user',
    run: ({ user, params }, { hosting }) => hosting.relations.follows.unfollow(user, params.username),
  }),
  ofUser.list('userListFollowers', '/followers', {
    summary: "A user's followers; also as /users/:username/followers",
    of: userView,
    run: async ({ user, params, page, client }, services) => {
      const account = await accountOrCaller(services, user, params.username, ':username')
      return account && services.hosting.relations.follows.list('followers', user, account.id, page, client())
    },
  }),
  ofUser.list('userListFollowing', '/following', {
    summary: 'The users that a user follows',
    of: userView,
    run: async ({ user, params, page, client }, { hosting }) => {
      const account = await hosting.accounts.find(user, params.username)
      return account && hosting.relations.follows.list('following', user, account.id, page, client())
    },
  }),
  ofUser.get('userCheckFollowing', '/following/{target}', {
    summary: 'Whether one user follows another; also as /users/{username}/following/:target',
    run: async ({ user, params }, services) => {
      const { accounts, relations } = services.hosting
      const account = await accounts.find(user, params.username)
      const target = await accountOrCaller(services, user, params.target, ':target')
      if (account === undefined || target === undefined) return undefined
      return relations.follows.check(user, account.id, target.name)
    },
  }),
]
