/**
 * Reads the parts of a representation that are not in the record: owners, authors, permissions, counts,
 * attachments. The routes call it before they present a record. Every function here reads in one snapshot.
 */
import { canRead, type Permission, permissionOn, type Viewer, visibleAmong } from '../accounts/access.ts'
import { ghost } from '../accounts/account-records.ts'
import { repositoryById } from '../accounts/find.ts'
import { offerOf, owns } from '../accounts/rights.ts'
import {
  type Account,
  type Attachment,
  accounts,
  attachments,
  type CommitStatus,
  comments,
  type Issue,
  type PackageVersion,
  type Repository,
  type Transfer,
} from '../records/schema/index.ts'
import { countsWithPending } from '../repositories/counts.ts'
import type { ReadTransaction } from '../storage/index.ts'
import { countOpenIssues } from './issues.ts'
import { countReleases } from './releases.ts'

export interface RepositoryDetails {
  readonly repository: Repository
  readonly owner: Account
  /** Permissions of the viewer. */
  readonly permissions: Permission
  readonly openIssues: number
  /** Drafts are not counted. */
  readonly releases: number
  /** The parent of a fork, when the viewer may read it. */
  readonly parent: RepositoryDetails | null
  /** The offer to a new owner, for those who give or take it. */
  readonly offer: RepositoryOffer | null
}

/** Who offers a repository, and to whom; {@link ghost} for accounts that are hidden from the viewer. */
interface RepositoryOffer {
  readonly doer: Account
  readonly recipient: Account
}

type ContentCounts = Pick<RepositoryDetails, 'openIssues' | 'releases'> & { transfer: Transfer | undefined }

const contentCounts = async (tx: ReadTransaction, repository: Repository): Promise<ContentCounts> => {
  const { id } = repository
  const reads = [countOpenIssues(tx, id), countReleases(tx, id), offerOf(tx, repository)] as const
  const [openIssues, releases, transfer] = await Promise.all(reads)
  return { openIssues, releases, transfer }
}

/** Omits repositories whose owner was deleted after they were found: they are deleted with their owner. */
export const repositoryDetails = async (
  tx: ReadTransaction,
  viewer: Viewer,
  records: readonly Repository[],
): Promise<RepositoryDetails[]> => {
  const ownerIds = records.map(({ owner }) => owner)
  const owners = await accounts.byIds(tx, ownerIds)
  const details = records.map(async (record) => {
    const owner = owners.get(record.owner)
    if (owner === undefined) return []
    // A job makes the forks of a deleted repository independent.
    const source = record.parent === null ? undefined : await repositoryById(tx, record.parent)
    const parent = source === undefined ? null : await parentDetails(tx, viewer, source)
    const own = await ownDetails(tx, viewer, record, owner)
    const repository = source === undefined ? { ...own.repository, parent: null } : own.repository
    return [{ ...own, repository, owner, parent }]
  })
  return (await Promise.all(details)).flat()
}

const parentDetails = async (
  tx: ReadTransaction,
  viewer: Viewer,
  parent: Repository,
): Promise<RepositoryDetails | null> => {
  const owner = (await accounts.get(tx, [parent.owner]))!
  if (!(await canRead(tx, viewer, parent, undefined, owner))) return null
  return { ...(await ownDetails(tx, viewer, parent, owner)), owner, parent: null }
}

/** What is read of a repository apart from its owner and its parent. */
const ownDetails = async (
  tx: ReadTransaction,
  viewer: Viewer,
  record: Repository,
  owner: Account,
): Promise<Omit<RepositoryDetails, 'owner' | 'parent'>> => {
  const permissions = await permissionOn(tx, viewer, record, 'code', owner)
  const repository = await countsWithPending(tx, record)
  // Last, so that on a remote store the counts of all repositories are fetched in one round trip.
  const { transfer, ...counts } = await contentCounts(tx, record)
  return { repository, permissions, offer: await offerDetails(tx, viewer, permissions, transfer), ...counts }
}

/** An offer is known to those who administer the repository, and to those who may take it. */
const offerDetails = async (
  tx: ReadTransaction,
  viewer: Viewer,
  { admin }: Permission,
  transfer: Transfer | undefined,
): Promise<RepositoryOffer | null> => {
  if (transfer === undefined || viewer === null) return null
  if (!admin && !(await owns(tx, viewer.id, transfer.recipient))) return null
  // A job removes the offers to deleted accounts.
  if ((await accounts.get(tx, [transfer.recipient])) === undefined) return null
  const shown = await visibleAccounts(tx, viewer, [transfer.doer, transfer.recipient])
  return { doer: shown.get(transfer.doer) ?? ghost, recipient: shown.get(transfer.recipient) ?? ghost }
}

/** A person as the viewer sees it: {@link ghost} when it was deleted or is hidden. */
export const personFor = async (tx: ReadTransaction, viewer: Viewer, id: number): Promise<Account> =>
  (await visibleAccounts(tx, viewer, [id])).get(id) ?? ghost

export interface ContentDetails<T> {
  readonly record: T
  readonly repository: Repository
  /** Owner of the repository, known to everyone who can read it; {@link ghost} once deleted. */
  readonly owner: Account
  /** {@link ghost} when the author was deleted or is hidden from the viewer. */
  readonly author: Account
  readonly attachments: readonly Attachment[]
}

/** Details of issues, comments or releases of one repository. */
export const contentDetails = async <T extends { id: number; author: number }>(
  tx: ReadTransaction,
  viewer: Viewer,
  repository: Repository,
  kind: Attachment['on'],
  records: readonly T[],
): Promise<ContentDetails<T>[]> => {
  const authors = records.map(({ author }) => author)
  const [shown, owner = ghost, attached] = await Promise.all([
    visibleAccounts(tx, viewer, authors),
    accounts.get(tx, [repository.owner]),
    Promise.all(records.map(({ id }) => attachmentsOf(tx, kind, id))),
  ])
  return records.map((record, index) => ({
    record,
    repository,
    owner,
    author: shown.get(record.author) ?? ghost,
    attachments: attached[index]!,
  }))
}

export interface IssueDetails extends ContentDetails<Issue> {
  readonly comments: number
}

export const issueDetails = async (
  tx: ReadTransaction,
  viewer: Viewer,
  repository: Repository,
  records: readonly Issue[],
): Promise<IssueDetails[]> => {
  const [details, counts] = await Promise.all([
    contentDetails(tx, viewer, repository, 'issue', records),
    Promise.all(records.map(({ id }) => comments.count(tx, 'issue', [id]))),
  ])
  return details.map((issue, index) => ({ ...issue, comments: counts[index]! }))
}

export interface StatusDetails {
  readonly status: CommitStatus
  /** {@link ghost} when the creator was deleted or is hidden from the viewer. */
  readonly creator: Account
}

export const statusDetails = async (
  tx: ReadTransaction,
  viewer: Viewer,
  statuses: readonly CommitStatus[],
): Promise<StatusDetails[]> => {
  const creators = statuses.map(({ creator }) => creator)
  const shown = await visibleAccounts(tx, viewer, creators)
  return statuses.map((status) => ({ status, creator: shown.get(status.creator) ?? ghost }))
}

export interface PackageDetails {
  readonly version: PackageVersion
  readonly owner: Account
  /** {@link ghost} when the creator was deleted or is hidden from the viewer. */
  readonly creator: Account
}

export const packageDetails = async (
  tx: ReadTransaction,
  viewer: Viewer,
  owner: Account,
  versions: readonly PackageVersion[],
): Promise<PackageDetails[]> => {
  const creators = versions.map(({ creator }) => creator)
  const shown = await visibleAccounts(tx, viewer, creators)
  return versions.map((version) => ({ version, owner, creator: shown.get(version.creator) ?? ghost }))
}

/**
 * Invariant: authors and creators are looked up here only, so deleted and hidden users cannot be told apart.
 */
const visibleAccounts = async (
  tx: ReadTransaction,
  viewer: Viewer,
  ids: readonly number[],
): Promise<ReadonlyMap<number, Account>> => {
  const visible = await visibleAmong(tx, viewer, ids)
  return new Map(visible.map((account) => [account.id, account]))
}

const attachmentsOf = async (
  tx: ReadTransaction,
  kind: Attachment['on'],
  id: number,
): Promise<Attachment[]> =>
  (await attachments.count(tx, 'target', [kind, id])) === 0
    ? []
    : attachments.list(tx, 'target', { prefix: [kind, id] })
