import { open, rm, stat } from 'node:fs/promises'
import { resolve } from 'node:path'
import type { Readable } from 'node:stream'
import { createDeletionHold } from './deletion-hold.ts'
import { absentAs, type FilePlace, filesIn, pathOf, putFile, removeFile, removeStale } from './disk.ts'
import { type ExpectedContent, type StagedFile, stage } from './staging.ts'

export { checkPlace, type FileArea, type FilePlace, isStoredName } from './disk.ts'
export type { ContentInfo, ExpectedContent, StagedFile } from './staging.ts'

/** From the first byte to the last one, both included. */
export interface ByteRange {
  readonly start: number
  readonly end: number
}

/** Files on the disk, each with its own place, that come and go as streams: none is ever whole in memory. */
export interface FileStore {
  /** Writes what comes to the disk; {@link putFile} or {@link discard} is to follow. */
  stage(content: Readable, expected?: ExpectedContent): Promise<StagedFile>
  /** Gives a content its place, which may hold the same already. Durable when it resolves. */
  put(arrived: StagedFile, place: FilePlace): Promise<void>
  discard(arrived: StagedFile): Promise<void>
  /** The bytes of a file, or some of them. @throws Error with code ENOENT when there is none. */
  read(place: FilePlace, range?: ByteRange): Promise<Readable>
  /** Bytes; undefined when there is no such file. */
  size(place: FilePlace): Promise<number | undefined>
  /** Fine when there is none. While somebody keeps it is done afterwards, and `removed` is called then. */
  remove(place: FilePlace, removed?: () => Promise<void>): Promise<void>
  /** From now on until the answer is called every file stays where it is. */
  holdDeletions(): () => Promise<void>
  /** Every file there is. */
  all(): AsyncIterable<FilePlace & { size: number }>
  /** Removes what a kill has left of contents that were arriving, and is older than `age` seconds. */
  removeStale(age?: number): Promise<void>
}

export const createFileStore = ({ directory: given }: { directory: string }): FileStore => {
  const directory = resolve(given)
  const { keep, remove } = createDeletionHold((place) => removeFile(directory, place))
  return {
    stage: (content, expected = {}) => stage(directory, content, expected),
    put: ({ path }, place) => putFile(directory, path, place),
    discard: ({ path }) => rm(path, { force: true }),
    async read(place, range) {
      const file = await open(pathOf(directory, place), 'r')
      return file.createReadStream({ highWaterMark: READ, ...range })
    },
    size: async (place) => (await stat(pathOf(directory, place)).catch(absentAs(undefined)))?.size,
    remove,
    holdDeletions: keep,
    all: () => filesIn(directory),
    removeStale: (age = 0) => removeStale(directory, age),
  }
}

/** Bytes that are read at once. */
const READ = 256 * 1024
