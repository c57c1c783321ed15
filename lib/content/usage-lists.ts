import { openAudiences, repositoryViewer, type Viewer } from '../accounts/access.ts'
import type { QuotaEngine } from '../quota/index.ts'
import type { ListedKind } from '../quota/ledger.ts'
import type { Page, Slice } from '../records/collection.ts'
import {
  type Attachment,
  attachments,
  type LedgerEntry,
  type Repository,
  releases,
  repositories,
} from '../records/schema/index.ts'
import { cachedRead, type Store } from '../records/store.ts'
import type { ReadTransaction } from '../storage/index.ts'
import { attachmentIdIn } from './attachments.ts'

/** A ledger entry with the present name of its repository. */
export interface UsedEntry {
  readonly entry: LedgerEntry
  /** Undefined for a package, which can belong to its owner without a repository. */
  readonly repository: string | undefined
  /** True when the viewer cannot read the repository: only kind and size are shown. */
  readonly isHidden?: boolean
  /** Target of an attachment that this server stores. */
  readonly attached?: Attached | undefined
}

export interface Attached {
  /** The id of the attachment. */
  readonly id: number
  readonly on: Attachment['on']
  /** The number of the issue, or the id of the comment or the release. */
  readonly targetId: number
  /** Tag of the release, if it is one. */
  readonly tag: string | undefined
}

export interface UsageLists {
  /** Entries of one kind, largest first, from one snapshot. The page is the same object until one of its records changes. */
  used(viewer: Viewer, owner: number, kind: ListedKind, slice: Slice): Promise<Page<UsedEntry>>
}

export const createUsageLists = (store: Store, { ledger }: QuotaEngine): UsageLists => {
  const readUsed = cachedRead(
    'used entries',
    async (tx, { owner, kind, offset, limit, isBounded }: UsedInput): Promise<Page<UsedEntry>> => {
      const entries = await ledger.list(tx, owner, kind, { offset, limit })
      const found = await repositoriesOf(tx, entries)
      const usedEntry = async (entry: LedgerEntry): Promise<UsedEntry> => {
        const repository = entry.repository === null ? undefined : found.get(entry.repository)
        if (isBounded && entry.repository !== null && !isPublic(repository)) return hidden(entry)
        return { entry, repository: repository?.name, attached: await attachedIn(tx, entry) }
      }
      const items = await Promise.all(entries.map(usedEntry))
      return { items, total: await ledger.count(tx, owner, kind) }
    },
  )
  return {
    used: (viewer, owner, kind, { offset, limit }) =>
      readUsed(store, { owner, kind, offset, limit, isBounded: repositoryViewer(viewer) === null }),
  }
}

type UsedInput = {
  readonly owner: number
  readonly kind: ListedKind
  readonly offset: number
  readonly limit: number
  /** Whether the viewer reads public repositories only. */
  readonly isBounded: boolean
}

const isPublic = (repository: Repository | undefined): boolean =>
  repository !== undefined && openAudiences(null).includes(repository.audience)

/** The size stays in the list, because the entry counts toward the owner and the list must agree with the total. */
const hidden = (entry: LedgerEntry): UsedEntry => ({
  entry: { ...entry, name: '', ...(entry.kind === 'packages' ? { type: '', version: '' } : {}) },
  repository: undefined,
  isHidden: true,
})

const repositoriesOf = async (
  tx: ReadTransaction,
  entries: readonly LedgerEntry[],
): Promise<Map<number, Repository>> => {
  const ids = [...new Set(entries.flatMap(({ repository }) => repository ?? []))]
  const found = await repositories.getMany(
    tx,
    ids.map((id) => [id]),
  )
  return new Map(
    found.flatMap((repository) => (repository === undefined ? [] : [[repository.id, repository] as const])),
  )
}

const attachedIn = async (
  tx: ReadTransaction,
  { key, index }: LedgerEntry,
): Promise<Attached | undefined> => {
  const id = attachmentIdIn(key)
  const attachment = id === undefined ? undefined : await attachments.get(tx, [id])
  if (attachment === undefined) return undefined
  const { on, targetId } = attachment
  const tag = on === 'release' ? (await releases.get(tx, [targetId]))?.tag : undefined
  return { id: attachment.id, on, targetId: on === 'issue' ? (index ?? 0) : targetId, tag }
}
