import * as v from 'valibot'
import { InvertedIndex, tokenize } from '../../search/index.ts'
import { Collection } from '../collection.ts'
import { bytes, count, id, seconds } from '../fields.ts'

const IssueSequence = v.object({ repository: id, last: id })
export type IssueSequence = v.InferOutput<typeof IssueSequence>

/** The last issue number of each repository: a number is not used twice, even after a deletion. */
export const issueSequences = new Collection({
  name: 'issueSequence',
  schema: IssueSequence,
  id: (sequence) => [sequence.repository],
})

const Issue = v.object({
  id,
  repository: id,
  number: id,
  title: v.string(),
  body: v.string(),
  state: v.picklist(['open', 'closed']),
  author: id,
  createdAt: seconds,
  updatedAt: seconds,
  closedAt: v.nullable(seconds),
})
export type Issue = v.InferOutput<typeof Issue>

/** Finds issues by the words of their title. */
export const issueTitles = new InvertedIndex<Issue>({
  collection: 'issue',
  name: 'words',
  source: (issue) => [issue.repository, issue.state, issue.number, issue.title],
  keys: ([repository, state, number, title]) =>
    tokenize(title as string).map((word) => [repository!, state!, word, number!]),
  listDepth: 3,
})

export const issues = new Collection({
  name: 'issue',
  schema: Issue,
  id: (issue) => [issue.id],
  unique: { number: (issue) => [issue.repository, issue.number] },
  // Every index ends with the number, so that their listings can be intersected.
  ordered: {
    state: (issue) => [issue.repository, issue.state, issue.number],
    author: (issue) => [issue.repository, issue.author, issue.state, issue.number],
  },
  counted: {
    state: (issue) => [issue.repository, issue.state],
    author: (issue) => [issue.repository, issue.author, issue.state],
  },
  search: [issueTitles],
})

const Comment = v.object({
  id,
  /** The id of the issue, not its number. */
  issue: id,
  body: v.string(),
  author: id,
  createdAt: seconds,
  updatedAt: seconds,
})
export type Comment = v.InferOutput<typeof Comment>

export const comments = new Collection({
  name: 'comment',
  schema: Comment,
  id: (comment) => [comment.id],
  ordered: { issue: (comment) => [comment.issue] },
  counted: { issue: (comment) => [comment.issue] },
})

const Release = v.object({
  id,
  repository: id,
  tag: v.string(),
  target: v.string(),
  name: v.string(),
  body: v.string(),
  draft: v.boolean(),
  prerelease: v.boolean(),
  author: id,
  createdAt: seconds,
  /** Null for a draft. */
  publishedAt: v.nullable(seconds),
})
export type Release = v.InferOutput<typeof Release>

const releaseKind = ({ repository, draft, prerelease }: Release) => [repository, draft, prerelease] as const

export const releases = new Collection({
  name: 'release',
  schema: Release,
  id: (release) => [release.id],
  unique: { tag: (release) => [release.repository, release.tag] },
  ordered: { time: (release) => [...releaseKind(release), release.publishedAt ?? release.createdAt] },
  counted: { kind: releaseKind },
})

const Attachment = v.object({
  id,
  /** Name of the file on disk, and in its URL. */
  uuid: v.string(),
  repository: id,
  on: v.picklist(['issue', 'comment', 'release']),
  /** Id of that issue, comment or release. */
  targetId: id,
  name: v.string(),
  size: bytes,
  uploader: id,
  downloads: count,
  createdAt: seconds,
})
export type Attachment = v.InferOutput<typeof Attachment>

export const attachments = new Collection({
  name: 'attachment',
  schema: Attachment,
  id: (attachment) => [attachment.id],
  unique: { uuid: (attachment) => [attachment.uuid] },
  ordered: { target: ({ on, targetId }) => [on, targetId] },
  counted: { target: ({ on, targetId }) => [on, targetId] },
})
