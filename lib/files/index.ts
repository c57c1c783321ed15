import { open, rm, stat } from 'node:fs/promises'
import { resolve } from 'node:path'
import type { Readable } from 'node:stream'
import { createDeletionHold, ifMissing } from '../disk.ts'
import { type FilePlace, listFiles, pathOf, placeFile, removeFile, removeStale } from './disk.ts'
import { type ExpectedContent, type StagedFile, stage } from './staging.ts'

export { checkPlace, type FileArea, type FilePlace, isStoredName } from './disk.ts'
export type { ContentInfo, ExpectedContent, StagedFile } from './staging.ts'

/** Byte offsets, both inclusive. */
export interface ByteRange {
  readonly start: number
  readonly end: number
}

/**
 * LFS objects, package files and attachments on disk. Contents are read and written as streams; a whole file is never held
 * in memory. The store knows no records: lib/repositories/files.ts keeps files and records consistent.
 */
export interface FileStore {
  /** Writes a content to a temporary file; `put` or `discard` must follow. @throws AllotError as `stage` does */
  stage(content: Readable, expected?: ExpectedContent): Promise<StagedFile>
  /** Moves a staged file to its place, and replaces a file there. Durable when it resolves. */
  put(staged: StagedFile, place: FilePlace): Promise<void>
  discard(staged: StagedFile): Promise<void>
  /** @throws Error with code ENOENT when the file does not exist */
  read(place: FilePlace, range?: ByteRange): Promise<Readable>
  /** @returns bytes; undefined when the file does not exist */
  size(place: FilePlace): Promise<number | undefined>
  /** Removes the file if it exists, after the last hold on deletions has ended. @param onRemoved called afterwards */
  remove(place: FilePlace, onRemoved?: () => Promise<void>): Promise<void>
  /** Defers removals until the returned function is called. */
  holdDeletions(): () => Promise<void>
  /** Every file that has its place. */
  all(): AsyncIterable<FilePlace & { size: number }>
  /** Removes staged files that have not changed for `age` seconds: a killed process left them. */
  removeStale(age?: number): Promise<void>
}

const READ_BYTES = 256 * 1024

export const createFileStore = (options: { directory: string }): FileStore => {
  const directory = resolve(options.directory)
  const deletions = createDeletionHold()
  return {
    stage: (content, expected = {}) => stage(directory, content, expected),
    put: ({ path }, place) => placeFile(directory, path, place),
    discard: ({ path }) => rm(path, { force: true }),
    async read(place, range) {
      const file = await open(pathOf(directory, place), 'r')
      return file.createReadStream({ highWaterMark: READ_BYTES, ...range })
    },
    size: async (place) => (await stat(pathOf(directory, place)).catch(ifMissing(undefined)))?.size,
    async remove(place, onRemoved) {
      await deletions.remove(async () => {
        await removeFile(directory, place)
        await onRemoved?.()
      })
    },
    holdDeletions: deletions.hold,
    all: () => listFiles(directory),
    removeStale: (age = 0) => removeStale(directory, age),
  }
}
