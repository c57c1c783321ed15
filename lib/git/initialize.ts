import { mkdir, readdir, readFile, stat, writeFile } from 'node:fs/promises'
import { dirname, join, relative } from 'node:path'
import { diskFault } from '../disk.ts'
import { runGit } from './run.ts'

/**
 * What git creates as an empty repository. Folders precede what is in them; paths are relative to the
 * repository.
 */
interface Skeleton {
  readonly folders: readonly { path: string; mode: number }[]
  readonly files: readonly { path: string; mode: number; content: Buffer }[]
}

/** By program and folder of the repositories: git's configuration file says what their file system can do. */
const skeletons = new Map<string, Skeleton>()

/**
 * Creates an empty repository, without the user's templates and hooks. Git creates the first one of this
 * process; the others get the same files without it, in a tenth of the time that a process takes.
 * @param branch a valid name, which HEAD refers to
 * @throws AllotError unavailable when git is not installed or the disk cannot be used, storage_full
 */
export const initialize = async (git: string, folder: string, branch: string): Promise<void> => {
  const place = `${git}\0${dirname(dirname(folder))}`
  const skeleton = skeletons.get(place)
  try {
    if (skeleton !== undefined) return await write(skeleton, folder, branch)
    await runGit(git, ['init', '--quiet', '--bare', '--template=', `--initial-branch=${branch}`, folder])
    skeletons.set(place, await read(folder))
  } catch (cause) {
    throw diskFault(cause) ?? cause
  }
}

const headOf = (branch: string): string => `ref: refs/heads/${branch}\n`

const read = async (folder: string): Promise<Skeleton> => {
  const entries = await readdir(folder, { withFileTypes: true, recursive: true })
  const found = await Promise.all(
    entries.map(async (entry) => {
      const path = join(entry.parentPath, entry.name)
      const { mode } = await stat(path)
      const content = entry.isFile() ? await readFile(path) : undefined
      return { path: relative(folder, path), mode: mode & 0o777, content }
    }),
  )
  const folders = found.filter(({ content }) => content === undefined)
  return {
    folders: [{ path: '.', mode: (await stat(folder)).mode & 0o777 }, ...folders],
    files: found.flatMap(({ content, ...rest }) => (content === undefined ? [] : [{ ...rest, content }])),
  }
}

const write = async ({ folders, files }: Skeleton, folder: string, branch: string): Promise<void> => {
  for (const { path, mode } of folders) await mkdir(join(folder, path), { mode })
  for (const { path, mode, content } of files)
    await writeFile(join(folder, path), path === 'HEAD' ? headOf(branch) : content, { mode })
}
