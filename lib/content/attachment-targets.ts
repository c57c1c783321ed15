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
import type { ReadTransaction } from '../storage/driver.ts'
import { commentIn } from './comments.ts'
import { issueIn } from './issues.ts'
import { releaseIn } from './releases.ts'

/** What attachments hang on, as a path names it: an issue by its number, a comment or a release by its id. */
export type AttachmentTargetName = { issue: number } | { comment: number } | { release: number }

/** The same as it was found. */
export interface FoundTarget {
  readonly on: Attachment['on']
  readonly id: number
  readonly author: number
  /** For those alone who may write to the repository. */
  readonly isDraft: boolean
  /** What the ledger says of it. */
  readonly counted: Pick<LedgerEntry, 'on' | 'index'>
}
export type AttachmentTarget = InRepository<FoundTarget>

/** Undefined for what is not there, and for whoever may not know of it. */
export const findTarget = async (
  tx: ReadTransaction,
  viewer: Viewer,
  { owner, name }: RepositoryName,
  which: AttachmentTargetName,
): Promise<AttachmentTarget | undefined> => {
  const repository = await readableRepository(tx, viewer, owner, name, readForOf(which))
  const found = repository && (await foundIn(tx, repository, which))
  return repository && found && shownTo(tx, viewer, { repository, ...found })
}

/**
 * Where the viewer may attach something, or take it away.
 * @throws AllotError forbidden: to an issue or a comment that may its author, and whoever may write to the repository
 */
export const writableTarget = async (
  tx: ReadTransaction,
  viewer: SignedIn,
  at: RepositoryName,
  which: AttachmentTargetName,
): Promise<AttachmentTarget | undefined> => {
  const place = await writeAccess(tx, viewer, at, readForOf(which))
  const found = place && (await foundIn(tx, place.repository, which))
  if (place === undefined || found === undefined) return undefined
  const target = await shownTo(tx, viewer, { repository: place.repository, ...found })
  if (target === undefined) return undefined
  if (found.on === 'release') requireWriter(place)
  else requireAuthorOrWriter(viewer, place, found.author)
  return target
}

/** What an attachment hangs on, for whoever may know of it; undefined when that is gone. */
export const targetOf = async (
  tx: ReadTransaction,
  viewer: Viewer,
  attachment: Attachment,
): Promise<AttachmentTarget | undefined> => {
  const repository = await repositoryById(tx, attachment.repository)
  const readFor = attachment.on === 'release' ? 'repository' : 'issue'
  if (repository === undefined || !(await canRead(tx, viewer, repository, readFor))) return undefined
  const found = await holding(tx, attachment)
  return found && shownTo(tx, viewer, { repository, ...found })
}

const readForOf = (which: AttachmentTargetName): ReadFor => ('release' in which ? 'repository' : 'issue')

const shownTo = async (
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

const holding = async (tx: ReadTransaction, { on, holder }: Attachment): Promise<FoundTarget | undefined> => {
  if (on === 'issue') return onIssue(await issues.get(tx, [holder]))
  if (on === 'release') return onRelease(await releases.get(tx, [holder]))
  const comment = await comments.get(tx, [holder])
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
