import * as v from 'valibot'
import type { Attachment } from '../../../lib/records/schema/index.ts'
import { withdraw } from '../copies.ts'
import { apiPath, ifAvailable, isDeleted, type Migration, reportErrors, succeeds } from '../migration.ts'
import { textOf } from '../names/index.ts'
import type { Report } from '../report.ts'
import { type CopiedRepository, repositoryPath } from '../repositories.ts'
import { type SourceAttachment, SourceComment, SourceIssue } from '../shapes.ts'
import type { Source } from '../source.ts'
import { type Contents, giveContent, openContents, valuesOf } from './contents.ts'

const NOT_SHOWN = 'issues, which the source has turned off or does not show'
const LINKS = 'attachments that are links to other servers'
const BEYOND_LIMIT = 'attachments beyond those that an issue, a comment or a release can have'

const ANYTHING = v.array(v.unknown())
const NEWEST = v.array(v.object({ number: v.number() }))

/** Issues of one repository with what belongs to them. */
interface IssueContents {
  readonly issues: Contents
  readonly comments: Contents
  readonly attachments: Contents
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
    const attachment = `${scope}/issues`
    const contents: IssueContents = {
      issues: await openContents(migration, 'issue', scope, { comment: scope, attachment }),
      comments: await openContents(migration, 'comment', scope, { attachment }),
      attachments: await openContents(migration, 'attachment', attachment),
    }
    const { issues, comments, attachments } = contents
    let isComplete = true
    for await (const issue of source.items(SourceIssue, `${path}?state=all&type=issues`))
      if (!issue.pull_request && !(await copyIssue(migration, copied, contents, issue))) isComplete = false
    await reservePullRequests(migration, copied, path)
    if (!isComplete) return
    // Parts first: what was changed here is named, and what was created here keeps what it belongs to.
    await withdraw(migration, attachments.things, attachments.seen)
    await withdraw(migration, comments.things, comments.seen, (id) =>
      isDeleted(migration, `${path}/comments/${id}`),
    )
    await withdraw(migration, issues.things, issues.seen, (number) =>
      isDeleted(migration, `${path}/${number}`),
    )
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
    const values = { number, title, body, state, createdAt, updatedAt, closedAt }
    const record = { ...values, repository: repository.id, author: author.id }
    const id = await giveContent(migration, contents.issues, {
      ...{ name: String(number), label, values: valuesOf('issue', values, author) },
      create: (origin) => content.saveIssue(record, origin),
      edit: (copy, _, origin) => content.saveIssue(record, origin, copy.id),
    })
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
  const values = { body: comment.body, createdAt, updatedAt: comment.updated_at ?? createdAt }
  const record = { ...values, issue, author: author.id }
  const id = await giveContent(migration, comments, {
    ...{ name: String(comment.id), label, values: valuesOf('comment', values, author) },
    create: (origin) => content.saveComment(record, origin),
    edit: (copy, _, origin) => content.saveComment(record, origin, copy.id),
  })
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
  migration: Migration,
  attachments: Contents,
  { on, targetId, uploader, label, assets }: AttachmentsOf,
): Promise<void> => {
  const { source, content, report, startedAt } = migration
  for (const { uuid, name, size, download_count: downloads, created_at } of uploaded(report, label, assets)) {
    const full = `${name} (${label})`
    await giveContent(migration, attachments, {
      ...{ name: uuid, label: full, values: { name } },
      async create(origin) {
        if (await content.isFull(on, targetId)) {
          report.note('notCopied', BEYOND_LIMIT, full)
          return false
        }
        const file = await source.download(apiPath('attachments', uuid))
        const times = { downloads, createdAt: created_at ?? startedAt }
        return content.addAttachment({ on, targetId, uploader, name, size, ...times }, file, origin)
      },
      edit: ({ id }, _, origin) => content.renameAttachment(id!, name, origin),
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
