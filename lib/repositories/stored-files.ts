import type { Readable } from 'node:stream'
import { now } from '../clock.ts'
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
import type { JobHandler } from '../records/jobs.ts'
import { paced } from '../records/pacing.ts'
import {
  type FileArea,
  files,
  REPOSITORY_AREAS,
  repositories,
  type StoredFile,
} from '../records/schema/index.ts'
import type { Store, WriteContext } from '../records/store.ts'
import { type ReadTransaction, StorageError } from '../storage/index.ts'

/**
 * Stored files with their records. A file and its record cannot be written in one transaction, so a record has a state:
 *
 *   arriving   saved before the content is moved to its place
 *   kept       set in the write that saves the record the file belongs to
 *   leaving    set in the write that removes that record; the file is deleted next, and its own record last
 *
 * The next start removes the files that a crash left arriving or leaving. Invariant: the content of a kept file is durable.
 */
export interface HostedFiles {
  /**
   * Stores a file. When `save` throws, nothing is left of it.
   * @param place a place that was never used before, so that no other request writes or removes the same file
   * @param save saves the record that the file belongs to; it can run more than once, and must itself check that the
   * repository or account still exists and that the request is permitted
   */
  add<T>(
    place: FilePlace,
    content: Readable,
    expected: ExpectedContent,
    save: (tx: WriteContext, file: ContentInfo) => Promise<T>,
  ): Promise<T>
  /** The record of a kept file; undefined for other states. */
  find(tx: ReadTransaction, place: FilePlace): Promise<StoredFile | undefined>
  /** The content of a file, or a range of it. @throws AllotError not_found when it was deleted meanwhile */
  read(place: FilePlace, range?: ByteRange): Promise<Readable>
  /** Deletes the file after the commit of the write that removes the record it belongs to. */
  release(tx: WriteContext, place: FilePlace): Promise<void>
  /** The same for the files of a repository or account, `limit` at most. @returns how many were released */
  releaseAll(tx: WriteContext, area: FileArea, ownerId: number, limit: number): Promise<number>
  /** Resolves when every released file is deleted, or its deletion has failed. */
  idle(): Promise<void>
  /** Deletes the files that a crash left. Called at the start, before any file arrives. */
  sweep(): Promise<void>
}

interface HostedFilesOptions {
  store: Store
  disk: FileStorage
  onError: (error: unknown, fields: object) => void
}

export const createHostedFiles = ({ store, disk, onError }: HostedFilesOptions): HostedFiles => {
  const deletions = createDeletions(store, disk, onError)

  const release = async (tx: WriteContext, file: StoredFile) => {
    await files.save(tx, { ...file, state: 'leaving', since: now() })
    // With an unknown outcome the record may still exist, so the file stays; the next start decides.
    tx.afterCommit((isKnown) => isKnown && deletions.add(file))
  }

  return {
    async add(place, content, expected, save) {
      checkPlace(place)
      const staged = await disk.stage(content, expected)
      try {
        const { size, sha256 } = staged
        const file = { ...placeIn(place), size, sha256, state: 'arriving' as const, since: now() }
        await store.write((tx) => insert(tx, file))
        return await keep({ store, disk, release }, staged, file, (tx) => save(tx, staged))
      } finally {
        await disk.discard(staged)
      }
    },
    async find(tx, place) {
      const file = await files.get(tx, idOf(place))
      return file?.state === 'kept' ? file : undefined
    },
    read: (place, range) =>
      disk.read(place, range).catch((cause: NodeJS.ErrnoException) => {
        if (cause.code !== 'ENOENT') throw cause
        throw new AllotError('not_found', 'the file was deleted', { cause })
      }),
    async release(tx, place) {
      const file = await files.get(tx, idOf(place))
      if (file?.state === 'kept') await release(tx, file)
    },
    async releaseAll(tx, area, ownerId, limit) {
      const kept = await files.list(tx, 'owner', { prefix: [area, ownerId], limit })
      for await (const file of paced(kept)) await release(tx, file)
      return kept.length
    },
    idle: deletions.idle,
    async sweep() {
      // In a shared store, young files can belong to another process that is still at work.
      const age = store.driver.shared ? MIN_AGE_SHARED : 0
      await disk.removeStale(age)
      const last = now() - age
      const unsettled = await store.read((tx) => files.list(tx, 'unsettled', { prefix: [] }))
      for (const file of unsettled) if (file.since <= last) deletions.add(file)
      await deletions.idle()
    },
  }
}

interface KeepParts {
  store: Store
  disk: FileStorage
  release: (tx: WriteContext, file: StoredFile) => Promise<void>
}

/** Moves a staged file to its place and saves its record as kept, in the write that `save` is part of. */
const keep = async <T>(
  { store, disk, release }: KeepParts,
  staged: StagedFile,
  file: StoredFile,
  save: (tx: WriteContext) => Promise<T>,
): Promise<T> => {
  let isKnown = true
  try {
    await disk.put(staged, file)
    return await store.write(async (tx) => {
      tx.afterCommit((known) => {
        isKnown = known
      })
      const saved = await save(tx)
      await files.save(tx, { ...file, state: 'kept' })
      return saved
    })
  } catch (error) {
    // After a storage error the write may be durable all the same; the next start decides.
    if (isKnown && !(error instanceof StorageError))
      await store.write((tx) => release(tx, file)).catch(() => undefined)
    throw error
  }
}

/** Deletes the files of a deleted repository. */
export const removeFilesJob = (hosted: HostedFiles): JobHandler => ({
  prepare: hosted.idle,
  async step(tx, id, limit) {
    if ((await repositories.get(tx, [id])) !== undefined) return 0
    let released = 0
    for (const area of REPOSITORY_AREAS) released += await hosted.releaseAll(tx, area, id, limit - released)
    return released
  },
})

const idOf = ({ area, ownerId, name }: FilePlace) => [area, ownerId, name]

const placeIn = ({ area, ownerId, name }: FilePlace): FilePlace => ({ area, ownerId, name })

const insert = async (tx: WriteContext, file: StoredFile): Promise<void> => {
  if ((await files.save(tx, file)) !== undefined) throw new Error(`the file ${file.name} exists already`)
}

/** Queue of deletions, done in batches: each file is deleted before its record. */
const createDeletions = (store: Store, disk: FileStorage, onError: HostedFilesOptions['onError']) => {
  let queue: FilePlace[] = []
  let running: Promise<void> | undefined

  const forget = (place: FilePlace) => store.write(async (tx) => void (await files.remove(tx, idOf(place))))

  const removeAll = async () => {
    while (queue.length > 0) {
      const batch = queue.slice(0, BATCH_SIZE)
      queue = queue.slice(BATCH_SIZE)
      await Promise.all(
        batch.map((place) =>
          disk.remove(place, () => forget(place)).catch((error) => onError(error, placeIn(place))),
        ),
      )
    }
    // There is no await between the last test of the queue and this line, so no deletion is missed.
    running = undefined
  }

  return {
    add(place: FilePlace) {
      queue.push(place)
      running ??= removeAll()
    },
    idle: async () => running,
  }
}
const BATCH_SIZE = 32

/** Seconds after which a file in a shared store cannot belong to a request under way any more. */
const MIN_AGE_SHARED = 24 * 3600
