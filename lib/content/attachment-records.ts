import type { QuotaEngine } from '../quota/index.ts'
import { type Attachment, attachments } from '../records/schema/index.ts'
import type { Store, WriteContext } from '../records/store.ts'
import type { HostedFiles } from '../repositories/files.ts'
import { RESERVED_PREFIX } from '../repositories/named-quota.ts'

/** The services that attachments need. */
export interface AttachmentParts {
  store: Store
  quota: QuotaEngine
  files: HostedFiles
}

/**
 * Removes the attachments of an issue, comment or release that is being deleted.
 * @param limit attachments to remove at most; absent: all
 * @returns how many were removed
 */
export const removeAttachments = async (
  tx: WriteContext,
  parts: AttachmentParts,
  { on, id }: { on: Attachment['on']; id: number },
  limit?: number,
): Promise<number> => {
  const found = await attachments.list(tx, 'target', {
    prefix: [on, id],
    ...(limit === undefined ? {} : { limit }),
  })
  for (const attachment of found) await removeAttachment(tx, parts, attachment)
  return found.length
}

export const removeAttachment = async (
  tx: WriteContext,
  { quota, files }: AttachmentParts,
  attachment: Attachment,
): Promise<void> => {
  await attachments.remove(tx, [attachment.id])
  await quota.ledger.remove(tx, 'attachments', ledgerKey(attachment))
  await files.release(tx, filePlaceOf(attachment))
}

/** Place of an attachment's file. It is by repository, so that a transfer does not move the file. */
export const filePlaceOf = ({ uuid, repository }: Pick<Attachment, 'uuid' | 'repository'>) =>
  ({ area: 'attachments', ownerId: repository, name: uuid }) as const

const PREFIX = `${RESERVED_PREFIX}attachment/`

/** Key of the ledger entry of an attachment; hosts cannot use keys with this prefix. */
export const ledgerKey = ({ id }: { id: number }): string => PREFIX + id

/** Id of the attachment that a ledger key belongs to; undefined for other keys. */
export const attachmentIdIn = (key: string): number | undefined => {
  const digits = key.startsWith(PREFIX) ? key.slice(PREFIX.length) : ''
  return /^[1-9]\d{0,15}$/.test(digits) ? Number(digits) : undefined
}
