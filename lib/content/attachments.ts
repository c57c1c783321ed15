import { randomUUID } from 'node:crypto'
import type { Readable } from 'node:stream'
import { existingAccount, type Viewer } from '../accounts/access.ts'
import { checkFileName } from '../accounts/names.ts'
import { now } from '../clock.ts'
import { AllotError, invalid } from '../errors.ts'
import type { ByteRange } from '../files/index.ts'
import type { Page, Slice } from '../records/collection.ts'
import { type Attachment, attachments } from '../records/schema/index.ts'
import type { WriteContext } from '../records/store.ts'
import type { RepositoryName } from '../repositories/relations.ts'
import type { InRepository, SignedIn } from '../repositories/write-access.ts'
import { type AttachmentParts, filePlaceOf, ledgerKey, removeAttachment } from './attachment-records.ts'
import {
  type AttachmentTarget,
  type AttachmentTargetName,
  findTarget,
  targetOf,
  writableTarget,
} from './attachment-targets.ts'

interface NewAttachment {
  /** Name to show; it is not used on the disk. */
  name: string
  content: Readable
  /** Largest accepted size in bytes. */
  maxSize: number
}

/**
 * Files on issues, comments and releases. Each counts toward the owner of the repository, whoever uploaded it. Methods
 * return undefined for what does not exist or the viewer cannot see.
 */
export interface Attachments {
  /**
   * Whether the target exists. Called before the content is read.
   * @throws AllotError forbidden unless the viewer is the author or can write to the repository
   */
  mayAdd(viewer: SignedIn, path: RepositoryName, on: AttachmentTargetName): Promise<boolean>
  /** @throws AllotError too_large; invalid for a bad name; not_found when the target was deleted meanwhile */
  add(
    viewer: SignedIn,
    path: RepositoryName,
    on: AttachmentTargetName,
    file: NewAttachment,
  ): Promise<Attachment>
  list(
    viewer: Viewer,
    path: RepositoryName,
    on: AttachmentTargetName,
    slice: Slice,
  ): Promise<Page<Attachment> | undefined>
  find(
    viewer: Viewer,
    path: RepositoryName,
    on: AttachmentTargetName,
    id: number,
  ): Promise<Attachment | undefined>
  rename(
    viewer: SignedIn,
    path: RepositoryName,
    on: AttachmentTargetName,
    id: number,
    name: string,
  ): Promise<Attachment | undefined>
  remove(viewer: SignedIn, path: RepositoryName, on: AttachmentTargetName, id: number): Promise<boolean>
  /** The attachment of a download URL. */
  byUuid(viewer: Viewer, uuid: string): Promise<InRepository<{ attachment: Attachment }> | undefined>
  read(attachment: Attachment, range?: ByteRange): Promise<Readable>
  /** Counts a download. */
  downloaded(id: number): Promise<void>
}

/** @param limit attachments that an issue, comment or release can have: as many as one write can remove with it */
export const createAttachments = (parts: AttachmentParts, limit: number): Attachments => ({
  ...attachmentQueries(parts),
  ...attachmentChanges(parts, limit),
})

const attachmentQueries = (
  parts: AttachmentParts,
): Pick<Attachments, 'mayAdd' | 'list' | 'find' | 'byUuid' | 'read'> => {
  const { store, files } = parts
  return {
    mayAdd: (viewer, path, on) =>
      store.read(async (tx) => (await writableTarget(tx, viewer, path, on)) !== undefined),
    list: (viewer, path, on, slice) =>
      store.read(async (tx) => {
        const target = await findTarget(tx, viewer, path, on)
        if (target === undefined) return undefined
        const prefix = [target.on, target.id]
        return {
          items: await attachments.list(tx, 'target', { prefix, ...slice }),
          total: await attachments.count(tx, 'target', prefix),
        }
      }),
    find: (viewer, path, on, id) =>
      store.read(async (tx) => {
        const target = await findTarget(tx, viewer, path, on)
        return target && attachmentOn(await attachments.get(tx, [id]), target)
      }),
    byUuid: (viewer, uuid) =>
      store.read(async (tx) => {
        const attachment = UUID.test(uuid) ? await attachments.findBy(tx, 'uuid', [uuid]) : undefined
        const target = attachment && (await targetOf(tx, viewer, attachment))
        return attachment && target && { repository: target.repository, attachment }
      }),
    read: (attachment, range) => files.read(filePlaceOf(attachment), range),
  }
}

const attachmentChanges = (
  parts: AttachmentParts,
  limit: number,
): Pick<Attachments, 'add' | 'rename' | 'remove' | 'downloaded'> => {
  const { store, files } = parts
  return {
    async add(viewer, path, on, { name, content, maxSize }) {
      checkFileName(name)
      const target = await store.read((tx) => writableTarget(tx, viewer, path, on))
      if (target === undefined) throw targetDeleted()
      const [id, uuid] = [await store.sequences.next('attachment'), randomUUID()]
      const place = filePlaceOf({ uuid, repository: target.repository.id })
      return files.add(place, content, { maxSize }, async (tx, { size }) => {
        const still = await writableTarget(tx, viewer, path, on)
        if (still?.id !== target.id) throw targetDeleted()
        await refuseFull(tx, still, limit)
        const { id: uploader } = await existingAccount(tx, viewer.id)
        const attachment: Attachment = {
          ...{ id, uuid, repository: still.repository.id, on: still.on, targetId: still.id },
          ...{ name, size, uploader, downloads: 0, createdAt: now() },
        }
        await saveAndCount(tx, parts, still, attachment)
        return attachment
      })
    },
    rename: (viewer, path, on, id, name) =>
      store.write(async (tx) => {
        const target = await writableTarget(tx, viewer, path, on)
        const before = target && attachmentOn(await attachments.get(tx, [id]), target)
        if (target === undefined || before === undefined) return undefined
        checkFileName(name)
        const attachment = { ...before, name }
        await saveAndCount(tx, parts, target, attachment)
        return attachment
      }),
    async remove(viewer, path, on, id) {
      const removed = await store.write(async (tx) => {
        const target = await writableTarget(tx, viewer, path, on)
        const attachment = target && attachmentOn(await attachments.get(tx, [id]), target)
        if (attachment === undefined) return false
        await removeAttachment(tx, parts, attachment)
        return true
      })
      if (removed) await files.idle()
      return removed
    },
    downloaded: (id) =>
      store.write(async (tx) => {
        const attachment = await attachments.get(tx, [id])
        if (attachment === undefined) return
        await attachments.save(tx, { ...attachment, downloads: attachment.downloads + 1 })
      }),
  }
}

const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/

/** Saves the attachment and its ledger entry. */
const saveAndCount = async (
  tx: WriteContext,
  { quota }: AttachmentParts,
  { repository, counted }: AttachmentTarget,
  attachment: Attachment,
): Promise<void> => {
  await attachments.save(tx, attachment)
  const { name, size, createdAt } = attachment
  await quota.ledger.put(tx, {
    ...{ kind: 'attachments', key: ledgerKey(attachment), name, size, createdAt },
    ...{ owner: repository.owner, repository: repository.id, ...counted },
    ...{ run: null, type: null, version: null },
  })
}

const attachmentOn = (found: Attachment | undefined, { on, id }: AttachmentTarget): Attachment | undefined =>
  found?.on === on && found.targetId === id ? found : undefined

const refuseFull = async (tx: WriteContext, { on, id }: AttachmentTarget, limit: number): Promise<void> => {
  if ((await attachments.count(tx, 'target', [on, id])) >= limit)
    throw invalid(`there are ${limit} attachments already, which is the limit: delete one first`)
}

const targetDeleted = () =>
  new AllotError('not_found', 'the issue, comment or release of the attachment was deleted')
