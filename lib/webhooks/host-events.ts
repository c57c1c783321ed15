/** The events that `allot.on` passes to listeners: those of webhooks, with records in the place of JSON. */
import type { QuotaEvent } from '../quota/quota-events.ts'
import {
  accounts,
  type Comment,
  type Issue,
  type PackageVersion,
  type Release,
  type Repository,
} from '../records/schema/index.ts'
import type { ReadTransaction } from '../storage/index.ts'
import type { Changes, WebhookEvent } from './events.ts'

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

/**
 * Argument of `allot.on('push', listener)`, `'create'` and `'delete'`: a branch or a tag was changed, created
 * or deleted.
 */
export interface RefEvent extends InRepository {
  /** Full name, such as `refs/heads/main`. */
  ref: string
  /** Object id before; null for a reference that is new. */
  before: string | null
  /** Object id after; null for a reference that was deleted. */
  after: string | null
}

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

/** The events that the outbox reports; the quota engine reports `quota` (lib/quota/quota-events.ts). */
export type RecordedEvent = Exclude<WebhookEvent, { event: 'ping' | 'quota' }>

/**
 * The events with the members that listeners get: an action that {@link HostEvents} lacks does not compile.
 */
type DeclaredEvent = {
  [Name in RecordedEvent['event']]: Omit<HostEvents[Name], keyof HostEvent> & { event: Name }
}[RecordedEvent['event']]

/** @returns what listeners get; undefined when the owner was deleted */
export const hostEvent = async (
  tx: ReadTransaction,
  recorded: RecordedEvent,
): Promise<HostEvents[RecordedEvent['event']] | undefined> => {
  const { event: _, by, ...detail } = recorded satisfies DeclaredEvent
  const ownerId = 'repository' in detail ? detail.repository.owner : detail.owner
  const found = await accounts.byIds(tx, by === undefined ? [ownerId] : [ownerId, by])
  const owner = found.get(ownerId)?.name
  if (owner === undefined) return undefined
  const sender = by === undefined ? owner : (found.get(by)?.name ?? GHOST)
  // A copy, since the caller of the write gets the same records.
  return { ...structuredClone(detail), owner, sender }
}

const GHOST = 'Ghost'
