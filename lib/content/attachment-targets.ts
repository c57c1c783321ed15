import {
  canRead,
  permissionOn,
  type ReadFor,
  readableRepository,
  repositoryById,
  type Viewer,
} from '../accounts/access.ts'
import type { Attachment, LedgerEntry, Repository } from '../records/schema/index.ts'
import { comments, issues, releases } from '../records/schema/index.ts'
import type { RepositoryName } from '../repositories/relations.ts'
import {
  type InRepository,
  requireAuthorOrWriter,
  requireWriter,
  type SignedIn,
  writeAccess,
} from '../repositories/write-access.ts'
import type { ReadTransaction } from '../storage/index.ts'
import { commentIn } from './comments.ts'
import { issueIn } from './issues.ts'
import { releaseIn } from './releases.ts'

/** What an attachment belongs to, as a URL names it: an issue by number, a comment or a release by id. */
export type AttachmentTargetName = { issue: number } | { comment: number } | { release: number }

/** What an attachment belongs to, as it was read. */
interface FoundTarget {
  readonly on: Attachment['on']
  readonly id: number
  readonly author: number
  /** Drafts are visible to users with write permission only. */
  readonly isDraft: boolean
  /** Members of the ledger entries of its attachments. */
  readonly counted: Pick<LedgerEntry, 'on' | 'index'>
}
export type AttachmentTarget = InRepository<FoundTarget>

/** @returns undefined when the target does not exist or the viewer cannot see it */
export const findTarget = async (
  tx: ReadTransaction,
  viewer: Viewer,
  { owner, name }: RepositoryName,
  which: AttachmentTargetName,
): Promise<AttachmentTarget | undefined> => {
  const repository = await readableRepository(tx, viewer, owner, name, readForOf(which))
  const found = repository && (await foundIn(tx, repository, which))
  return repository && found && ifVisible(tx, viewer, { repository, ...found })
}

/**
 * A target whose attachments the viewer can change.
 * @throws AllotError forbidden unless the viewer can write to the repository or is the author of the issue or comment
 */
export const writableTarget = async (
  tx: ReadTransaction,
  viewer: SignedIn,
  path: RepositoryName,
  which: AttachmentTargetName,
): Promise<AttachmentTarget | undefined> => {
  const access = await writeAccess(tx, viewer, path, readForOf(which))
  const found = access && (await foundIn(tx, access.repository, which))
  if (access === undefined || found === undefined) return undefined
  const target = await ifVisible(tx, viewer, { repository: access.repository, ...found })
  if (target === undefined) return undefined
  if (found.on === 'release') requireWriter(access)
  else requireAuthorOrWriter(viewer, access, found.author)
  return target
}

/** The target of an attachment; undefined when it was deleted or the viewer cannot see it. */
export const targetOf = async (
  tx: ReadTransaction,
  viewer: Viewer,
  attachment: Attachment,
): Promise<AttachmentTarget | undefined> => {
  const repository = await repositoryById(tx, attachment.repository)
  const readFor = attachment.on === 'release' ? 'repository' : 'issue'
  if (repository === undefined || !(await canRead(tx, viewer, repository, readFor))) return undefined
  const found = await readTarget(tx, attachment)
  return found && ifVisible(tx, viewer, { repository, ...found })
}

const readForOf = (which: AttachmentTargetName): ReadFor => ('release' in which ? 'repository' : 'issue')

const ifVisible = async (
  tx: ReadTransaction,
  viewer: Viewer,
  target: AttachmentTarget,
): Promise<AttachmentTarget | undefined> =>
  target.isDraft && !(await permissionOn(tx, viewer, target.repository)).push ? undefined : target

const foundIn = async (
  tx: ReadTransaction,
  repository: Repository,
  which: AttachmentTargetName,
): Promise<FoundTarget | undefined> => {
  if ('issue' in which) return onIssue(await issueIn(tx, repository, which.issue))
  if ('comment' in which) return onComment(await commentIn(tx, repository.id, which.comment))
  return onRelease(await releaseIn(tx, repository, { id: which.release }))
}

const readTarget = async (
  tx: ReadTransaction,
  { on, targetId }: Attachment,
): Promise<FoundTarget | undefined> => {
  if (on === 'issue') return onIssue(await issues.get(tx, [targetId]))
  if (on === 'release') return onRelease(await releases.get(tx, [targetId]))
  const comment = await comments.get(tx, [targetId])
  const issue = comment && (await issues.get(tx, [comment.issue]))
  return onComment(comment && issue && { comment, issue })
}

type Numbered = { id: number; author: number; number: number }

const onIssue = (issue: Numbered | undefined): FoundTarget | undefined =>
  issue && {
    ...{ on: 'issue', id: issue.id, author: issue.author, isDraft: false },
    counted: { on: 'issue', index: issue.number },
  }

const onComment = (
  found: { comment: { id: number; author: number }; issue: Numbered } | undefined,
): FoundTarget | undefined =>
  found && {
    ...{ on: 'comment', id: found.comment.id, author: found.comment.author, isDraft: false },
    counted: { on: 'issue', index: found.issue.number },
  }

const onRelease = (
  release: { id: number; author: number; draft: boolean } | undefined,
): FoundTarget | undefined =>
  release && {
    ...{ on: 'release', id: release.id, author: release.author, isDraft: release.draft },
    counted: { on: 'release', index: release.id },
  }
