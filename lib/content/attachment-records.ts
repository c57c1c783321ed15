import type { QuotaEngine } from '../quota/index.ts'
import { type Attachment, attachments } from '../records/schema/index.ts'
import type { Store, WriteContext } from '../records/store.ts'
import type { HostedFiles } from '../repositories/files.ts'
import { RESERVED_PREFIX } from '../repositories/named-ledger.ts'

/** What attachments are kept with. */
export interface AttachmentParts {
  store: Store
  quota: QuotaEngine
  files: HostedFiles
}

/** Those of one that is gone go in the same write, or in the steps of a job. */
export const removeAttachments = async (
  tx: WriteContext,
  parts: AttachmentParts,
  { on, id }: { on: Attachment['on']; id: number },
  limit?: number,
): Promise<number> => {
  const found = await attachments.list(tx, 'holder', {
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

/** Where the file of an attachment lies: by the repository, so that it stays there when that changes hands. */
export const filePlaceOf = ({ uuid, repository }: Pick<Attachment, 'uuid' | 'repository'>) =>
  ({ area: 'attachments', keeper: repository, name: uuid }) as const

const PREFIX = `${RESERVED_PREFIX}attachment/`

/** The key of what counts an attachment, which no host can use for something of its own. */
export const ledgerKey = ({ id }: { id: number }): string => PREFIX + id

/** The id of the attachment that a key counts; undefined for what counts something else. */
export const attachmentIdIn = (key: string): number | undefined => {
  const digits = key.startsWith(PREFIX) ? key.slice(PREFIX.length) : ''
  return /^[1-9]\d{0,15}$/.test(digits) ? Number(digits) : undefined
}
