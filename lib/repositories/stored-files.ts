import type { Readable } from 'node:stream'
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
import { StorageError } from '../storage/index.ts'
import type { DiskJournal } from './disk-journal.ts'

interface StoredFilesOptions {
  readonly store: Store
  readonly disk: DiskJournal
  readonly fileStorage: FileStorage
  /** Undefined when only copies are stored. */
  readonly beforeStore: BeforeStore | undefined
}

/** What the bytes of a file count as, and for whom. */
type CountedFile = Omit<Storing, 'change'> & { readonly as: keyof Usage }

/**
 * Stored files with their records; {@link DiskJournal} keeps both consistent. Invariant: the content of a
 * file with a record is durable.
 */
export class StoredFiles {
  readonly #options: StoredFilesOptions

  constructor(options: StoredFilesOptions) {
    this.#options = options
    const { disk, fileStorage } = options
    disk.handlers.file = (place, forget) => fileStorage.remove(place, forget)
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
    const { store, disk, fileStorage } = this.#options
    checkPlace(place)
    const early = expected.size === undefined ? undefined : await this.#ask(countedAs, expected.size)
    const staged = await fileStorage.stage(content, expected)
    try {
      const { size, sha256 } = staged
      const checkAgain = expected.size === undefined ? await this.#ask(countedAs, size) : early
      const file = { ...placeIn(place), size, sha256 }
      await store.write((tx) => disk.begin(tx, entryOf(file)))
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
    const file = await files.remove(tx, idOf(place))
    if (file !== undefined) await this.#options.disk.leave(tx, entryOf(file))
  }

  /** Moves a staged file to its place and saves its record, in the write that `save` is part of. */
  async #keep<T>(staged: StagedFile, file: StoredFile, save: (tx: WriteContext) => Promise<T>): Promise<T> {
    const { disk, fileStorage } = this.#options
    try {
      await fileStorage.put(staged, file)
      return await disk.write(async (tx) => {
        const saved = await save(tx)
        await disk.end(tx, entryOf(file))
        await files.save(tx, file)
        return saved
      })
    } catch (error) {
      // After a storage error the write may be durable anyway; a later start decides.
      if (!(error instanceof StorageError)) await disk.giveUp(entryOf(file)).catch(() => undefined)
      throw error
    }
  }
}

const idOf = ({ area, ownerId, name }: FilePlace) => [area, ownerId, name]

const placeIn = ({ area, ownerId, name }: FilePlace): FilePlace => ({ area, ownerId, name })

const entryOf = (place: FilePlace) => ({ what: 'file', ...placeIn(place) }) as const
