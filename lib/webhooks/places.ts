/** Where webhooks are made: repositories, accounts and the instance. */
import type { SignedIn } from '../accounts/access.ts'
import { type Authorizer, authorizeOrganization, authorizeRepositoryAdmin } from '../accounts/authorize.ts'
import { accounts, type Hook, type HookScope, hooks } from '../records/schema/index.ts'
import type { ReadTransaction } from '../storage/index.ts'

/** The repository or the account of webhooks, or the instance. */
export interface HookPlace {
  readonly scope: HookScope
  /** Id of the repository or the account; 0 for the instance. */
  readonly target: number
  /** Its name, for the audit log. */
  readonly name: string
}

/**
 * Finds the place of webhooks, and checks that the viewer administers it; routes of the instance check that
 * themselves.
 */
export const hookPlaces = {
  repository:
    (viewer: SignedIn, owner: string, name: string): Authorizer<HookPlace> =>
    async (tx) => {
      const repository = await authorizeRepositoryAdmin(viewer, owner, name)(tx)
      if (repository === undefined) return undefined
      const account = (await accounts.get(tx, [repository.owner]))!
      return { scope: 'repository', target: repository.id, name: `${account.name}/${repository.name}` }
    },
  organization:
    (viewer: SignedIn, name: string): Authorizer<HookPlace> =>
    async (tx) => {
      const account = await authorizeOrganization(viewer, name)(tx)
      return account && { scope: 'account', target: account.id, name: account.name }
    },
  user:
    (viewer: SignedIn): Authorizer<HookPlace> =>
    async (tx) => {
      const account = await accounts.get(tx, [viewer.id])
      return account && { scope: 'account', target: account.id, name: account.name }
    },
  instance: (): Authorizer<HookPlace> => async () => ({ scope: 'instance', target: 0, name: 'the instance' }),
}

/** A webhook of the place, with the place. */
export const hookAt = async (
  tx: ReadTransaction,
  place: Authorizer<HookPlace>,
  id: number,
): Promise<{ place: HookPlace; hook: Hook } | undefined> => {
  const found = await place(tx)
  const hook = found && (await hooks.get(tx, [id]))
  if (found === undefined || hook?.scope !== found.scope || hook.target !== found.target) return undefined
  return { place: found, hook }
}
