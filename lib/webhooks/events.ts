/** The events: what `allot.on` passes to listeners, and what the outbox records for webhooks. */
import { ghost } from '../accounts/account-records.ts'
import type { QuotaEvent, QuotaEventById } from '../quota/quota-events.ts'
import {
  accounts,
  type Comment,
  type Delivery,
  type Hook,
  type HookPayload,
  type Issue,
  type PackageVersion,
  type Release,
  type Repository,
} from '../records/schema/index.ts'
import type { ReadTransaction } from '../storage/index.ts'

/** The account that caused an event, and the owner. */
interface HostEvent {
  /** Name of the user or the organization that owns the subject of the event. */
  owner: string
  /**
   * Name of the account that caused it: the owner when it is not known, `Ghost` when the account was deleted.
   */
  sender: string
}

interface InRepository extends HostEvent {
  /** The repository after the event; one that is deleted, as it was before. */
  repository: Repository
}

/** The texts before an edit. */
export interface Changes {
  /** The title before; absent when it stays. */
  readonly title?: string
  /** The text before; absent when it stays. */
  readonly body?: string
}

/** A reference that a push has changed. */
export interface ChangedRef {
  /** Full name, such as `refs/heads/main`. */
  readonly ref: string
  /** Object id before; null for a reference that is new. */
  readonly before: string | null
  /** Object id after; null for a reference that was deleted. */
  readonly after: string | null
}

/**
 * Argument of `allot.on('push', listener)`, `'create'` and `'delete'`: a branch or a tag was changed, created
 * or deleted.
 */
export interface RefEvent extends InRepository, ChangedRef {}

/** Argument of `allot.on('fork', listener)`: `repository` was forked. */
export interface ForkEvent extends InRepository {
  /** The new repository. */
  fork: Repository
}

/** Argument of `allot.on('repository', listener)`. */
export interface RepositoryEvent extends InRepository {
  /** The kind of change. */
  action: 'created' | 'deleted' | 'renamed' | 'transferred' | 'edited'
}

/** Argument of `allot.on('issues', listener)`. */
export interface IssueEvent extends InRepository {
  /** The kind of change. */
  action: 'opened' | 'edited' | 'closed' | 'reopened' | 'deleted'
  /** The issue after the event; one that is deleted, as it was before. */
  issue: Issue
  /** The texts before an edit. */
  changes?: Changes
}

/** Argument of `allot.on('issue_comment', listener)`. */
export interface CommentEvent extends InRepository {
  /** The kind of change. */
  action: 'created' | 'edited' | 'deleted'
  /** The issue of the comment. */
  issue: Issue
  /** The comment after the event; one that is deleted, as it was before. */
  comment: Comment
  /** The former text, of an edited comment. */
  changes?: Changes
}

/** Argument of `allot.on('release', listener)`. Drafts have no events. */
export interface ReleaseEvent extends InRepository {
  /** The kind of change. */
  action: 'published' | 'updated' | 'deleted'
  /** The release after the event; one that is deleted, as it was before. */
  release: Release
}

/** Argument of `allot.on('package', listener)`. */
export interface PackageEvent extends HostEvent {
  /** The kind of change. */
  action: 'created' | 'deleted'
  /** The version that was added or removed. */
  version: PackageVersion
}

/** The events of `allot.on`, with what a listener gets. */
export interface HostEvents {
  /** A branch or a tag was created or moved, over git or the API. */
  push: RefEvent
  /** A branch or a tag was created. */
  create: RefEvent
  /** A branch or a tag was deleted. */
  delete: RefEvent
  /** A repository was forked. */
  fork: ForkEvent
  /** A repository was created, renamed, transferred, changed or deleted. */
  repository: RepositoryEvent
  /** An issue was opened, edited, closed, reopened or deleted. */
  issues: IssueEvent
  /** A comment was created, edited or deleted. */
  issue_comment: CommentEvent
  /** A release that is not a draft was published, changed or deleted. */
  release: ReleaseEvent
  /** A version of a package was added or removed. */
  package: PackageEvent
  /** An owner crossed the limit of a rule or the share of it that counts as near, in either direction. */
  quota: QuotaEvent
}

/** `by`: id of the account that caused it; the owner when absent. */
interface Caused {
  readonly by?: number | undefined
}

/**
 * The events that services record: with ids of the accounts in the place of their names. `quota` is reported
 * to listeners by the quota engine (lib/quota/quota-events.ts).
 */
type RecordedEvent = {
  [Name in Exclude<keyof HostEvents, 'quota'>]: Readonly<Omit<HostEvents[Name], keyof HostEvent>> &
    Caused & { readonly event: Name } & (Name extends 'package' ? { readonly owner: number } : unknown)
}[Exclude<keyof HostEvents, 'quota'>]

export type WebhookEvent =
  | RecordedEvent
  | (Readonly<QuotaEventById> & { readonly event: 'quota' })
  | (Caused & { readonly event: 'ping'; readonly hook: Hook; readonly owner?: undefined })

/** The account whose event it is. */
export const ownerOf = (event: Exclude<WebhookEvent, { event: 'ping' }>): number =>
  'repository' in event ? event.repository.owner : event.owner

/** @returns what listeners get; undefined when the owner was deleted */
export const hostEvent = async (
  tx: ReadTransaction,
  recorded: RecordedEvent,
): Promise<HostEvents[RecordedEvent['event']] | undefined> => {
  const { event: _, by, ...detail } = recorded
  const ownerId = ownerOf(recorded)
  const found = await accounts.byIds(tx, by === undefined ? [ownerId] : [ownerId, by])
  const owner = found.get(ownerId)?.name
  if (owner === undefined) return undefined
  const sender = by === undefined ? owner : (found.get(by) ?? ghost).name
  // A copy, since the caller of the write gets the same records.
  return { ...structuredClone(detail), owner, sender }
}

/** The texts that differ, as they were before. */
export const changesBetween = <T extends { title?: string; body: string }>(before: T, after: T): Changes => ({
  ...(before.title === undefined || before.title === after.title ? {} : { title: before.title }),
  ...(before.body === after.body ? {} : { body: before.body }),
})

/** References of one push that are reported; a client can push any number of tags at once. */
const MAX_REFS = 100

/** The changed branches and tags that a push reports. */
export const reportedRefs = (updates: readonly ChangedRef[]): readonly ChangedRef[] =>
  updates.filter(({ ref }) => /^refs\/(?:heads|tags)\//.test(ref)).slice(0, MAX_REFS)

/** What a delivery says of its event, besides the payload. */
export type EventParts = Pick<Delivery, 'event' | 'action' | 'repositories'>

export const partsOf = (event: WebhookEvent): EventParts => ({
  event: event.event,
  action: 'action' in event ? event.action : '',
  ...('repository' in event
    ? { repositories: [event.repository.id, ...('fork' in event ? [event.fork.id] : [])] }
    : {}),
})

/** The commits that are added to the payload of a push. */
export const commitsOf = (event: WebhookEvent): Pick<HookPayload, 'commits'> =>
  event.event === 'push' && event.after !== null
    ? { commits: { repository: event.repository.id, before: event.before, after: event.after } }
    : {}
