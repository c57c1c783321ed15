/** The records of attachments, with what belongs to them: their ledger entries and their files. */
import { invalid, invalidMember } from '../errors.ts'
import { type Attachment, attachments, RESERVED_PREFIX } from '../records/schema/index.ts'
import type { WriteContext } from '../records/store.ts'
import type { RepositoryServices } from '../repositories/repositories.ts'
import type { ReadTransaction } from '../storage/index.ts'
import type { AttachmentTarget } from './attachment-targets.ts'

/** Whether a target has as many attachments as one write can remove with it. */
export const isFull = async (
  tx: ReadTransaction,
  { jobs }: Pick<RepositoryServices, 'jobs'>,
  { on, id }: Pick<AttachmentTarget, 'on' | 'id'>,
): Promise<boolean> => (await attachments.count(tx, 'target', [on, id])) >= jobs.limits.maxPerTransaction

/** @throws AllotError invalid when a target can have no further attachment */
export const refuseFull = async (
  tx: ReadTransaction,
  services: Pick<RepositoryServices, 'jobs'>,
  target: AttachmentTarget,
): Promise<void> => {
  if (!(await isFull(tx, services, target))) return
  const { maxPerTransaction: limit } = services.jobs.limits
  throw invalid(`there are already ${limit} attachments, which is the limit: delete one first`)
}

/** Saves an attachment and its ledger entry. */
export const saveAttachment = async (
  tx: WriteContext,
  { quota }: Pick<RepositoryServices, 'quota'>,
  target: AttachmentTarget,
  attachment: Attachment,
): Promise<Attachment> => {
  await attachments.save(tx, attachment)
  const { name, size, createdAt } = attachment
  await quota.ledger.put(tx, {
    kind: 'attachments',
    key: ledgerKey(attachment),
    name,
    size,
    createdAt,
    owner: target.repository.owner,
    repository: target.repository.id,
    ...target.counted,
  })
  return attachment
}

export const removeAttachment = async (
  tx: WriteContext,
  { quota, files }: RepositoryServices,
  attachment: Attachment,
): Promise<void> => {
  await attachments.remove(tx, [attachment.id])
  await quota.ledger.remove(tx, 'attachments', ledgerKey(attachment))
  await files.deleteAfterCommit(tx, filePlaceOf(attachment))
}

/** Place of an attachment's file. It is by repository, so that a transfer does not move the file. */
export const filePlaceOf = ({ uuid, repository }: Pick<Attachment, 'uuid' | 'repository'>) =>
  ({ area: 'attachments', ownerId: repository, name: uuid }) as const

const PREFIX = `${RESERVED_PREFIX}attachment/`

/** Key of the ledger entry of an attachment; hosts cannot use keys with this prefix. */
const ledgerKey = ({ id }: Attachment): string => PREFIX + id

/** Id of the attachment that a ledger key belongs to; undefined for other keys. */
export const attachmentIdIn = (key: string): number | undefined => {
  const digits = key.startsWith(PREFIX) ? key.slice(PREFIX.length) : ''
  return /^[1-9]\d{0,15}$/.test(digits) ? Number(digits) : undefined
}

/** Accepts any file name of one line that is not a path. */
export const checkFileName = (name: string): void => {
  if (name.length < 1 || name.length > 255) throw invalidMember('name', 'must have 1 to 255 characters')
  if (!name.isWellFormed() || /[\p{Cc}/\\]/u.test(name) || /^\.{1,2}$/.test(name))
    throw invalidMember('name', 'must be a file name without slashes and control characters')
}
