import type { Readable } from 'node:stream'
import { now } from '../clock.ts'
import type { OnDeletionError } from '../disk.ts'
import { AllotError } from '../errors.ts'
import {
  type ByteRange,
  type ContentInfo,
  checkPlace,
  type ExpectedContent,
  type FilePlace,
  type FileStorage,
  type StagedFile,
} from '../files/index.ts'
import type { BeforeStore, CheckAgain, Storing } from '../quota/before-store.ts'
import type { Usage } from '../quota/subjects.ts'
import { files, type StoredFile } from '../records/schema/index.ts'
import type { Store, WriteContext } from '../records/store.ts'
import { type ReadTransaction, StorageError } from '../storage/index.ts'
import { givenUp, isAbandoned, leftoverAge } from './disk-journals.ts'

interface StoredFilesOptions {
  readonly store: Store
  readonly fileStorage: FileStorage
  /** Undefined when only copies are stored. */
  readonly beforeStore: BeforeStore | undefined
  readonly onDeletionError: OnDeletionError
}

/** What the bytes of a file count as, and for whom. */
type CountedFile = Omit<Storing, 'change'> & { readonly as: keyof Usage }

/**
 * Stored files with their records. A file and its record cannot be written in one transaction, so a record
 * has a state:
 *
 *   arriving   saved before the content is moved to its place
 *   kept       set in the write that saves the record the file belongs to
 *   leaving    set in the write that removes that record; the file is deleted next, and its own record last
 *
 * Files that a crash left arriving or leaving are deleted as lib/repositories/disk-journals.ts says.
 * Invariant: the content of a kept file is durable.
 */
export class StoredFiles {
  readonly #options: StoredFilesOptions
  /** Files to delete, in batches: each file before its record. */
  #queue: FilePlace[] = []
  #deleting: Promise<void> | undefined

  constructor(options: StoredFilesOptions) {
    this.#options = options
  }

  /**
   * Stores a file. When `save` throws, nothing is left of it.
   * @param place a place that was never used before, so that no other request writes or removes the same file
   * @param countedAs what the host is asked as soon as the size is known; null for copies, when the whole
   * copy was asked about
   * @param save saves the record that the file belongs to; it can run more than once, and must itself check
   * that the repository or account still exists and that the request is permitted
   */
  async add<T>(
    place: FilePlace,
    content: Readable,
    expected: ExpectedContent,
    countedAs: CountedFile | null,
    save: (tx: WriteContext, file: ContentInfo) => Promise<T>,
  ): Promise<T> {
    const { store, fileStorage } = this.#options
    checkPlace(place)
    const early = expected.size === undefined ? undefined : await this.#ask(countedAs, expected.size)
    const staged = await fileStorage.stage(content, expected)
    try {
      const { size, sha256 } = staged
      const checkAgain = expected.size === undefined ? await this.#ask(countedAs, size) : early
      const file = { ...placeIn(place), size, sha256, state: 'arriving' as const, since: now() }
      await store.write((tx) => insert(tx, file))
      return await this.#keep(staged, file, async (tx) => {
        const saved = await save(tx, staged)
        await checkAgain?.(tx)
        return saved
      })
    } catch (error) {
      await fileStorage.discard(staged)
      throw error
    }
  }

  async #ask(counted: CountedFile | null, size: number): Promise<CheckAgain | undefined> {
    if (counted === null) return undefined
    const { as, ...storing } = counted
    return this.#options.beforeStore?.ask({ ...storing, change: { [as]: size } })
  }

  /** The record of a kept file; undefined for other states. */
  async find(tx: ReadTransaction, place: FilePlace): Promise<StoredFile | undefined> {
    const file = await files.get(tx, idOf(place))
    return file?.state === 'kept' ? file : undefined
  }

  /**
   * The content of a file, or a range of it.
   * @throws AllotError not_found when it was deleted meanwhile
   */
  read(place: FilePlace, range?: ByteRange): Promise<Readable> {
    return this.#options.fileStorage.read(place, range).catch((cause: NodeJS.ErrnoException) => {
      if (cause.code !== 'ENOENT') throw cause
      throw new AllotError('not_found', 'the file was deleted', { cause })
    })
  }

  /** Deletes the file after the commit of the write that removes the record it belongs to. */
  async deleteAfterCommit(tx: WriteContext, place: FilePlace): Promise<void> {
    const file = await this.find(tx, place)
    if (file !== undefined) await this.#markLeaving(tx, file)
  }

  /**
   * Resolves when every file of a deleted record is deleted, is kept by a `DeletionHold` (lib/disk.ts) until
   * that ends, or could not be deleted.
   */
  async idle(): Promise<void> {
    await this.#deleting
  }

  /** Deletes what a crash left on the disk. Called at the start, before any file arrives. */
  async recover(): Promise<void> {
    const { store, fileStorage } = this.#options
    await fileStorage.recover(leftoverAge(store))
    await this.settleAbandoned()
  }

  /** Deletes the files that are abandoned. */
  async settleAbandoned(): Promise<void> {
    const { store, onDeletionError } = this.#options
    const unsettled = await store.read((tx) => files.list(tx, 'unsettled', { prefix: [] }))
    for (const file of unsettled.filter((one) => isAbandoned(store, one)))
      await store
        .write(async (tx) => {
          // The request may have ended since the records were read.
          const current = await files.get(tx, idOf(file))
          if (current !== undefined && current.state !== 'kept' && isAbandoned(store, current))
            await this.#markLeaving(tx, current)
        })
        .catch((error) => onDeletionError(error, placeIn(file)))
    await this.idle()
  }

  /** Moves a staged file to its place and saves its record as kept, in the write that `save` is part of. */
  async #keep<T>(staged: StagedFile, file: StoredFile, save: (tx: WriteContext) => Promise<T>): Promise<T> {
    const { store, fileStorage } = this.#options
    let isKnown = true
    try {
      await fileStorage.put(staged, file)
      return await store.write(async (tx) => {
        tx.afterCommit((isCommitted) => {
          isKnown = isCommitted
        })
        const saved = await save(tx)
        const before = await files.save(tx, { ...file, state: 'kept' })
        if (before?.state !== 'arriving') throw givenUp()
        return saved
      })
    } catch (error) {
      // After a storage error the write may be durable anyway; a later start decides.
      if (isKnown && !(error instanceof StorageError))
        await store.write((tx) => this.#giveUp(tx, file)).catch(() => undefined)
      throw error
    }
  }

  /**
   * Deletes a file that was not kept, after the commit. Looks again, since a kept file belongs to a record.
   */
  async #giveUp(tx: WriteContext, file: StoredFile): Promise<void> {
    const current = await files.get(tx, idOf(file))
    if (current?.state !== 'kept') await this.#markLeaving(tx, file)
  }

  async #markLeaving(tx: WriteContext, file: StoredFile): Promise<void> {
    await files.save(tx, { ...file, state: 'leaving', since: now() })
    // With an unknown outcome the record may still exist, so the file stays; a later start decides.
    tx.afterCommit((isCommitted) => isCommitted && this.#delete(file))
  }

  #delete(place: FilePlace): void {
    this.#queue.push(place)
    this.#deleting ??= this.#deleteQueued()
  }

  async #deleteQueued(): Promise<void> {
    const { store, fileStorage, onDeletionError } = this.#options
    const forget = (place: FilePlace) => store.write(async (tx) => void (await files.remove(tx, idOf(place))))
    while (this.#queue.length > 0)
      await Promise.all(
        this.#queue
          .splice(0, BATCH_SIZE)
          .map((place) =>
            fileStorage
              .remove(place, () => forget(place))
              .catch((error) => onDeletionError(error, placeIn(place))),
          ),
      )
    // There is no await between the last test of the queue and this line, so no deletion is missed.
    this.#deleting = undefined
  }
}

const idOf = ({ area, ownerId, name }: FilePlace) => [area, ownerId, name]

const placeIn = ({ area, ownerId, name }: FilePlace): FilePlace => ({ area, ownerId, name })

const insert = async (tx: WriteContext, file: StoredFile): Promise<void> => {
  if ((await files.save(tx, file)) !== undefined) throw new Error(`the file ${file.name} already exists`)
}

const BATCH_SIZE = 32
