/** What changes of issues leave besides the issue itself: events of its timeline, and subscriptions of authors. */
import { now } from '../clock.ts'
import { type Issue, type IssueEvent, issueEvents, issueSubscriptions } from '../records/schema/index.ts'
import type { Store, WriteContext } from '../records/store.ts'

/** Takes ids for the events of an edit before its transaction begins, in the order of the timeline. */
export const takeEventIds = async (
  { sequences }: Store,
  edit: { readonly title?: string | undefined; readonly state?: string | undefined },
): Promise<number[]> => {
  const ids: number[] = []
  for (const member of [edit.title, edit.state])
    if (member !== undefined) ids.push(await sequences.next('comment'))
  return ids
}

/** Records what the author has changed of an issue. @param ids as {@link takeEventIds} took them */
export const recordEvents = async (
  tx: WriteContext,
  before: Issue,
  after: Issue,
  author: number,
  ids: readonly number[],
): Promise<void> => {
  const events: Pick<IssueEvent, 'kind' | 'oldTitle' | 'newTitle'>[] = []
  if (before.title !== after.title)
    events.push({ kind: 'change_title', oldTitle: before.title, newTitle: after.title })
  if (before.state !== after.state) events.push({ kind: after.state === 'closed' ? 'close' : 'reopen' })
  for (const [index, event] of events.entries())
    await issueEvents.save(tx, { id: ids[index]!, issue: after.id, author, createdAt: now(), ...event })
}

/** Subscribes the author of an issue or a comment, unless the user has decided about it. */
export const subscribeAuthor = async (tx: WriteContext, issue: number, account: number): Promise<void> => {
  if ((await issueSubscriptions.get(tx, [issue, account])) !== undefined) return
  await issueSubscriptions.save(tx, { issue, account, subscribed: true, createdAt: now() })
}
