import { randomUUID } from 'node:crypto'
import type { Readable } from 'node:stream'
import { AllotError, invalid } from '../errors.ts'
import type { ByteRange } from '../files/index.ts'
import { type Attachment, attachments } from '../records/schema.ts'
import type { Change } from '../records/store.ts'
import type { Viewer } from './access.ts'
import { type AttachmentParts, ledgerKey, placeOf, removeAttachment } from './attached.ts'
import { now } from './clock.ts'
import { type Holder, holderAt, holderOf, type WhichHolder, writableHolder } from './holders.ts'
import type { Page, Slice } from './listing.ts'
import { existingAccount } from './lookup.ts'
import { checkFileName } from './names.ts'
import type { In, SignedIn } from './place.ts'
import type { RepositoryName } from './relations.ts'

export interface NewAttachment {
  /** What people call the file: it names nothing on the disk. */
  name: string
  content: Readable
  /** The most bytes that are taken. */
  largest: number
}

/**
 * Files on issues, comments and releases. Each counts toward the owner of the repository, whoever sent it. Undefined answers
 * stand for what is not there, or what the viewer may not know of.
 */
export interface Attachments {
  /**
   * Whether there is something to attach to: to be asked before anything is taken in.
   * @throws AllotError forbidden for others than the author and those who may write to the repository
   */
  mayAdd(viewer: SignedIn, at: RepositoryName, on: WhichHolder): Promise<boolean>
  /** @throws AllotError too_large, invalid for its name; not_found when what it is for has gone meanwhile */
  add(viewer: SignedIn, at: RepositoryName, on: WhichHolder, file: NewAttachment): Promise<Attachment>
  list(
    viewer: Viewer,
    at: RepositoryName,
    on: WhichHolder,
    slice: Slice,
  ): Promise<Page<Attachment> | undefined>
  find(viewer: Viewer, at: RepositoryName, on: WhichHolder, id: number): Promise<Attachment | undefined>
  rename(
    viewer: SignedIn,
    at: RepositoryName,
    on: WhichHolder,
    id: number,
    name: string,
  ): Promise<Attachment | undefined>
  remove(viewer: SignedIn, at: RepositoryName, on: WhichHolder, id: number): Promise<boolean>
  /** By the address that a browser has. */
  byUuid(viewer: Viewer, uuid: string): Promise<In<{ attachment: Attachment }> | undefined>
  read(attachment: Attachment, range?: ByteRange): Promise<Readable>
  /** Counts a download. */
  downloaded(id: number): Promise<void>
}

/** @param most attachments of one issue, comment or release: as many as one write may remove with it */
export const createAttachments = (parts: AttachmentParts, most: number): Attachments => {
  const { store, files } = parts
  return {
    mayAdd: (viewer, at, on) =>
      store.read(async (tx) => (await writableHolder(tx, viewer, at, on)) !== undefined),
    async add(viewer, at, on, { name, content, largest }) {
      checkFileName(name)
      const holder = await store.read((tx) => writableHolder(tx, viewer, at, on))
      if (holder === undefined) throw gone()
      const [id, uuid] = [await store.sequences.next('attachment'), randomUUID()]
      const place = placeOf({ uuid, repository: holder.repository.id })
      return files.add(place, content, { largest }, async (tx, { size }) => {
        const still = await writableHolder(tx, viewer, at, on)
        if (still?.id !== holder.id) throw gone()
        await refuseFull(tx, still, most)
        const { id: uploader } = await existingAccount(tx, viewer.id)
        const attachment: Attachment = {
          ...{ id, uuid, repository: still.repository.id, on: still.on, holder: still.id },
          ...{ name, size, uploader, downloads: 0, createdAt: now() },
        }
        await count(tx, parts, still, attachment)
        return attachment
      })
    },
    list: (viewer, at, on, slice) =>
      store.read(async (tx) => {
        const holder = await holderAt(tx, viewer, at, on)
        if (holder === undefined) return undefined
        const prefix = [holder.on, holder.id]
        return {
          items: await attachments.list(tx, 'holder', { prefix, ...slice }),
          total: await attachments.count(tx, 'holder', prefix),
        }
      }),
    find: (viewer, at, on, id) =>
      store.read(async (tx) => {
        const holder = await holderAt(tx, viewer, at, on)
        return holder && attachmentOn(await attachments.get(tx, [id]), holder)
      }),
    rename: (viewer, at, on, id, name) =>
      store.write(async (tx) => {
        const holder = await writableHolder(tx, viewer, at, on)
        const before = holder && attachmentOn(await attachments.get(tx, [id]), holder)
        if (holder === undefined || before === undefined) return undefined
        checkFileName(name)
        const attachment = { ...before, name }
        await count(tx, parts, holder, attachment)
        return attachment
      }),
    async remove(viewer, at, on, id) {
      const removed = await store.write(async (tx) => {
        const holder = await writableHolder(tx, viewer, at, on)
        const attachment = holder && attachmentOn(await attachments.get(tx, [id]), holder)
        if (attachment === undefined) return false
        await removeAttachment(tx, parts, attachment)
        return true
      })
      if (removed) await files.idle()
      return removed
    },
    byUuid: (viewer, uuid) =>
      store.read(async (tx) => {
        const attachment = UUID.test(uuid) ? await attachments.findBy(tx, 'uuid', [uuid]) : undefined
        const holder = attachment && (await holderOf(tx, viewer, attachment))
        return attachment && holder && { repository: holder.repository, attachment }
      }),
    read: (attachment, range) => files.read(placeOf(attachment), range),
    downloaded: (id) =>
      store.write(async (tx) => {
        const attachment = await attachments.get(tx, [id])
        if (attachment === undefined) return
        await attachments.save(tx, { ...attachment, downloads: attachment.downloads + 1 })
      }),
  }
}

const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/

/** Saves the attachment, and what counts it. */
const count = async (
  tx: Change,
  { quota }: AttachmentParts,
  { repository, counted }: Holder,
  attachment: Attachment,
): Promise<void> => {
  await attachments.save(tx, attachment)
  const { name, size, createdAt } = attachment
  await quota.ledger.put(tx, {
    ...{ kind: 'attachments', key: ledgerKey(attachment), name, size, createdAt },
    ...{ owner: repository.owner, container: repository.id, ...counted },
    ...{ run: null, type: null, version: null },
  })
}

const attachmentOn = (found: Attachment | undefined, { on, id }: Holder): Attachment | undefined =>
  found?.on === on && found.holder === id ? found : undefined

const refuseFull = async (tx: Change, { on, id }: Holder, most: number): Promise<void> => {
  if ((await attachments.count(tx, 'holder', [on, id])) >= most)
    throw invalid(`there are ${most} attachments here already: no more are taken`)
}

const gone = () => new AllotError('not_found', 'what this was to be attached to is gone')
