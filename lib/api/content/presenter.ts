import { canSee, type Viewer } from '../../accounts/access.ts'
import { blankAccount } from '../../accounts/accounts.ts'
import {
  type Account,
  type Attachment as AttachmentRecord,
  accounts,
  attachments,
  type Comment as CommentRecord,
  comments,
  type Issue as IssueRecord,
  type Release as ReleaseRecord,
  type Repository,
} from '../../records/schema/index.ts'
import type { Store } from '../../records/store.ts'
import type { ReadTransaction } from '../../storage/driver.ts'
import type { Urls } from '../repository-presenter.ts'
import { userResource } from '../user-schema.ts'
import { type Attachment, attachmentResource } from './attachment-schema.ts'
import {
  type Comment,
  commentResource,
  type Issue,
  type IssueLinks,
  type IssueLocation,
  issueResource,
} from './issue-schema.ts'
import { type Release, releaseResource } from './release-schema.ts'

/** Who asks, what for, and where the links of the answer lead. */
export interface Presenting extends Urls {
  readonly store: Store
  readonly viewer: Viewer
  readonly repository: Repository
}

/** Records of one repository as they are sent, with what belongs to them, read in one snapshot. */
export const presentIssues = (to: Presenting, records: readonly IssueRecord[]): Promise<Issue[]> =>
  present(to, 'issue', records, async (record, around, where, tx) => {
    const [count, rest] = await Promise.all([comments.count(tx, 'issue', [record.id]), around])
    return issueResource(record, { ...rest, comments: count }, where)
  })

export const presentComments = (
  to: Presenting,
  issue: IssueRecord,
  records: readonly CommentRecord[],
): Promise<Comment[]> =>
  present(to, 'comment', records, async (record, around, where) =>
    commentResource(record, await around, issue, where),
  )

export const presentReleases = (to: Presenting, records: readonly ReleaseRecord[]): Promise<Release[]> =>
  present(to, 'release', records, async (record, around, where) =>
    releaseResource(record, await around, where),
  )

/** @param around while it is read, other things can be: far away, they travel together */
type One<R, T> = (
  record: R,
  around: Promise<IssueLinks>,
  where: IssueLocation,
  tx: ReadTransaction,
) => Promise<T>

const present = <R extends { id: number; author: number }, T>(
  { store, viewer, repository, baseUrl, apiUrl }: Presenting,
  on: AttachmentRecord['on'],
  records: readonly R[],
  one: One<R, T>,
): Promise<T[]> =>
  store.read(async (tx) => {
    const ids = [repository.owner, ...records.map(({ author }) => author)]
    const known = await shownAccounts(tx, viewer, ids)
    const owner = (known.get(repository.owner) ?? ghost).name
    const where = { repository, owner, baseUrl, apiUrl }
    const around = async ({ id, author }: R) => ({
      user: userResource(known.get(author) ?? ghost, viewer, baseUrl),
      assets: await assetsOf(tx, on, id, baseUrl),
    })
    return Promise.all(records.map((record) => one(record, around(record), where, tx)))
  })

const assetsOf = async (
  tx: ReadTransaction,
  on: AttachmentRecord['on'],
  holder: number,
  baseUrl: string,
): Promise<Attachment[]> => {
  if ((await attachments.count(tx, 'holder', [on, holder])) === 0) return []
  const found = await attachments.list(tx, 'holder', { prefix: [on, holder] })
  return found.map((record) => attachmentResource(record, baseUrl))
}

/**
 * The accounts by their ids, as far as the viewer may see them. Invariant: an author, an uploader or a creator is looked up
 * here and nowhere else, so {@link ghost} stands for deleted and for hidden users alike.
 */
export const shownAccounts = async (
  tx: ReadTransaction,
  viewer: Viewer,
  ids: readonly number[],
): Promise<ReadonlyMap<number, Account>> => {
  const found = await accounts.getMany(
    tx,
    [...new Set(ids)].map((id) => [id]),
  )
  const shown = new Map<number, Account>()
  for (const account of found)
    if (account !== undefined && (await canSee(tx, viewer, account))) shown.set(account.id, account)
  return shown
}

/** Stands for a user who was deleted or whom the viewer may not see, under the name that Forgejo uses. */
export const ghost: Account = { ...blankAccount('user', 'Ghost'), id: -1, createdAt: 0, updatedAt: 0 }
