import { randomUUID } from 'node:crypto'
import type { Readable } from 'node:stream'
import type { SignedIn, Viewer } from '../accounts/access.ts'
import { existingAccount } from '../accounts/find.ts'
import { now } from '../clock.ts'
import { AllotError } from '../errors.ts'
import type { ByteRange } from '../files/index.ts'
import type { Page, Slice } from '../records/pages.ts'
import { type Attachment, attachments } from '../records/schema/index.ts'
import { takeNumber } from '../records/store.ts'
import type { RepositoryName } from '../repositories/names.ts'
import type { RepositoryServices } from '../repositories/repositories.ts'
import { requireScopes } from '../scopes.ts'
import type { ReadTransaction } from '../storage/index.ts'
import {
  checkFileName,
  filePlaceOf,
  refuseFull,
  removeAttachment,
  saveAttachment,
} from './attachment-records.ts'
import {
  type AttachmentTarget,
  type AttachmentTargetName,
  findTarget,
  targetOf,
  type WritableTarget,
  writableTarget,
} from './attachment-targets.ts'
import { countGuestUpload, refuseBeyondDay } from './daily-limits.ts'
import type { SentFile } from './downloads.ts'

interface NewAttachment {
  /** Name to show; it is not used on the disk. */
  name: string
  /** The bytes, as a stream. */
  content: Readable
  /** Largest accepted size in bytes. */
  maxSize: number
  /**
   * Bytes that a user without write permission can attach in a day to issues and comments of one owner;
   * absent: any number.
   */
  guestLimit?: number | undefined
}

/**
 * Files on issues, comments and releases. Each counts toward the owner of the repository, not the uploader.
 * Methods return undefined when one does not exist or the viewer cannot see it. Methods that change
 * attachments throw `forbidden` unless the viewer can write to the repository or is the author of the issue
 * or comment.
 */
export class Attachments {
  readonly #services: RepositoryServices
  readonly #onError: (error: unknown, fields: object) => void
  /** Downloads that are not counted yet, by the ids of attachments. */
  readonly #downloads = new Map<number, number>()
  #counting: Promise<void> | undefined

  /** @param onError called when a download cannot be counted */
  constructor(services: RepositoryServices, onError: (error: unknown, fields: object) => void) {
    this.#services = services
    this.#onError = onError
  }

  /**
   * Whether the target exists. Called before the content is read.
   * @throws AllotError forbidden
   */
  findsTarget(viewer: SignedIn, path: RepositoryName, on: AttachmentTargetName): Promise<boolean> {
    return this.#services.store.read(async (tx) => (await writableTarget(tx, viewer, path, on)) !== undefined)
  }

  /**
   * Adds an attachment.
   * @throws AllotError too_large, also beyond the limit of a day; over_quota when the host refuses it;
   * invalid for a bad name; not_found when the target was deleted meanwhile; forbidden
   */
  async add(
    viewer: SignedIn,
    path: RepositoryName,
    on: AttachmentTargetName,
    { name, content, maxSize, guestLimit }: NewAttachment,
  ): Promise<Attachment> {
    const { store, files } = this.#services
    checkFileName(name)
    const guestIn = ({ isGuest, repository }: WritableTarget) =>
      isGuest && guestLimit !== undefined ? { account: viewer.id, owner: repository.owner } : undefined
    const target = await store.read(async (tx) => {
      const found = await writableTarget(tx, viewer, path, on)
      const guest = found && guestIn(found)
      if (guest !== undefined) await refuseBeyondDay(tx, guest, guestLimit!)
      return found
    })
    if (target === undefined) throw targetDeleted()
    const uuid = randomUUID()
    const place = filePlaceOf({ uuid, repository: target.repository.id })
    const counted = {
      as: target.counted.on === 'issue' ? 'issues' : 'releases',
      owner: target.repository.owner,
      by: viewer.id,
      repository: target.repository.id,
      kind: 'attachment',
    } as const
    return files.add(place, content, { maxSize }, counted, async (tx, { size }) => {
      const current = await writableTarget(tx, viewer, path, on)
      if (current?.id !== target.id) throw targetDeleted()
      await refuseFull(tx, this.#services, current)
      const guest = guestIn(current)
      if (guest !== undefined) await countGuestUpload(tx, guest, guestLimit!, size)
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
   * Deletes an attachment with its file, also in an archived repository that the viewer administers.
   * @returns whether it existed
   * @throws AllotError forbidden
   */
  remove(viewer: SignedIn, path: RepositoryName, on: AttachmentTargetName, id: number): Promise<boolean> {
    return this.#services.disk.write(async (tx) => {
      const attachment = await attachmentOn(tx, await writableTarget(tx, viewer, path, on, true), id)
      if (attachment !== undefined) await removeAttachment(tx, this.#services, attachment)
      return attachment !== undefined
    })
  }

  /**
   * Opens the attachment of a download URL, which counts as a download.
   * @throws AllotError forbidden when the credentials lack the scope to read its issue or release
   */
  async open(viewer: Viewer, uuid: string): Promise<SentFile | undefined> {
    const attachment = await this.#services.store.read(async (tx) => {
      const found = UUID.test(uuid) ? await attachments.findBy(tx, 'uuid', [uuid]) : undefined
      // Without scopes: which scope is needed depends on the attachment.
      const account = viewer && { id: viewer.id, admin: viewer.admin }
      return found && (await targetOf(tx, account, found)) && found
    })
    if (attachment === undefined) return undefined
    if (viewer !== null)
      requireScopes(viewer, { scope: attachment.on === 'release' ? 'read:repository' : 'read:issue' })
    const { size, name } = attachment
    return { size, name, tag: uuid, read: (range) => this.#read(attachment, range) }
  }

  async #read(attachment: Attachment, range: ByteRange | undefined): Promise<Readable> {
    const { id } = attachment
    if (range === undefined) {
      this.#downloads.set(id, (this.#downloads.get(id) ?? 0) + 1)
      this.#counting ??= this.#count()
    }
    return this.#services.files.read(filePlaceOf(attachment), range)
  }

  /** One write at a time counts all downloads that came during the one before: no download waits for it. */
  async #count(): Promise<void> {
    while (this.#downloads.size > 0) {
      const counts = [...this.#downloads]
      this.#downloads.clear()
      const work = this.#services.store.write(async (tx) => {
        for (const [id, count] of counts) {
          const attachment = await attachments.get(tx, [id])
          if (attachment !== undefined)
            await attachments.save(tx, { ...attachment, downloads: attachment.downloads + count })
        }
      })
      await work.catch((error) => this.#onError(error, { attachments: counts.map(([id]) => id) }))
    }
    this.#counting = undefined
  }

  /** Resolves when all downloads are counted. */
  async close(): Promise<void> {
    await this.#counting
  }
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
