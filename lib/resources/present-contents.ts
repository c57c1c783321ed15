import type { Viewer } from '../hosting/access.ts'
import { blankAccount } from '../hosting/accounts.ts'
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
} from '../records/schema.ts'
import type { Store } from '../records/store.ts'
import type { ReadTransaction } from '../storage/driver.ts'
import { type Attachment, attachmentResource } from './attachment.ts'
import {
  type Comment,
  commentResource,
  type Issue,
  issueResource,
  type Surroundings,
  type Whereabouts,
} from './issue.ts'
import type { Urls } from './present.ts'
import { type Release, releaseResource } from './release.ts'
import { userResource } from './user.ts'

/** Who asks, what for, and where the links of the answer lead. */
export interface Presenting extends Urls {
  readonly store: Store
  readonly viewer: Viewer
  readonly repository: Repository
}

/** Records of one repository as they are sent, with what belongs to them, read in one snapshot. */
export const presentIssues = (to: Presenting, records: readonly IssueRecord[]): Promise<Issue[]> =>
  present(to, 'issue', records, async (record, around, where, tx) => {
    const count = await comments.count(tx, 'issue', [record.id])
    return issueResource(record, { ...around, comments: count }, where)
  })

export const presentComments = (
  to: Presenting,
  issue: IssueRecord,
  records: readonly CommentRecord[],
): Promise<Comment[]> =>
  present(to, 'comment', records, async (record, around, where) =>
    commentResource(record, around, issue, where),
  )

export const presentReleases = (to: Presenting, records: readonly ReleaseRecord[]): Promise<Release[]> =>
  present(to, 'release', records, async (record, around, where) => releaseResource(record, around, where))

type One<R, T> = (record: R, around: Surroundings, where: Whereabouts, tx: ReadTransaction) => Promise<T>

const present = <R extends { id: number; author: number }, T>(
  { store, viewer, repository, baseUrl, apiUrl }: Presenting,
  on: AttachmentRecord['on'],
  records: readonly R[],
  one: One<R, T>,
): Promise<T[]> =>
  store.read(async (tx) => {
    const known = await accountsById(tx, [repository.owner, ...records.map(({ author }) => author)])
    const owner = (known.get(repository.owner) ?? ghost).name
    const where = { repository, owner, baseUrl, apiUrl }
    return Promise.all(
      records.map(async (record) => {
        const user = userResource(known.get(record.author) ?? ghost, viewer, baseUrl)
        return one(record, { user, assets: await assetsOf(tx, on, record.id, baseUrl) }, where, tx)
      }),
    )
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

const accountsById = async (
  tx: ReadTransaction,
  ids: readonly number[],
): Promise<ReadonlyMap<number, Account>> => {
  const found = await accounts.getMany(
    tx,
    [...new Set(ids)].map((id) => [id]),
  )
  return new Map(found.flatMap((account) => (account === undefined ? [] : [[account.id, account] as const])))
}

/** Whoever wrote something and was deleted since, as a Forgejo names them. */
/** In the place of who is gone. */
export const ghost: Account = { ...blankAccount('user', 'Ghost'), id: -1, createdAt: 0, updatedAt: 0 }
