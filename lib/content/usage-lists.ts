import { openAudiences, repositoryViewer, type Viewer } from '../accounts/access.ts'
import type { Page, Slice } from '../accounts/visible-page.ts'
import type { QuotaEngine } from '../quota/index.ts'
import type { ListedKind } from '../quota/ledger.ts'
import {
  type Attachment,
  attachments,
  type LedgerEntry,
  type Repository,
  releases,
  repositories,
} from '../records/schema/index.ts'
import type { Store } from '../records/store.ts'
import type { ReadTransaction } from '../storage/driver.ts'
import { attachmentIdIn } from './attachment-records.ts'

/** What counts toward an owner, and the name of the repository that it is in. */
export interface UsedEntry {
  readonly entry: LedgerEntry
  /** Undefined for a package that belongs to its owner and to no repository. */
  readonly repository: string | undefined
  /** True for an entry in a repository that the viewer may not read: then only the size is known. */
  readonly isHidden?: boolean
  /** Of an attachment that this server keeps: what it hangs on. */
  readonly attached?: Attached | undefined
}

export interface Attached {
  /** The id of the attachment. */
  readonly id: number
  readonly on: Attachment['on']
  /** The number of the issue, or the id of the comment or the release. */
  readonly holder: number
  /** Of a release. */
  readonly tag: string | undefined
}

export interface UsageLists {
  /** Largest first, with the names and the total of one snapshot; the same object while nothing of it has changed. */
  used(viewer: Viewer, owner: number, kind: ListedKind, slice: Slice): Promise<Page<UsedEntry>>
}

export const createUsageLists = (store: Store, { ledger }: QuotaEngine): UsageLists => ({
  used(viewer, owner, kind, slice) {
    const isBounded = repositoryViewer(viewer) === null
    return store.read(
      async (tx) => {
        const entries = await ledger.list(tx, owner, kind, slice)
        const containers = await containersOf(tx, entries)
        const present = async (entry: LedgerEntry): Promise<UsedEntry> => {
          const container = entry.container === null ? undefined : containers.get(entry.container)
          if (isBounded && entry.container !== null && !isOpen(container)) return hidden(entry)
          return { entry, repository: container?.name, attached: await attachedIn(tx, entry) }
        }
        const items = await Promise.all(entries.map(present))
        return { items, total: await ledger.count(tx, owner, kind) }
      },
      `usage of ${owner} in ${kind} from ${slice.offset} to ${slice.limit} ${isBounded ? 'open' : 'own'}`,
    )
  },
})

const isOpen = (repository: Repository | undefined): boolean =>
  repository !== undefined && openAudiences(null).includes(repository.audience)

/** An entry counts toward the owner all the same, so the size stays in the list and agrees with the total. */
const hidden = (entry: LedgerEntry): UsedEntry => ({
  entry: { ...entry, name: '', ...(entry.kind === 'packages' ? { type: '', version: '' } : {}) },
  repository: undefined,
  isHidden: true,
})

const containersOf = async (
  tx: ReadTransaction,
  entries: readonly LedgerEntry[],
): Promise<Map<number, Repository>> => {
  const ids = [...new Set(entries.flatMap(({ container }) => container ?? []))]
  const found = await repositories.getMany(
    tx,
    ids.map((id) => [id]),
  )
  return new Map(found.flatMap((one) => (one === undefined ? [] : [[one.id, one] as const])))
}

const attachedIn = async (
  tx: ReadTransaction,
  { key, index }: LedgerEntry,
): Promise<Attached | undefined> => {
  const id = attachmentIdIn(key)
  const attachment = id === undefined ? undefined : await attachments.get(tx, [id])
  if (attachment === undefined) return undefined
  const { on, holder } = attachment
  const tag = on === 'release' ? (await releases.get(tx, [holder]))?.tag : undefined
  return { id: attachment.id, on, holder: on === 'issue' ? (index ?? 0) : holder, tag }
}
