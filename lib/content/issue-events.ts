/** Saves what follows from a change of an issue: events of its timeline, and subscriptions of authors. */
import { now } from '../clock.ts'
import { requireAbove } from '../records/ascending-ids.ts'
import { type Issue, type IssueEvent, issueEvents, issueSubscriptions } from '../records/schema/index.ts'
import type { WriteContext } from '../records/store.ts'

/** Sequence of the ids of comments and events, so that both have one order. */
export const TIMELINE = 'comment'

/**
 * The issue, with new ids in its timeline: {@link writeAscending} runs the write again when they do not
 * belong at the end. Invariant: the timeline has comments and events in the order of their commits.
 */
export const appended = (issue: Issue, ids: readonly number[]): Issue & { lastItem: number } => {
  requireAbove(issue.lastItem, ids)
  return { ...issue, lastItem: ids.at(-1)! }
}

type Change = Pick<IssueEvent, 'kind' | 'oldTitle' | 'newTitle'>

/** The entry of the timeline for a change of each of these members of an issue. */
const CHANGES = {
  title: (before, after) => ({ kind: 'change_title', oldTitle: before.title, newTitle: after.title }),
  state: (_before, after) => ({ kind: after.state === 'closed' ? 'close' : 'reopen' }),
} as const satisfies { readonly [M in keyof Issue]?: (before: Issue, after: Issue) => Change }

const MEMBERS = Object.keys(CHANGES) as (keyof typeof CHANGES)[]

/** How many events an edit can make. */
export const maxEvents = (edit: { readonly [M in keyof typeof CHANGES]?: Issue[M] | undefined }): number =>
  MEMBERS.filter((member) => edit[member] !== undefined).length

/**
 * Records what the author has changed of an issue.
 * @param ids as many as {@link maxEvents} of the edit
 * @returns the issue after the change, to be saved
 */
export const recordEvents = async (
  tx: WriteContext,
  before: Issue,
  after: Issue,
  author: number,
  ids: readonly number[],
): Promise<Issue> => {
  const changed = MEMBERS.filter((member) => before[member] !== after[member])
  if (changed.length === 0) return after
  for (const [index, member] of changed.entries()) {
    const change: Change = CHANGES[member](before, after)
    await issueEvents.save(tx, { id: ids[index]!, issue: after.id, author, createdAt: now(), ...change })
  }
  return appended(after, ids.slice(0, changed.length))
}

/** Subscribes the author of an issue or a comment, unless the user has decided about it. */
export const subscribeAuthor = async (tx: WriteContext, issue: number, account: number): Promise<void> => {
  if ((await issueSubscriptions.get(tx, [issue, account])) !== undefined) return
  await issueSubscriptions.save(tx, { issue, account, subscribed: true, createdAt: now() })
}
