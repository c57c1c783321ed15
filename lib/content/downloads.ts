/** The bytes that the API and the pages send: of files of a commit, of LFS objects and of packages. */
import { Readable } from 'node:stream'
import type { ByteRange } from '../files/index.ts'
import { lfsPointerIn } from '../git/lfs-pointers.ts'
import type { PackageFile } from '../records/schema/index.ts'
import { type FoundEntry, sizesOf, typeOfContent } from '../repositories/contents/files.ts'
import type { OpenCommit } from '../repositories/contents/open-repository.ts'
import type { StoredFiles } from '../repositories/stored-files.ts'
import type { Lfs } from './lfs.ts'

/** A file to send, as `fileReply` takes it. */
export interface SentFile {
  /** Bytes. */
  readonly size: number
  /** Equal for equal content. */
  readonly tag: string
  /** File name that browsers suggest when saving. */
  readonly name: string
  /** Content type; `application/octet-stream` when absent. */
  readonly type?: string | undefined
  /**
   * Reads the file.
   * @param range first and last byte, both inclusive; the whole file when absent
   */
  read(range?: ByteRange): Promise<Readable>
}

/** Bytes of a file that is read into memory; larger ones are streamed. */
const MAX_BUFFERED = 1024 * 1024

interface LfsFiles {
  readonly lfs: Lfs
  readonly files: StoredFiles
}

/**
 * A file of a commit.
 * @param signal aborted when nobody reads the content anymore
 * @param lfs to send the LFS object that the file stands for, when the repository has it; the file as it is
 * in git when absent
 */
export const fileOfCommit = async (
  open: OpenCommit,
  { entry }: FoundEntry,
  signal: AbortSignal,
  lfs?: LfsFiles,
): Promise<SentFile> => {
  const { git, access, repository } = open
  const { id, name } = entry
  const [size = 0] = await sizesOf(open, [entry])
  const content = size <= MAX_BUFFERED ? (await git.object(access, id))?.content : undefined
  const pointer = lfs && content && lfsPointerIn(content)
  const [object] = pointer === undefined ? [] : await lfs!.lfs.find(repository.id, [pointer.oid])
  if (object !== undefined)
    return { size: object.size, tag: pointer!.oid, name, read: (range) => lfs!.files.read(object, range) }
  return {
    size,
    tag: id,
    name,
    type: typeOfContent(content),
    async read(range = { start: 0, end: size - 1 }) {
      if (content !== undefined) return Readable.from([content.subarray(range.start, range.end + 1)])
      const child = await git.start(access, 'cat-file', ['blob', id], signal)
      child.stdin.end()
      return Readable.from(partOf(child.stdout, range, size), { objectMode: false })
    },
  }
}

/** Fails when the stream ends early, so that the client does not take the part for the whole. */
async function* partOf(source: Readable, { start, end }: ByteRange, size: number): AsyncGenerator<Buffer> {
  let position = 0
  for await (const chunk of source as AsyncIterable<Buffer>) {
    const part = chunk.subarray(Math.max(start - position, 0), Math.max(end + 1 - position, 0))
    position += chunk.length
    if (part.length > 0) yield part
    if (position > end) return
  }
  if (position < size) throw new Error(`git was stopped after ${position} of ${size} bytes`)
}

/** A file of a package. */
export const fileOfPackage = (
  files: StoredFiles,
  { owner, stored, name, size, sha256 }: PackageFile,
): SentFile => ({
  ...{ size, tag: sha256, name },
  read: (range) => files.read({ area: 'packages', ownerId: owner, name: stored }, range),
})
