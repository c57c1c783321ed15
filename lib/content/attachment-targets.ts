import { canRead, permissionOn, type SignedIn, type Viewer } from '../accounts/access.ts'
import { readableRepository, repositoryById } from '../accounts/find.ts'
import type { Rights } from '../accounts/rights.ts'
import {
  type Attachment,
  type Comment,
  comments,
  type Issue,
  issues,
  type LedgerRecord,
  type Repository,
  releases,
} from '../records/schema/index.ts'
import type { RepositoryName } from '../repositories/names.ts'
import {
  type InRepository,
  requireAuthorOrWriter,
  requireWriter,
  writeAccess,
} from '../repositories/write-access.ts'
import type { ReadTransaction } from '../storage/index.ts'

/** The target of an attachment, as a URL names it: an issue by number, a comment or a release by id. */
export type AttachmentTargetName =
  | {
      /** Number of an issue. */
      issue: number
    }
  | {
      /** Id of a comment. */
      comment: number
    }
  | {
      /** Id of a release. */
      release: number
    }

interface FoundTarget {
  readonly on: Attachment['on']
  readonly id: number
  readonly repositoryId: number
  readonly author: number
  /** Drafts are visible to users with write permission only. */
  readonly isDraft: boolean
  /** Members of the ledger entries of its attachments. */
  readonly counted: Pick<LedgerRecord, 'on' | 'index'>
}
export type AttachmentTarget = InRepository<FoundTarget>

/** A target whose attachments the viewer can change: `isGuest` is the author without write permission. */
export type WritableTarget = AttachmentTarget & { readonly isGuest: boolean }

/** @returns undefined when the target does not exist or the viewer cannot see it */
export const findTarget = async (
  tx: ReadTransaction,
  viewer: Viewer,
  { owner, name }: RepositoryName,
  which: AttachmentTargetName,
): Promise<AttachmentTarget | undefined> => {
  const repository = await readableRepository(tx, viewer, owner, name, partOf(which))
  const found = repository && (await targetNamed(tx, repository, which))
  return found && ifVisible(tx, viewer, { repository, ...found })
}

/**
 * A target whose attachments the viewer can change.
 * @param frees as in {@link writeAccess}
 * @throws AllotError forbidden unless the viewer can write to the repository or is the author of the issue or
 * comment
 */
export const writableTarget = async (
  tx: ReadTransaction,
  viewer: SignedIn,
  path: RepositoryName,
  which: AttachmentTargetName,
  frees = false,
): Promise<WritableTarget | undefined> => {
  const access = await writeAccess(tx, viewer, path, partOf(which), frees)
  const found = access && (await targetNamed(tx, access.repository, which))
  if (access === undefined || found === undefined) return undefined
  if (found.isDraft && !access.permission.push) return undefined
  if (found.on === 'release') requireWriter(access)
  else requireAuthorOrWriter(viewer, access, found.author)
  return { repository: access.repository, ...found, isGuest: !access.permission.push }
}

/** The target of an attachment; undefined when it was deleted or the viewer cannot see it. */
export const targetOf = async (
  tx: ReadTransaction,
  viewer: Viewer,
  { on, targetId, repository: id }: Attachment,
): Promise<AttachmentTarget | undefined> => {
  const repository = await repositoryById(tx, id)
  const part = on === 'release' ? 'releases' : 'issues'
  if (repository === undefined || !(await canRead(tx, viewer, repository, part))) return undefined
  const found = await targetById(tx, on, targetId)
  return found && ifVisible(tx, viewer, { repository, ...found })
}

/** The target of an attachment, without a check of rights; undefined when it was deleted. */
export const anyTarget = async (
  tx: ReadTransaction,
  { on, targetId }: Pick<Attachment, 'on' | 'targetId'>,
): Promise<AttachmentTarget | undefined> => {
  const found = await targetById(tx, on, targetId)
  const repository = found && (await repositoryById(tx, found.repositoryId))
  return found && repository && { repository, ...found }
}

const partOf = (which: AttachmentTargetName): keyof Rights => ('release' in which ? 'releases' : 'issues')

const ifVisible = async (
  tx: ReadTransaction,
  viewer: Viewer,
  target: AttachmentTarget,
): Promise<AttachmentTarget | undefined> =>
  target.isDraft && !(await permissionOn(tx, viewer, target.repository, 'releases')).push ? undefined : target

const targetNamed = async (
  tx: ReadTransaction,
  { id: repository }: Repository,
  which: AttachmentTargetName,
): Promise<FoundTarget | undefined> => {
  if ('issue' in which) return onIssue(await issues.findBy(tx, 'number', [repository, which.issue]))
  const found = await ('comment' in which
    ? targetById(tx, 'comment', which.comment)
    : targetById(tx, 'release', which.release))
  return found?.repositoryId === repository ? found : undefined
}

const targetById = async (
  tx: ReadTransaction,
  on: Attachment['on'],
  id: number,
): Promise<FoundTarget | undefined> => {
  if (on === 'issue') return onIssue(await issues.get(tx, [id]))
  if (on === 'comment') {
    const comment = await comments.get(tx, [id])
    return comment && onIssue(await issues.get(tx, [comment.issue]), comment)
  }
  const release = await releases.get(tx, [id])
  return (
    release && {
      on,
      id,
      repositoryId: release.repository,
      author: release.author,
      isDraft: release.draft,
      counted: { on: 'release', index: id },
    }
  )
}

/** @param comment comment on the issue that is the target, instead of the issue itself */
const onIssue = (issue: Issue | undefined, comment?: Comment): FoundTarget | undefined => {
  if (issue === undefined) return undefined
  const { id, author } = comment ?? issue
  return {
    on: comment === undefined ? 'issue' : 'comment',
    id,
    author,
    isDraft: false,
    repositoryId: issue.repository,
    counted: { on: 'issue', index: issue.number },
  }
}
