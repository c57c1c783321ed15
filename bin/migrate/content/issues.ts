import * as v from 'valibot'
import type { Attachment } from '../../../lib/records/schema/index.ts'
import { apiPath, ifAvailable, isDeleted, type Migration, reportErrors, succeeds } from '../migration.ts'
import { textOf } from '../names/index.ts'
import type { Report } from '../report.ts'
import { type CopiedRepository, repositoryPath } from '../repositories.ts'
import { type SourceAttachment, SourceComment, SourceIssue } from '../shapes.ts'
import type { Source } from '../source.ts'
import { FollowedContent } from './copied-content.ts'

const NOT_SHOWN = 'issues, which the source has turned off or does not show'
const LINKS = 'attachments that are links to other servers'
const BEYOND_LIMIT = 'attachments beyond those that an issue, a comment or a release can have'

const ANYTHING = v.array(v.unknown())
const NEWEST = v.array(v.object({ number: v.number() }))

/** Issues of one repository with what belongs to them. */
interface IssueContents {
  readonly issues: FollowedContent
  readonly comments: FollowedContent
  readonly attachments: FollowedContent
}

/** Copies the issues of a repository with their comments and attachments. */
export const copyIssues = (migration: Migration, copied: CopiedRepository): Promise<void> =>
  reportErrors(migration.report, `the issues of ${copied.given.full_name}`, async () => {
    const { source, report } = migration
    const scope = textOf(copied.key)
    const path = `${repositoryPath(copied.given)}/issues`
    if (!(await showsIssues(source, path))) {
      if (!source.isAllot) report.note('notCopied', NOT_SHOWN, copied.given.full_name)
      return
    }
    const attachments = await FollowedContent.open(migration, 'attachment', `${scope}/issues`)
    const comments = await FollowedContent.open(migration, 'comment', scope, [attachments])
    const issues = await FollowedContent.open(migration, 'issue', scope, [comments, attachments])
    const contents: IssueContents = { issues, comments, attachments }
    let isComplete = true
    for await (const issue of source.items(SourceIssue, `${path}?state=all&type=issues`))
      if (!issue.pull_request && !(await copyIssue(migration, copied, contents, issue))) isComplete = false
    await reservePullRequests(migration, copied, path)
    if (!isComplete) return
    await issues.removeOthers((number) => isDeleted(migration, `${path}/${number}`))
    await comments.removeOthers((id) => isDeleted(migration, `${path}/comments/${id}`))
    await attachments.removeOthers()
  })

/**
 * Whether the source shows the issues of a repository, which may be turned off.
 * @param path of its issues
 */
export const showsIssues = async (source: Source, path: string): Promise<boolean> =>
  (await ifAvailable(source.get(ANYTHING, `${path}?state=all&type=issues&limit=1`))) !== undefined

/** @returns whether everything was copied */
const copyIssue = (
  migration: Migration,
  { repository, given }: CopiedRepository,
  contents: IssueContents,
  issue: SourceIssue,
): Promise<boolean> => {
  const { source, content, authors, report, startedAt } = migration
  const label = `${given.full_name}#${issue.number}`
  return succeeds(report, `the issue ${label}`, async () => {
    const author = await authors.find(issue.user)
    const { number, title, body, state } = issue
    const createdAt = issue.created_at ?? startedAt
    const updatedAt = issue.updated_at ?? createdAt
    const closedAt = state === 'closed' ? (issue.closed_at ?? updatedAt) : null
    const values = { number, title, body, state, author: author.name, createdAt, updatedAt, closedAt }
    const record = { ...values, repository: repository.id, author: author.id }
    const id = await contents.issues.follow({ name: String(number), label, values }, (origin, kept, before) =>
      content.saveIssue({ ...record, ...kept }, origin, before),
    )
    if (id === undefined) return
    await copyAttachments(migration, contents.attachments, {
      on: 'issue',
      targetId: id,
      uploader: author.id,
      label,
      assets: issue.assets,
    })
    if (issue.comments === 0) return
    const path = `${repositoryPath(given)}/issues/${number}/comments`
    for (const comment of await source.list(SourceComment, path))
      await copyComment(migration, contents, id, label, comment)
  })
}

const copyComment = async (
  migration: Migration,
  { comments, attachments }: IssueContents,
  issue: number,
  label: string,
  comment: SourceComment,
): Promise<void> => {
  const { content, authors, startedAt } = migration
  const author = await authors.find(comment.user)
  const createdAt = comment.created_at ?? startedAt
  const values = {
    body: comment.body,
    author: author.name,
    createdAt,
    updatedAt: comment.updated_at ?? createdAt,
  }
  const record = { ...values, issue, author: author.id }
  const id = await comments.follow({ name: String(comment.id), label, values }, (origin, kept, before) =>
    content.saveComment({ ...record, ...kept }, origin, before),
  )
  if (id === undefined) return
  const target = { on: 'comment', targetId: id, uploader: author.id, label, assets: comment.assets } as const
  await copyAttachments(migration, attachments, target)
}

/** The target of attachments here, and the attachments of the source. */
interface AttachmentsOf extends Pick<Attachment, 'on' | 'targetId' | 'uploader'> {
  /** The name of the target in the report. */
  readonly label: string
  readonly assets: readonly SourceAttachment[]
}

/**
 * The attachments that have a file; the others are noted.
 * @param label what they belong to
 */
export const uploaded = (
  report: Pick<Report, 'note'>,
  label: string,
  assets: readonly SourceAttachment[],
): SourceAttachment[] =>
  assets.filter(({ uuid, type, name }) => {
    const isFile = uuid !== '' && type !== 'external'
    if (!isFile) report.note('notCopied', LINKS, `${name} (${label})`)
    return isFile
  })

/** The API does not name the uploader of a file, so it is the author of the issue, comment or release. */
export const copyAttachments = async (
  { source, content, report, startedAt }: Migration,
  followed: FollowedContent,
  { on, targetId, uploader, label, assets }: AttachmentsOf,
): Promise<void> => {
  for (const { uuid, name, size, download_count: downloads, created_at } of uploaded(report, label, assets)) {
    const values = { name, size }
    const given = { name: uuid, label: `${name} (${label})`, values }
    await followed.follow(given, async (origin, kept, before) => {
      if (before !== undefined) return content.renameAttachment(before, { name, ...kept }.name, origin)
      if (await content.isFull(on, targetId)) return void report.note('notCopied', BEYOND_LIMIT, given.label)
      const file = await source.download(apiPath('attachments', uuid))
      const times = { downloads, createdAt: created_at ?? startedAt }
      return content.addAttachment({ on, targetId, uploader, name, size, ...times }, file, origin)
    })
  }
}

/**
 * Pull requests share the numbers of issues, and are not copied. Their numbers are not given to other issues.
 */
const reservePullRequests = async (
  { source, report, content }: Migration,
  { repository, given }: CopiedRepository,
  path: string,
): Promise<void> => {
  const query = `${path}?state=all&type=pulls`
  const count = source.isAllot ? 0 : await source.count(query)
  if (count === 0) return
  report.note('notCopied', 'pull requests', `${given.full_name} (${count})`)
  const [newest] = await source.get(NEWEST, `${query}&limit=1`)
  if (newest !== undefined) await content.reserveNumbers(repository.id, newest.number)
}
