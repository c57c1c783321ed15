/** Saves what follows from a change of an issue: events of its timeline, and subscriptions of authors. */
import { now } from '../clock.ts'
import { type Issue, type IssueEvent, issueEvents, issueSubscriptions } from '../records/schema/index.ts'
import { takeNumber, type WriteContext } from '../records/store.ts'

/** Sequence of the ids of comments and events, so that both are in the order of their commits. */
export const TIMELINE = 'comment'

type Change = Pick<IssueEvent, 'kind' | 'oldTitle' | 'newTitle'>

/** The entry of the timeline for a change of each of these members of an issue. */
const CHANGES = {
  title: (before, after) => ({ kind: 'change_title', oldTitle: before.title, newTitle: after.title }),
  state: (_before, after) => ({ kind: after.state === 'closed' ? 'close' : 'reopen' }),
} as const satisfies { readonly [M in keyof Issue]?: (before: Issue, after: Issue) => Change }

const MEMBERS = Object.keys(CHANGES) as (keyof typeof CHANGES)[]

/** Records what the author has changed of an issue. */
export const recordEvents = async (
  tx: WriteContext,
  before: Issue,
  after: Issue,
  author: number,
): Promise<void> => {
  for (const member of MEMBERS.filter((each) => before[each] !== after[each])) {
    const change: Change = CHANGES[member](before, after)
    const id = await takeNumber(tx, TIMELINE)
    await issueEvents.save(tx, { id, issue: after.id, author, createdAt: now(), ...change })
  }
}

/** Subscribes the author of an issue or a comment, unless the user has decided about it. */
export const subscribeAuthor = async (tx: WriteContext, issue: number, account: number): Promise<void> => {
  if ((await issueSubscriptions.get(tx, [issue, account])) !== undefined) return
  await issueSubscriptions.save(tx, { issue, account, subscribed: true, createdAt: now() })
}
