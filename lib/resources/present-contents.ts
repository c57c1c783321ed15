import type { Viewer } from '../hosting/access.ts'
import { blankAccount } from '../hosting/accounts.ts'
import {
  type Account,
  accounts,
  type Comment as CommentRecord,
  comments,
  type Issue as IssueRecord,
  type Release as ReleaseRecord,
  type Repository,
} from '../records/schema.ts'
import type { Store } from '../records/store.ts'
import type { ReadTransaction } from '../storage/driver.ts'
import { type Comment, commentResource, type Issue, issueResource, type Whereabouts } from './issue.ts'
import type { Urls } from './present.ts'
import { type Release, releaseResource } from './release.ts'
import { type User, userResource } from './user.ts'

/** Who asks, what for, and where the links of the answer lead. */
export interface Presenting extends Urls {
  readonly store: Store
  readonly viewer: Viewer
  readonly repository: Repository
}

/** Records of one repository as they are sent, with what belongs to them, read in one snapshot. */
export const presentIssues = (to: Presenting, records: readonly IssueRecord[]): Promise<Issue[]> =>
  present(to, records, async (tx, record, user, where) => {
    const count = await comments.count(tx, 'issue', [record.id])
    return issueResource(record, { user, assets: [], comments: count }, where)
  })

export const presentComments = (
  to: Presenting,
  issue: IssueRecord,
  records: readonly CommentRecord[],
): Promise<Comment[]> =>
  present(to, records, async (_tx, record, user, where) =>
    commentResource(record, { user, assets: [] }, issue, where),
  )

export const presentReleases = (to: Presenting, records: readonly ReleaseRecord[]): Promise<Release[]> =>
  present(to, records, async (_tx, record, user, where) =>
    releaseResource(record, { user, assets: [] }, where),
  )

const present = <R extends { author: number }, T>(
  { store, viewer, repository, baseUrl, apiUrl }: Presenting,
  records: readonly R[],
  one: (tx: ReadTransaction, record: R, user: User, where: Whereabouts) => Promise<T>,
): Promise<T[]> =>
  store.read(async (tx) => {
    const known = await accountsById(tx, [repository.owner, ...records.map(({ author }) => author)])
    const owner = (known.get(repository.owner) ?? ghost).name
    const where = { repository, owner, baseUrl, apiUrl }
    return Promise.all(
      records.map((record) =>
        one(tx, record, userResource(known.get(record.author) ?? ghost, viewer, baseUrl), where),
      ),
    )
  })

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
