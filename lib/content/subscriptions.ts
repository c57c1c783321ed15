import { canRead, type SignedIn, type Viewer, visibleAmong } from '../accounts/access.ts'
import { visibleAccount } from '../accounts/find.ts'
import type { ClientBudget } from '../client-budget.ts'
import { now } from '../clock.ts'
import { AllotError } from '../errors.ts'
import type { Found, Slice } from '../records/pages.ts'
import { type Account, type Issue, issueSubscriptions, watches } from '../records/schema/index.ts'
import type { Store } from '../records/store.ts'
import type { RepositoryName } from '../repositories/names.ts'
import { slotFor, visiblePage } from '../repositories/visible.ts'
import type { ReadTransaction } from '../storage/index.ts'
import { type FoundIssue, readableIssue } from './issues.ts'

interface WithSubscription {
  readonly isSubscribed: boolean
}

/**
 * The subscribers of an issue: its author and its commentators, until they unsubscribe. A watcher of the
 * repository follows it, too, and is not in the list. Methods return undefined when the issue does not exist
 * or the viewer cannot see it.
 */
export class IssueSubscriptions {
  readonly #store: Store
  readonly #budget: ClientBudget

  /** @param budget of reads of many records */
  constructor(store: Store, budget: ClientBudget) {
    this.#store = store
    this.#budget = budget
  }

  /** Whether the viewer follows the issue. */
  check(
    viewer: SignedIn,
    path: RepositoryName,
    number: number,
  ): Promise<(FoundIssue & WithSubscription) | undefined> {
    return this.#store.read(async (tx) => {
      const found = await readableIssue(tx, viewer, path, number)
      return found && { ...found, isSubscribed: await isSubscribed(tx, found.issue, viewer.id) }
    })
  }

  /**
   * Subscribes a user, or unsubscribes one, even if the user watches the repository or wrote in the issue.
   * @returns true when that changed whether the user is subscribed
   * @throws AllotError forbidden for another user than the viewer, except for administrators
   */
  set(
    viewer: SignedIn,
    path: RepositoryName,
    number: number,
    userName: string,
    subscribed: boolean,
  ): Promise<boolean | undefined> {
    return this.#store.write(async (tx) => {
      const found = await readableIssue(tx, viewer, path, number)
      const user = found && (await visibleAccount(tx, viewer, userName))
      if (found === undefined || user?.kind !== 'user') return undefined
      if (user.id !== viewer.id && !viewer.admin)
        throw new AllotError('forbidden', 'only administrators may change the subscription of another user')
      if (!(await canRead(tx, { id: user.id, admin: user.admin }, found.repository, 'issues')))
        return undefined
      const { id: issue } = found.issue
      const before = await isSubscribed(tx, found.issue, user.id)
      await issueSubscriptions.save(tx, { issue, account: user.id, subscribed, createdAt: now() })
      return before !== subscribed
    })
  }

  /**
   * The subscribers whom the viewer can see, by id.
   * @param client whose budget the read counts against once it has read some thousand records
   * @throws AllotError unavailable while too many such reads wait
   */
  list(
    viewer: Viewer,
    path: RepositoryName,
    number: number,
    slice: Slice,
    client?: string,
  ): Promise<Found<Account> | undefined> {
    const acquire = slotFor(this.#budget, client)
    return this.#store.read(async (tx) => {
      const found = await readableIssue(tx, viewer, path, number)
      if (found === undefined) return undefined
      const visible = (ids: readonly number[]) => visibleAmong(tx, viewer, ids)
      return visiblePage(subscribersOf(tx, found.issue), visible, slice, acquire)
    })
  }
}

async function* subscribersOf(tx: ReadTransaction, { id }: Issue): AsyncGenerator<number> {
  for await (const { account, subscribed } of issueSubscriptions.all(tx, [id])) if (subscribed) yield account
}

const isSubscribed = async (tx: ReadTransaction, issue: Issue, account: number): Promise<boolean> => {
  const subscription = await issueSubscriptions.get(tx, [issue.id, account])
  if (subscription !== undefined) return subscription.subscribed
  return issue.author === account || (await watches.get(tx, [account, issue.repository])) !== undefined
}
