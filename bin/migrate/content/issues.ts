import * as v from 'valibot'
import { ifAvailable, type Migration, reportErrors, succeeds } from '../migration.ts'
import { type CopiedRepository, repositoryPath } from '../repositories.ts'
import { SourceComment, SourceIssue } from '../shapes.ts'
import { giveWritten, openContents, type RepositoryContents, withdrawContents } from './contents.ts'

const NOT_SHOWN = 'issues, which the source has turned off or does not show'

const ANYTHING = v.array(v.unknown())
const NEWEST = v.array(v.object({ number: v.number() }))

/** Copies the issues of a repository with their comments and attachments. */
export const copyIssues = (migration: Migration, copied: CopiedRepository): Promise<void> =>
  reportErrors(migration.report, `the issues of ${copied.given.full_name}`, async () => {
    const { source, report } = migration
    const path = `${repositoryPath(copied.given)}/issues`
    if ((await ifAvailable(source.get(ANYTHING, `${path}?state=all&type=issues&limit=1`))) === undefined) {
      if (!source.isAllot) report.note('notCopied', NOT_SHOWN, copied.given.full_name)
      return
    }
    const contents = openContents(migration, copied, 'issue')
    let isComplete = true
    for await (const issue of source.items(SourceIssue, `${path}?state=all&type=issues`))
      if (!issue.pull_request && !(await copyIssue(migration, copied, contents, issue))) isComplete = false
    await reservePullRequests(migration, copied, path)
    if (isComplete) await withdrawContents(migration, contents, path)
  })

/** @returns whether everything was copied */
const copyIssue = (
  migration: Migration,
  { repository, given }: CopiedRepository,
  contents: RepositoryContents,
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
    const { assets } = issue
    const written = { kind: 'issue', name: String(number), label, author, values, assets } as const
    const id = await giveWritten(migration, contents, written, (origin, copy) =>
      content.saveIssue(record, origin, copy),
    )
    if (id === undefined) return
    if (issue.comments === 0) return
    const path = `${repositoryPath(given)}/issues/${number}/comments`
    for (const comment of await source.list(SourceComment, path))
      await copyComment(migration, contents, id, label, comment)
  })
}

const copyComment = async (
  migration: Migration,
  contents: RepositoryContents,
  issue: number,
  label: string,
  { id, body, user, assets, ...dates }: SourceComment,
): Promise<void> => {
  const { content, authors, startedAt } = migration
  const author = await authors.find(user)
  const createdAt = dates.created_at ?? startedAt
  const values = { body, createdAt, updatedAt: dates.updated_at ?? createdAt }
  const record = { ...values, issue, author: author.id }
  const written = { kind: 'comment', name: String(id), label, author, values, assets } as const
  await giveWritten(migration, contents, written, (origin, copy) => content.saveComment(record, origin, copy))
}

/**
 * Pull requests share the numbers of issues, and are not copied. Their numbers are not given to other issues.
 */
const reservePullRequests = async (
  { source, report, content, comparison }: Migration,
  { repository, given }: CopiedRepository,
  path: string,
): Promise<void> => {
  if (comparison !== undefined) return
  const query = `${path}?state=all&type=pulls`
  const count = source.isAllot ? 0 : await ifAvailable(source.count(query))
  if (!count) return
  report.note('notCopied', 'pull requests', `${given.full_name} (${count})`)
  const [newest] = await source.get(NEWEST, `${query}&limit=1`)
  if (newest !== undefined) await content.reserveNumbers(repository.id, newest.number)
}
