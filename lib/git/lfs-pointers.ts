import type { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { invalid } from '../errors.ts'
import { folderOf } from './folders.ts'
import { configuration, ENVIRONMENT, startProcess } from './process.ts'
import { completionOf } from './processes.ts'
import { runGit } from './run.ts'

/** An LFS object that a file of a repository stands for. */
export interface LfsPointer {
  /** SHA-256 of the content, in hex. */
  readonly oid: string
  /** Bytes. */
  readonly size: number
}

interface PointerOptions {
  readonly directory: string
  readonly git: string
}

/**
 * All references with their targets: as long as this text is the same, so are the pointers of the repository.
 */
export const listReferences = (id: number, { directory, git }: PointerOptions): Promise<string> =>
  runGit(git, [`--git-dir=${folderOf(directory, id)}`, 'for-each-ref', '--format=%(objectname) %(refname)'])

/**
 * Finds the LFS objects of every commit of a repository, each once. Reads the small blobs only, since a
 * pointer is one.
 * @throws AllotError invalid after the last, when git could not read all; unavailable when it was killed
 */
export async function* lfsPointers(
  id: number,
  { directory, git }: PointerOptions,
): AsyncGenerator<LfsPointer> {
  const catFile = (...options: string[]) => {
    const args = [...configuration(), `--git-dir=${folderOf(directory, id)}`, 'cat-file', ...options]
    return startProcess(args, { git, env: ENVIRONMENT, isDetached: false })
  }
  const format = '--batch-check=%(objecttype) %(objectsize) %(objectname)'
  const contents = await catFile('--batch')
  // Last, since node drops the output of a process that has ended before it is read.
  const objects = await catFile('--batch-all-objects', '--unordered', format).catch((error) => {
    contents.stop()
    throw error
  })
  objects.stdin.end()
  const feeding = pipeline(objects.stdout, smallBlobs, contents.stdin)
  // The loop below ends with the output of the second command, and fails with this promise after it.
  feeding.catch(() => contents.stop())
  try {
    const seen = new Set<string>()
    for await (const blob of blobsIn(contents.stdout)) {
      const pointer = lfsPointerIn(blob)
      if (pointer === undefined || seen.has(pointer.oid)) continue
      seen.add(pointer.oid)
      yield pointer
    }
    await feeding
    await Promise.all([completionOf(objects), completionOf(contents)])
    for (const { code } of await Promise.all([objects.ended, contents.ended]))
      if (code !== 0) throw invalid('git cannot read all objects of the repository: some are damaged')
  } finally {
    objects.stop()
    contents.stop()
  }
}

/** The LFS specification: keys in alphabetical order after the version, extensions among them. */
const POINTER =
  /^version https:\/\/git-lfs\.github\.com\/spec\/v1\n(?:ext-[^\n]*\n)*oid sha256:([0-9a-f]{64})\nsize (\d{1,15})(?:\n|$)/

/**
 * Bytes. A pointer file is smaller than 1024 bytes (specification of git-lfs), and the shortest has more than
 * 100.
 */
const [MIN_SIZE, MAX_SIZE] = [100, 1024]

/** The LFS object that a file with this content stands for. */
export const lfsPointerIn = (content: Buffer): LfsPointer | undefined => {
  if (content.length >= MAX_SIZE) return undefined
  const [, oid, size] = POINTER.exec(content.toString('latin1')) ?? []
  return oid === undefined ? undefined : { oid, size: Number(size) }
}

/** Ids of the small blobs, a line each. */
async function* smallBlobs(lines: AsyncIterable<Buffer>): AsyncGenerator<string> {
  let rest = ''
  for await (const chunk of lines) {
    const parts = (rest + chunk.toString('latin1')).split('\n')
    rest = parts.pop()!
    const ids = parts.flatMap((line) => {
      const [type, size, id] = line.split(' ')
      return type === 'blob' && Number(size) >= MIN_SIZE && Number(size) < MAX_SIZE ? [`${id}\n`] : []
    })
    if (ids.length > 0) yield ids.join('')
  }
}

/** Contents in the output of `git cat-file --batch`: a header line, the content, and a newline. */
async function* blobsIn(output: Readable): AsyncGenerator<Buffer> {
  let buffer: Buffer = Buffer.alloc(0)
  for await (const chunk of output) {
    buffer = Buffer.concat([buffer, chunk as Buffer])
    for (;;) {
      const end = buffer.indexOf(0x0a)
      if (end < 0) break
      const [, type, size] = buffer.toString('latin1', 0, end).split(' ')
      // `<id> missing`: garbage collection has removed the object since it was listed.
      const next = type === 'missing' ? end + 1 : end + 1 + Number(size) + 1
      if (buffer.length < next) break
      if (type !== 'missing') yield buffer.subarray(end + 1, next - 1)
      buffer = buffer.subarray(next)
    }
  }
}
