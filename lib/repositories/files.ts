import type { Readable } from 'node:stream'
import { now } from '../clock.ts'
import { AllotError } from '../errors.ts'
import {
  type ByteRange,
  type ContentInfo,
  checkPlace,
  type ExpectedContent,
  type FileArea,
  type FilePlace,
  type FileStore,
  type StagedFile,
} from '../files/index.ts'
import type { JobHandler } from '../records/jobs.ts'
import { paced } from '../records/pacing.ts'
import { files, repositories, type StoredFile } from '../records/schema/index.ts'
import type { Store, WriteContext } from '../records/store.ts'
import type { ReadTransaction } from '../storage/driver.ts'
import { StorageError } from '../storage/errors.ts'

/**
 * A file and its record cannot be written in one transaction. So a file is recorded as arriving before it is given its
 * place, and becomes kept in the write that saves what it belongs to; in the write that takes that away it becomes leaving,
 * and its record goes when it has gone itself. What a kill leaves arriving or leaving is removed at the next start. All
 * that was answered is on the disk: the content, its place, then the record.
 */
export interface HostedFiles {
  /**
   * Takes a file in. What `save` refuses leaves nothing.
   * @param place whose name was never used before: so nobody else writes or removes the same file
   * @param save the write that saves what the file belongs to, which may run again; it is to find out itself whether the
   * repository or account is still there, and who may
   */
  add<T>(
    place: FilePlace,
    content: Readable,
    expected: ExpectedContent,
    save: (tx: WriteContext, file: ContentInfo) => Promise<T>,
  ): Promise<T>
  /** Undefined when there is none, or it is not kept yet or any more. */
  find(tx: ReadTransaction, place: FilePlace): Promise<StoredFile | undefined>
  /** The bytes of a file that was found, or some of them. @throws AllotError not_found when it is gone meanwhile */
  read(place: FilePlace, range?: ByteRange): Promise<Readable>
  /** Removes the file once the write is durable that takes away what it belongs to. */
  release(tx: WriteContext, place: FilePlace): Promise<void>
  /** The same for at most so many of a keeper's. @returns how many */
  releaseAll(tx: WriteContext, area: FileArea, keeper: number, limit: number): Promise<number>
  /** Resolves when every file that was released is removed, or has failed to be. */
  idle(): Promise<void>
  /** Removes what a kill has left; only before anything arrives. */
  sweep(): Promise<void>
}

export interface HostedFilesOptions {
  store: Store
  disk: FileStore
  onError: (error: unknown, fields: object) => void
}

export const createHostedFiles = ({ store, disk, onError }: HostedFilesOptions): HostedFiles => {
  const leaving = createLeaving(store, disk, onError)

  const release = async (tx: WriteContext, file: StoredFile) => {
    await files.save(tx, { ...file, state: 'leaving', since: now() })
    // A record that may still be there keeps its file; the next start knows.
    tx.afterCommit((isKnown) => isKnown && leaving.add(file))
  }

  const settle = async <T>(
    arrived: StagedFile,
    file: StoredFile,
    save: (tx: WriteContext) => Promise<T>,
  ): Promise<T> => {
    let isKnown = true
    try {
      await disk.put(arrived, file)
      return await store.write(async (tx) => {
        tx.afterCommit((known) => {
          isKnown = known
        })
        const saved = await save(tx)
        await files.save(tx, { ...file, state: 'kept' })
        return saved
      })
    } catch (error) {
      // A write that the disk has refused may be there after all: the next start knows.
      if (isKnown && !(error instanceof StorageError))
        await store.write((tx) => release(tx, file)).catch(() => undefined)
      throw error
    }
  }

  return {
    async add(place, content, expected, save) {
      checkPlace(place)
      const arrived = await disk.stage(content, expected)
      try {
        const { size, sha256 } = arrived
        const file = { ...placeIn(place), size, sha256, state: 'arriving' as const, since: now() }
        await store.write((tx) => note(tx, file))
        return await settle(arrived, file, (tx) => save(tx, arrived))
      } finally {
        await disk.discard(arrived)
      }
    },
    async find(tx, place) {
      const file = await files.get(tx, idOf(place))
      return file?.state === 'kept' ? file : undefined
    },
    read: (place, range) =>
      disk.read(place, range).catch((cause: NodeJS.ErrnoException) => {
        if (cause.code !== 'ENOENT') throw cause
        throw new AllotError('not_found', 'the file is gone', { cause })
      }),
    async release(tx, place) {
      const file = await files.get(tx, idOf(place))
      if (file?.state === 'kept') await release(tx, file)
    },
    async releaseAll(tx, area, keeper, limit) {
      const kept = await files.list(tx, 'keeper', { prefix: [area, keeper], limit })
      for await (const file of paced(kept)) await release(tx, file)
      return kept.length
    },
    idle: leaving.idle,
    async sweep() {
      // Where other processes work on the same store, what is young is theirs.
      const age = store.driver.shared ? GROWN : 0
      await disk.removeStale(age)
      const last = now() - age
      const left = await store.read((tx) => files.list(tx, 'unsettled', { prefix: [] }))
      for (const file of left) if (file.since <= last) leaving.add(file)
      await leaving.idle()
    },
  }
}

/** Removes the files of a repository that is gone. */
export const removeFilesJob = (hosted: HostedFiles): JobHandler => ({
  prepare: hosted.idle,
  async step(tx, id, limit) {
    if ((await repositories.get(tx, [id])) !== undefined) return 0
    let did = 0
    for (const area of OF_REPOSITORIES) did += await hosted.releaseAll(tx, area, id, limit - did)
    return did
  },
})
const OF_REPOSITORIES: readonly FileArea[] = ['lfs', 'attachments']

const idOf = ({ area, keeper, name }: FilePlace) => [area, keeper, name]

const placeIn = ({ area, keeper, name }: FilePlace): FilePlace => ({ area, keeper, name })

const note = async (tx: WriteContext, file: StoredFile): Promise<void> => {
  if ((await files.save(tx, file)) !== undefined) throw new Error(`the file ${file.name} is there already`)
}

/** Removes files one batch after another, each file before its record. */
const createLeaving = (store: Store, disk: FileStore, failed: HostedFilesOptions['onError']) => {
  let due: FilePlace[] = []
  let working: Promise<void> | undefined

  const forget = (place: FilePlace) => store.write(async (tx) => void (await files.remove(tx, idOf(place))))

  const removeAll = async () => {
    while (due.length > 0) {
      const batch = due.slice(0, BATCH_SIZE)
      due = due.slice(BATCH_SIZE)
      await Promise.all(
        batch.map((place) =>
          disk.remove(place, () => forget(place)).catch((error) => failed(error, placeIn(place))),
        ),
      )
    }
    // Nothing is awaited since the last look, so none is missed.
    working = undefined
  }

  return {
    add(place: FilePlace) {
      due.push(place)
      working ??= removeAll()
    },
    idle: async () => working,
  }
}
const BATCH_SIZE = 32

/** Seconds after which nobody is at work on it any more. */
const GROWN = 24 * 3600
