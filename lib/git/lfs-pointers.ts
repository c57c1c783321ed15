import { invalid } from '../errors.ts'
import { folderOf } from './folders.ts'
import { BatchEnded, BatchProcess } from './objects/batch-process.ts'
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
  const folder = folderOf(directory, id)
  const batch = await BatchProcess.start(folder, { git, maxMemory: undefined })
  const format = '--batch-check=%(objecttype) %(objectsize) %(objectname)'
  const list = ['cat-file', '--batch-all-objects', '--unordered', format]
  // Last, since node drops the output of a process that has ended before it is read.
  const objects = await startProcess([...configuration(), `--git-dir=${folder}`, ...list], {
    git,
    env: ENVIRONMENT,
    isDetached: false,
  }).catch((error) => {
    batch.stop()
    throw error
  })
  objects.stdin.end()
  try {
    const seen = new Set<string>()
    // Garbage collection may have removed an object since it was listed.
    for await (const ids of smallBlobs(objects.stdout))
      for (const blob of await Promise.all(ids.map((blob) => batch.content(blob)))) {
        const pointer = blob && lfsPointerIn(blob)
        if (pointer === undefined || seen.has(pointer.oid)) continue
        seen.add(pointer.oid)
        yield pointer
      }
    await completionOf(objects)
    if ((await objects.ended).code !== 0) throw damaged()
  } catch (error) {
    throw error instanceof BatchEnded ? damaged() : error
  } finally {
    objects.stop()
    batch.stop()
  }
}

const damaged = () => invalid('git cannot read all objects of the repository: some are damaged')

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

/** Ids of the small blobs, in groups. */
async function* smallBlobs(lines: AsyncIterable<Buffer>): AsyncGenerator<string[]> {
  let rest = ''
  for await (const chunk of lines) {
    const parts = (rest + chunk.toString('latin1')).split('\n')
    rest = parts.pop()!
    yield parts.flatMap((line) => {
      const [type, size, id] = line.split(' ')
      return type === 'blob' && Number(size) >= MIN_SIZE && Number(size) < MAX_SIZE ? [id!] : []
    })
  }
}
