import * as v from 'valibot'
import type { Comment as CommentRecord, Issue as Record, Repository } from '../../records/schema/index.ts'
import { timestamp } from '../time.ts'
import { User } from '../user-schema.ts'
import { Attachment } from './attachment-schema.ts'

export const State = v.picklist(['open', 'closed'])

/** What there is no such thing of here is as a Forgejo has it where an issue has none. */
export const Issue = v.object({
  id: v.number(),
  url: v.string(),
  html_url: v.string(),
  number: v.number(),
  user: User,
  original_author: v.string(),
  original_author_id: v.number(),
  title: v.string(),
  body: v.string(),
  ref: v.string(),
  assets: v.array(Attachment),
  labels: v.array(v.never()),
  milestone: v.null(),
  assignee: v.null(),
  assignees: v.array(v.never()),
  state: State,
  is_locked: v.boolean(),
  comments: v.number(),
  created_at: v.string(),
  updated_at: v.string(),
  closed_at: v.nullable(v.string()),
  due_date: v.null(),
  pull_request: v.null(),
  repository: v.object({ id: v.number(), name: v.string(), owner: v.string(), full_name: v.string() }),
  pin_order: v.number(),
})
export type Issue = v.InferOutput<typeof Issue>

export const Comment = v.object({
  id: v.number(),
  html_url: v.string(),
  pull_request_url: v.string(),
  issue_url: v.string(),
  user: User,
  original_author: v.string(),
  original_author_id: v.number(),
  body: v.string(),
  assets: v.array(Attachment),
  created_at: v.string(),
  updated_at: v.string(),
})
export type Comment = v.InferOutput<typeof Comment>

/** Where the repository of a thing is. */
export interface IssueLocation {
  readonly repository: Repository
  /** The name of its owner. */
  readonly owner: string
  readonly baseUrl: string
  readonly apiUrl: string
}

/** What a thing is sent with, besides its record. */
export interface IssueLinks {
  readonly user: User
  readonly assets: Attachment[]
}

/** The page and the API path of a repository. */
export const urlsOf = ({ repository, owner, baseUrl, apiUrl }: IssueLocation) => {
  const path = `${owner}/${repository.name}`
  return { path, page: `${baseUrl}/${path}`, api: `${apiUrl}/repos/${path}` }
}

export const issueResource = (
  record: Record,
  { user, assets, comments }: IssueLinks & { comments: number },
  where: IssueLocation,
): Issue => {
  const { path, page, api } = urlsOf(where)
  return {
    id: record.id,
    url: `${api}/issues/${record.number}`,
    html_url: `${page}/issues/${record.number}`,
    number: record.number,
    user,
    original_author: '',
    original_author_id: 0,
    title: record.title,
    body: record.body,
    ref: '',
    assets,
    labels: [],
    milestone: null,
    assignee: null,
    assignees: [],
    state: record.state,
    is_locked: false,
    comments,
    created_at: timestamp(record.createdAt),
    updated_at: timestamp(record.updatedAt),
    closed_at: record.closedAt === null ? null : timestamp(record.closedAt),
    due_date: null,
    pull_request: null,
    repository: {
      id: where.repository.id,
      name: where.repository.name,
      owner: where.owner,
      full_name: path,
    },
    pin_order: 0,
  }
}

export const commentResource = (
  record: CommentRecord,
  { user, assets }: IssueLinks,
  issue: Pick<Record, 'number'>,
  where: IssueLocation,
): Comment => {
  const page = `${urlsOf(where).page}/issues/${issue.number}`
  return {
    id: record.id,
    html_url: `${page}#issuecomment-${record.id}`,
    pull_request_url: '',
    issue_url: page,
    user,
    original_author: '',
    original_author_id: 0,
    body: record.body,
    assets,
    created_at: timestamp(record.createdAt),
    updated_at: timestamp(record.updatedAt),
  }
}
