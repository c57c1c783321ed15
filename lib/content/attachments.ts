import { randomUUID } from 'node:crypto'
import type { Readable } from 'node:stream'
import { existingAccount, type SignedIn, type Viewer } from '../accounts/access.ts'
import { now } from '../clock.ts'
import { AllotError, invalid } from '../errors.ts'
import type { ByteRange } from '../files/index.ts'
import type { Page, Slice } from '../records/pages.ts'
import { type Attachment, attachments, RESERVED_PREFIX } from '../records/schema/index.ts'
import { takeNumber, type WriteContext } from '../records/store.ts'
import type { RepositoryName } from '../repositories/relations.ts'
import type { RepositoryServices } from '../repositories/repositories.ts'
import type { InRepository } from '../repositories/write-access.ts'
import type { ReadTransaction } from '../storage/index.ts'
import {
  type AttachmentTarget,
  type AttachmentTargetName,
  findTarget,
  targetOf,
  writableTarget,
} from './attachment-targets.ts'

/** The services that the contents of repositories and accounts need. */
export type ContentServices = Omit<RepositoryServices, 'gitData'>

interface WithAttachment {
  /** The attachment. */
  attachment: Attachment
}

interface NewAttachment {
  /** Name to show; it is not used on the disk. */
  name: string
  /** The bytes, as a stream. */
  content: Readable
  /** Largest accepted size in bytes. */
  maxSize: number
}

/**
 * Files on issues, comments and releases. Each counts toward the owner of the repository, not the uploader. Methods
 * return undefined when one does not exist or the viewer cannot see it. Methods that change attachments throw `forbidden`
 * unless the viewer can write to the repository or is the author of the issue or comment.
 */
export class Attachments {
  readonly #services: ContentServices

  constructor(services: ContentServices) {
    this.#services = services
  }

  /** Whether the target exists. Called before the content is read. @throws AllotError forbidden */
  findsTarget(viewer: SignedIn, path: RepositoryName, on: AttachmentTargetName): Promise<boolean> {
    return this.#services.store.read(async (tx) => (await writableTarget(tx, viewer, path, on)) !== undefined)
  }

  /**
   * Adds an attachment.
   * @throws AllotError too_large; invalid for a bad name; not_found when the target was deleted meanwhile; forbidden
   */
  async add(
    viewer: SignedIn,
    path: RepositoryName,
    on: AttachmentTargetName,
    { name, content, maxSize }: NewAttachment,
  ): Promise<Attachment> {
    const { store, files } = this.#services
    checkFileName(name)
    const target = await store.read((tx) => writableTarget(tx, viewer, path, on))
    if (target === undefined) throw targetDeleted()
    const uuid = randomUUID()
    const place = filePlaceOf({ uuid, repository: target.repository.id })
    return files.add(place, content, { maxSize }, async (tx, { size }) => {
      const current = await writableTarget(tx, viewer, path, on)
      if (current?.id !== target.id) throw targetDeleted()
      await this.#refuseFull(tx, current)
      const { id: uploader } = await existingAccount(tx, viewer.id)
      return saveAttachment(tx, this.#services, current, {
        id: await takeNumber(tx, 'attachment'),
        uuid,
        repository: current.repository.id,
        on: current.on,
        targetId: current.id,
        name,
        size,
        uploader,
        downloads: 0,
        createdAt: now(),
      })
    })
  }

  /** Attachments of an issue, a comment or a release, in the order of creation. */
  list(
    viewer: Viewer,
    path: RepositoryName,
    on: AttachmentTargetName,
    slice: Slice,
  ): Promise<Page<Attachment> | undefined> {
    return this.#services.store.read(async (tx) => {
      const target = await findTarget(tx, viewer, path, on)
      return target && attachments.page(tx, 'target', { prefix: [target.on, target.id], ...slice })
    })
  }

  /** One attachment. */
  find(
    viewer: Viewer,
    path: RepositoryName,
    on: AttachmentTargetName,
    id: number,
  ): Promise<Attachment | undefined> {
    return this.#services.store.read(async (tx) =>
      attachmentOn(tx, await findTarget(tx, viewer, path, on), id),
    )
  }

  /**
   * Changes the name that is shown.
   * @throws AllotError invalid for a bad name; forbidden
   */
  rename(
    viewer: SignedIn,
    path: RepositoryName,
    on: AttachmentTargetName,
    id: number,
    name: string,
  ): Promise<Attachment | undefined> {
    return this.#services.store.write(async (tx) => {
      const target = await writableTarget(tx, viewer, path, on)
      const before = await attachmentOn(tx, target, id)
      if (target === undefined || before === undefined) return undefined
      checkFileName(name)
      return saveAttachment(tx, this.#services, target, { ...before, name })
    })
  }

  /**
   * Deletes an attachment with its file.
   * @returns whether it existed
   * @throws AllotError forbidden
   */
  remove(viewer: SignedIn, path: RepositoryName, on: AttachmentTargetName, id: number): Promise<boolean> {
    return removeWithFiles(this.#services, async (tx) => {
      const attachment = await attachmentOn(tx, await writableTarget(tx, viewer, path, on), id)
      if (attachment !== undefined) await removeAttachment(tx, this.#services, attachment)
      return attachment !== undefined
    })
  }

  /** The attachment of a download URL. */
  byUuid(viewer: Viewer, uuid: string): Promise<InRepository<WithAttachment> | undefined> {
    return this.#services.store.read(async (tx) => {
      const attachment = UUID.test(uuid) ? await attachments.findBy(tx, 'uuid', [uuid]) : undefined
      const target = attachment && (await targetOf(tx, viewer, attachment))
      return attachment && target && { repository: target.repository, attachment }
    })
  }

  /** Reads the content, or a part of it. */
  read(attachment: Attachment, range?: ByteRange): Promise<Readable> {
    return this.#services.files.read(filePlaceOf(attachment), range)
  }

  /** Counts a download. */
  downloaded(id: number): Promise<void> {
    return this.#services.store.write(async (tx) => {
      const attachment = await attachments.get(tx, [id])
      if (attachment === undefined) return
      await attachments.save(tx, { ...attachment, downloads: attachment.downloads + 1 })
    })
  }

  /** A target has at most as many attachments as one write can remove with it. */
  async #refuseFull(tx: WriteContext, { on, id }: AttachmentTarget): Promise<void> {
    const limit = this.#services.jobs.limits.maxPerTransaction
    if ((await attachments.count(tx, 'target', [on, id])) >= limit)
      throw invalid(`there are already ${limit} attachments, which is the limit: delete one first`)
  }
}

/** Saves an attachment and its ledger entry. */
export const saveAttachment = async (
  tx: WriteContext,
  { quota }: Pick<ContentServices, 'quota'>,
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

const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/

const targetDeleted = () =>
  new AllotError('not_found', 'the issue, comment or release of the attachment was deleted')

const attachmentOn = async (
  tx: ReadTransaction,
  target: AttachmentTarget | undefined,
  id: number,
): Promise<Attachment | undefined> => {
  const attachment = target && (await attachments.get(tx, [id]))
  return attachment?.on === target?.on && attachment?.targetId === target?.id ? attachment : undefined
}

/**
 * Removes the attachments of an issue, comment or release that is being deleted.
 * @param limit attachments to remove at most; absent: all
 * @returns how many were removed
 */
export const removeAttachments = async (
  tx: WriteContext,
  services: ContentServices,
  { on, id }: { on: Attachment['on']; id: number },
  limit?: number,
): Promise<number> => {
  const listing = { prefix: [on, id], ...(limit === undefined ? {} : { limit }) }
  const found = await attachments.list(tx, 'target', listing)
  for (const attachment of found) await removeAttachment(tx, services, attachment)
  return found.length
}

export const removeAttachment = async (
  tx: WriteContext,
  { quota, files }: ContentServices,
  attachment: Attachment,
): Promise<void> => {
  await attachments.remove(tx, [attachment.id])
  await quota.ledger.remove(tx, 'attachments', ledgerKey(attachment))
  await files.deleteAfterCommit(tx, filePlaceOf(attachment))
}

/** Runs a write that can delete files, and waits until they are deleted. @returns whether the write removed something */
export const removeWithFiles = async (
  { store, files }: ContentServices,
  write: (tx: WriteContext) => Promise<boolean>,
): Promise<boolean> => {
  const isRemoved = await store.write(write)
  if (isRemoved) await files.idle()
  return isRemoved
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
  if (name.length < 1 || name.length > 255) throw invalid('name: must have 1 to 255 characters')
  if (!name.isWellFormed() || /[\p{Cc}/\\]/u.test(name) || /^\.{1,2}$/.test(name))
    throw invalid('name: must be a file name without slashes and control characters')
}
