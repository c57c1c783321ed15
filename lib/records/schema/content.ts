import * as v from 'valibot'
import { tokenize } from '../../search/index.ts'
import { Collection } from '../collection.ts'
import { bytes, count, id, seconds, storedName } from '../fields.ts'
import type { SeveralKeys } from '../indexes.ts'
import type { KeyTuple } from '../key-codec.ts'

const IssueSequence = v.object({ repository: id, last: id })

/** The last issue number of each repository: a number is not used twice, even after a deletion. */
export const issueSequences = new Collection({
  name: 'issueSequence',
  schema: IssueSequence,
  id: (sequence) => [sequence.repository],
  belongsTo: [{ to: 'repository' }],
})

const Issue = v.object({
  /** Identifies the issue. */
  id,
  /** Id of the repository. */
  repository: id,
  /** Number in the repository, from 1; it is not used again. */
  number: id,
  /** Title, one line. */
  title: v.string(),
  /** Text, in markdown. */
  body: v.string(),
  /** Whether it is open or closed. */
  state: v.picklist(['open', 'closed']),
  /** Id of the user. */
  author: id,
  /** When it was created, in seconds since 1970. */
  createdAt: seconds,
  /** When it was last changed, in seconds since 1970. */
  updatedAt: seconds,
  /** When it was closed, in seconds since 1970; null while it is open. */
  closedAt: v.nullable(seconds),
})
/** An issue of a repository. */
export type Issue = v.InferOutput<typeof Issue>

/** A key for each word of the title. */
const byWord = ({ repository, state, title }: Issue, rest: KeyTuple): SeveralKeys => ({
  of: [repository, state, title, ...rest],
  each: () => tokenize(title).map((word) => [repository, state, word, ...rest]),
})

export const issues = new Collection({
  name: 'issue',
  schema: Issue,
  id: (issue) => [issue.id],
  numbers: { sequence: 'issue' },
  unique: { number: (issue) => [issue.repository, issue.number] },
  // Every index ends with the number, so that their listings can be intersected.
  ordered: {
    state: (issue) => [issue.repository, issue.state, issue.number],
    author: (issue) => [issue.repository, issue.author, issue.state, issue.number],
    words: (issue) => byWord(issue, [issue.number]),
  },
  counted: {
    state: (issue) => [issue.repository, issue.state],
    author: (issue) => [issue.repository, issue.author, issue.state],
    words: (issue) => byWord(issue, []),
  },
  belongsTo: [{ to: 'repository', by: 'state' }],
})

const Comment = v.object({
  /** Identifies the comment. */
  id,
  /** The id of the issue, not its number. */
  issue: id,
  /** Id of the repository of the issue. */
  repository: id,
  /** Text, in markdown. */
  body: v.string(),
  /** Id of the user. */
  author: id,
  /** When it was created, in seconds since 1970. */
  createdAt: seconds,
  /** When it was last changed, in seconds since 1970. */
  updatedAt: seconds,
})
/** A comment on an issue. */
export type Comment = v.InferOutput<typeof Comment>

export const comments = new Collection({
  name: 'comment',
  schema: Comment,
  id: (comment) => [comment.id],
  numbers: { sequence: 'comment' },
  ordered: { issue: (comment) => [comment.issue], repository: (comment) => [comment.repository] },
  counted: { issue: (comment) => [comment.issue], repository: (comment) => [comment.repository] },
  belongsTo: [{ to: 'issue', by: 'issue' }],
})

const IssueEvent = v.object({
  /** Identifies the event among the events and comments of all issues. */
  id,
  /** The id of the issue, not its number. */
  issue: id,
  /** The issue was closed, opened again, or renamed. */
  kind: v.picklist(['close', 'reopen', 'change_title']),
  /** Id of the user. */
  author: id,
  /** When it was done, in seconds since 1970. */
  createdAt: seconds,
  /** Title before a change of the title. */
  oldTitle: v.optional(v.string()),
  /** Title after a change of the title. */
  newTitle: v.optional(v.string()),
})
/** An entry in the timeline of an issue that is not a comment. */
export type IssueEvent = v.InferOutput<typeof IssueEvent>

/** Ids come from the sequence of comments, so that both have one order in the timeline of an issue. */
export const issueEvents = new Collection({
  name: 'issueEvent',
  schema: IssueEvent,
  id: (event) => [event.id],
  numbers: { sequence: 'comment' },
  ordered: { issue: (event) => [event.issue] },
  counted: { issue: (event) => [event.issue] },
  belongsTo: [{ to: 'issue', by: 'issue' }],
})

const IssueSubscription = v.object({ issue: id, account: id, subscribed: v.boolean(), createdAt: seconds })

/**
 * Subscriptions of issues: of authors and commentators, and of users who subscribed. Watchers of the
 * repository have none.
 */
export const issueSubscriptions = new Collection({
  name: 'issueSubscription',
  schema: IssueSubscription,
  id: (subscription) => [subscription.issue, subscription.account],
  ordered: { account: (subscription) => [subscription.account] },
  belongsTo: [{ to: 'issue' }, { to: 'account', by: 'account' }],
})

const GuestUpload = v.object({
  /** Id of the user who attached files, or wrote. */
  account: id,
  /** Id of the owner of the repositories, to which the user cannot write; the user itself for texts. */
  owner: id,
  /** Days since 1970-01-01 UTC. */
  day: count,
  /** Bytes of that day, also of what was deleted since. */
  bytes,
})

/**
 * What a user attached on the last such day to issues in repositories of an owner without write access, and
 * what a user wrote.
 */
export const guestUploads = new Collection({
  name: 'guestUpload',
  schema: GuestUpload,
  id: (upload) => [upload.account, upload.owner],
  ordered: { account: (upload) => [upload.account], owner: (upload) => [upload.owner] },
  belongsTo: [
    { to: 'account', by: 'account' },
    { to: 'account', by: 'owner' },
  ],
})

const Release = v.object({
  /** Identifies the release. */
  id,
  /** Id of the repository. */
  repository: id,
  /** Name of its tag, unique in the repository. */
  tag: v.string(),
  /** Branch or commit of the tag. */
  target: v.string(),
  /** Title; empty when there is none. */
  name: v.string(),
  /** Text, in markdown. */
  body: v.string(),
  /** Whether only users with write permission can see it. */
  draft: v.boolean(),
  /** Whether it is not meant for production. */
  prerelease: v.boolean(),
  /** Id of the user. */
  author: id,
  /** When it was created, in seconds since 1970. */
  createdAt: seconds,
  /** Null for a draft. */
  publishedAt: v.nullable(seconds),
})
/** A release of a repository. */
export type Release = v.InferOutput<typeof Release>

const releaseKind = ({ repository, draft, prerelease }: Release) => [repository, draft, prerelease] as const

export const releases = new Collection({
  name: 'release',
  schema: Release,
  id: (release) => [release.id],
  numbers: { sequence: 'release' },
  unique: { tag: (release) => [release.repository, release.tag] },
  ordered: { time: (release) => [...releaseKind(release), release.publishedAt ?? release.createdAt] },
  counted: { kind: releaseKind },
  belongsTo: [{ to: 'repository', by: 'time' }],
})

const Attachment = v.object({
  /** Identifies the attachment. */
  id,
  /** Name of the file on disk, and in its URL. */
  uuid: storedName,
  /** Id of the repository. */
  repository: id,
  /** Kind of the record that it is attached to. */
  on: v.picklist(['issue', 'comment', 'release']),
  /** Id of that issue, comment or release. */
  targetId: id,
  /** Name of the file. */
  name: v.string(),
  /** Bytes. */
  size: bytes,
  /** Id of the user. */
  uploader: id,
  /** How often it was downloaded. */
  downloads: count,
  /** When it was created, in seconds since 1970. */
  createdAt: seconds,
})
/** A file of an issue, a comment or a release. */
export type Attachment = v.InferOutput<typeof Attachment>

export const attachments = new Collection({
  name: 'attachment',
  schema: Attachment,
  id: (attachment) => [attachment.id],
  numbers: { sequence: 'attachment' },
  unique: { uuid: (attachment) => [attachment.uuid] },
  ordered: { target: ({ on, targetId }) => [on, targetId] },
  counted: { target: ({ on, targetId }) => [on, targetId] },
  belongsTo: [
    { to: 'issue', by: 'target', within: ['issue'], removed: 'now' },
    { to: 'comment', by: 'target', within: ['comment'], removed: 'now' },
    { to: 'release', by: 'target', within: ['release'], removed: 'now' },
  ],
})
