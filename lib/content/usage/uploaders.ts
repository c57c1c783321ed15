/** Who attached what counts toward an owner: anyone who can open an issue can attach files to it. */
import { type Viewer, visibleAmong } from '../../accounts/access.ts'
import { visibleAccount } from '../../accounts/find.ts'
import { attachments } from '../../records/schema/index.ts'
import type { ReadTransaction } from '../../storage/index.ts'
import { attachmentIdIn } from '../attachment-records.ts'
import type { Candidate, StorageItem } from './storage-item.ts'

/** The candidates that the user with the name attached; none unless the viewer can see the user. */
export const uploadedBy = async (
  tx: ReadTransaction,
  viewer: Viewer,
  name: string,
  candidates: readonly Candidate[],
): Promise<Candidate[]> => {
  const user = await visibleAccount(tx, viewer, name)
  if (user === undefined) return []
  const idOf = ({ entry, isHidden }: Candidate) =>
    entry === undefined || isHidden ? undefined : attachmentIdIn(entry.key)
  const found = await attachments.byIds(
    tx,
    candidates.flatMap((candidate) => idOf(candidate) ?? []),
  )
  return candidates.filter((candidate) => found.get(idOf(candidate) ?? 0)?.uploader === user.id)
}

/** Adds the names of the users who attached the items, as far as the viewer can see them. */
export const withUploaders = async (
  tx: ReadTransaction,
  viewer: Viewer,
  items: readonly StorageItem[],
): Promise<StorageItem[]> => {
  const ids = new Set(items.flatMap(({ used }) => used?.attached?.uploader ?? []))
  const visible = await visibleAmong(tx, viewer, [...ids])
  const names = new Map(visible.map(({ id, name }) => [id, name]))
  return items.map((item) => ({ ...item, uploader: names.get(item.used?.attached?.uploader ?? 0) }))
}
