import type { Viewer } from '../accounts/access.ts'
import type { Identity } from '../accounts/identity.ts'
import { AllotError } from '../errors.ts'
import type { Account } from '../records/schema/index.ts'
import type { Services } from './route.ts'

/** The account that a path names, if the viewer may know of it. */
export const accountNamed = (
  { hosting }: Services,
  viewer: Viewer,
  name: string,
): Promise<Account | undefined> => hosting.accounts.find(viewer, name)

/** An organization that a path names, likewise. */
export const organizationNamed = (
  { hosting }: Services,
  viewer: Viewer,
  name: string,
): Promise<Account | undefined> => hosting.organizations.find(viewer, name)

/** The account was deleted after the request was let in. */
export const accountGone = () => new AllotError('unauthenticated', 'the signed-in account is gone')

/** @throws AllotError unauthenticated, as {@link accountGone} says. */
export const signedIn = async ({ hosting }: Services, { id }: Identity): Promise<Account> => {
  const account = await hosting.accounts.byId(id)
  if (account === undefined) throw accountGone()
  return account
}

/**
 * The account of a segment that the document writes with a colon: `:alice` and `alice` both mean alice, and the
 * unsubstituted placeholder means the caller.
 * @throws AllotError unauthenticated when it means the caller and there is none.
 */
export const accountOrCaller = (
  services: Services,
  viewer: Viewer,
  segment: string,
  placeholder: `:${string}`,
): Promise<Account | undefined> => {
  if (segment !== placeholder) return accountNamed(services, viewer, segment.replace(/^:/, ''))
  if (viewer === null) throw new AllotError('unauthenticated', `${placeholder} stands for the signed-in user`)
  return services.hosting.accounts.byId(viewer.id)
}
