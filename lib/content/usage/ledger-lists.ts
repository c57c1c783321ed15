/** Lists of what counts toward owners: the entries of one kind, and repositories with all that is in them. */
import { isOpenAccount, repositoryViewer, type Viewer } from '../../accounts/access.ts'
import type { HtmlPage } from '../../host-pages/html-pages.ts'
import type { QuotaEngine } from '../../quota/index.ts'
import type { ListedKind } from '../../quota/ledger.ts'
import type { RepositoryTotal } from '../../quota/reports.ts'
import type { Page, Slice } from '../../records/pages.ts'
import {
  type Account,
  type Attachment,
  accounts,
  attachments,
  type LedgerRecord,
  type Repository,
  releases,
  repositories,
} from '../../records/schema/index.ts'
import type { Store } from '../../records/store.ts'
import type { ReadTransaction } from '../../storage/index.ts'
import { attachmentIdIn } from '../attachment-records.ts'

/** A ledger entry with the present name of its repository. */
export interface UsedEntry {
  readonly entry: LedgerRecord
  /** Undefined for an entry that belongs to its owner without a repository. */
  readonly repository: string | undefined
  /** True when the viewer cannot read the repository: only kind and size are shown. */
  readonly isHidden?: boolean
  /** Target of an attachment that this server stores. */
  readonly attached?: Attached | undefined
}

export interface Attached {
  /** The id of the attachment. */
  readonly id: number
  /** Names it in download URLs. */
  readonly uuid: string
  readonly on: Attachment['on']
  /** The number of the issue, or the id of the comment or the release. */
  readonly targetId: number
  /** Id of the user who attached it. */
  readonly uploader: number
  /** Tag of the release, if it is one. */
  readonly tag: string | undefined
}

/**
 * The page of what an entry counts; of an attachment, the page of its issue or release.
 * @returns undefined for an attachment without a repository, and for LFS objects, which have no pages
 */
export const pageOfEntry = (used: UsedEntry, owner: string): HtmlPage | undefined => {
  const { entry, repository } = used
  const { kind, name, key } = entry
  switch (kind) {
    case 'packages':
      return { kind: 'package', owner, type: entry.type ?? '', name, version: entry.version ?? '' }
    case 'artifacts':
      return { kind: 'artifact', owner, repo: repository, run: entry.run ?? 0, name, key }
    case 'attachments':
      return repository === undefined ? undefined : pageOfTarget(used, { owner, repo: repository })
    case 'lfs':
      return undefined
    default:
      return kind satisfies never
  }
}

const pageOfTarget = (
  { entry, attached }: UsedEntry,
  place: { readonly owner: string; readonly repo: string },
): HtmlPage => {
  const index = entry.index ?? 0
  switch (attached?.on) {
    case 'issue':
      return { kind: 'issue', ...place, index: attached.targetId }
    case 'comment':
      return { kind: 'comment', ...place, index, id: attached.targetId }
    case 'release':
      return { kind: 'release', ...place, tag: attached.tag ?? '' }
  }
  return { kind: entry.on === 'issue' ? 'issue' : 'ledgerRelease', ...place, index }
}

export type UsageLists = ReturnType<typeof createUsageLists>

/** A repository with all bytes that it and everything in it use. */
export interface UsedRepository extends RepositoryTotal {
  readonly repository: Repository
  readonly owner: Account
}

export const createUsageLists = (store: Store, { ledger, reports }: QuotaEngine) => ({
  /** Repositories of one owner, or of all owners, largest first, from one snapshot. */
  largestRepositories: (owner: number | undefined, slice: Slice): Promise<Page<UsedRepository>> =>
    store.read(async (tx) => {
      const { items, total } = await reports.largestRepositories(tx, owner, slice)
      return { items: await withRecords(tx, items), total }
    }),
  /** Entries of one kind, largest first. */
  async used(
    tx: ReadTransaction,
    viewer: Viewer,
    owner: number,
    kind: ListedKind,
    slice: Slice,
  ): Promise<Page<UsedEntry>> {
    const entries = await ledger.list(tx, owner, kind, slice)
    const found = await repositories.byIds(
      tx,
      entries.flatMap(({ repository }) => repository ?? []),
    )
    const isReadable = await readableOf(tx, viewer, owner)
    const shownEntry = (entry: LedgerRecord) => {
      if (entry.repository === null) return usedEntry(tx, entry, undefined, false)
      const repository = found.get(entry.repository)
      return usedEntry(tx, entry, repository, !isReadable(repository))
    }
    const items = await Promise.all(entries.map(shownEntry))
    return { items, total: (await ledger.counts(tx, owner))[kind] }
  },
})

/** Omits repositories of deleted owners, which are deleted in steps. */
const withRecords = async (
  tx: ReadTransaction,
  totals: readonly RepositoryTotal[],
): Promise<UsedRepository[]> => {
  const ids = totals.map(({ usage }) => usage.id)
  const found = await repositories.byIds(tx, ids)
  const owners = await accounts.referredBy(tx, totals, ({ usage }) => usage.owner)
  return totals.flatMap((total) => {
    const [repository, owner] = [found.get(total.usage.id), owners.get(total.usage.owner)]
    return repository === undefined || owner === undefined ? [] : [{ ...total, repository, owner }]
  })
}

/** Tells which of its repositories a viewer of an owner's usage reads. */
export type IsReadable = (repository: Repository | undefined) => boolean

/** A token may lack the scope for repositories, and then reads those that everyone does. */
export const readableOf = async (tx: ReadTransaction, viewer: Viewer, owner: number): Promise<IsReadable> => {
  if (repositoryViewer(viewer) !== null) return () => true
  const isOpen = isOpenAccount(null, await accounts.get(tx, [owner]))
  return (repository) => isOpen && repository?.private === false
}

/** @param isHidden whether the viewer cannot read the repository */
export const usedEntry = async (
  tx: ReadTransaction,
  entry: LedgerRecord,
  repository: Repository | undefined,
  isHidden: boolean,
): Promise<UsedEntry> =>
  isHidden ? hidden(entry) : { entry, repository: repository?.name, attached: await attachedIn(tx, entry) }

/**
 * The size stays in the list, because the entry counts toward the owner and the list must agree with the
 * total.
 */
const hidden = (entry: LedgerRecord): UsedEntry => ({
  entry: { ...entry, name: '', ...(entry.kind === 'packages' ? { type: '', version: '' } : {}) },
  repository: undefined,
  isHidden: true,
})

const attachedIn = async (
  tx: ReadTransaction,
  { key, index }: LedgerRecord,
): Promise<Attached | undefined> => {
  const id = attachmentIdIn(key)
  const attachment = id === undefined ? undefined : await attachments.get(tx, [id])
  if (attachment === undefined) return undefined
  const { uuid, on, targetId, uploader } = attachment
  const tag = on === 'release' ? (await releases.get(tx, [targetId]))?.tag : undefined
  return { id: attachment.id, uuid, on, targetId: on === 'issue' ? (index ?? 0) : targetId, uploader, tag }
}
