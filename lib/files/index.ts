import { open, rm, stat } from 'node:fs/promises'
import { resolve } from 'node:path'
import type { Readable } from 'node:stream'
import { type Arrived, arrive, type Expected } from './arriving.ts'
import { absentAs, filesIn, put, sweepArriving, take } from './disk.ts'
import { createKeeping } from './keeping.ts'
import { type FilePlace, pathOf } from './place.ts'

export type { Arrived, Expected, Facts } from './arriving.ts'
export { checkPlace, type FileArea, type FilePlace, isStoredName } from './place.ts'

/** From the first byte to the last one, both included. */
export interface ByteRange {
  readonly start: number
  readonly end: number
}

/** Files on the disk, each with its own place, that come and go as streams: none is ever whole in memory. */
export interface FileStore {
  /** Writes what comes to the disk; {@link put} or {@link discard} is to follow. */
  arrive(content: Readable, expected?: Expected): Promise<Arrived>
  /** Gives a content its place, which may hold the same already. Durable when it resolves. */
  put(arrived: Arrived, place: FilePlace): Promise<void>
  discard(arrived: Arrived): Promise<void>
  /** The bytes of a file, or some of them. @throws Error with code ENOENT when there is none. */
  read(place: FilePlace, range?: ByteRange): Promise<Readable>
  /** Bytes; undefined when there is no such file. */
  size(place: FilePlace): Promise<number | undefined>
  /** Fine when there is none. While somebody keeps it is done afterwards, and `removed` is called then. */
  remove(place: FilePlace, removed?: () => Promise<void>): Promise<void>
  /** From now on until the answer is called every file stays where it is. */
  keep(): () => Promise<void>
  /** Every file there is. */
  all(): AsyncIterable<FilePlace & { size: number }>
  /** Removes what a kill has left of contents that were arriving, and is older than `age` seconds. */
  sweep(age?: number): Promise<void>
}

export const createFileStore = ({ directory: given }: { directory: string }): FileStore => {
  const directory = resolve(given)
  const { keep, remove } = createKeeping((place) => take(directory, place))
  return {
    arrive: (content, expected = {}) => arrive(directory, content, expected),
    put: ({ path }, place) => put(directory, path, place),
    discard: ({ path }) => rm(path, { force: true }),
    async read(place, range) {
      const file = await open(pathOf(directory, place), 'r')
      return file.createReadStream({ highWaterMark: READ, ...range })
    },
    size: async (place) => (await stat(pathOf(directory, place)).catch(absentAs(undefined)))?.size,
    remove,
    keep,
    all: () => filesIn(directory),
    sweep: (age = 0) => sweepArriving(directory, age),
  }
}

/** Bytes that are read at once. */
const READ = 256 * 1024
