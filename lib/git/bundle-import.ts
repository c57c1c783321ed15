import { mkdir, open, rm } from 'node:fs/promises'
import { dirname } from 'node:path'
import { place, removeFolder, UNFINISHED } from './disk.ts'
import { setHead } from './head.ts'
import { runGit } from './run.ts'

/** A repository on its way in: the parts of its bundle, if there are any, and at last what HEAD is. */
export interface BundleImport {
  write(part: Uint8Array): Promise<void>
  /** The repository is there, whole, when this resolves. @throws Error when the bundle is none. */
  finish(head: string): Promise<void>
  /** Leaves nothing behind. */
  abandon(): Promise<void>
}

export const startBundleImport = async (git: string, folder: string): Promise<BundleImport> => {
  const path = `${folder}.bundle${UNFINISHED}`
  const unfinished = `${folder}${UNFINISHED}`
  await mkdir(dirname(folder), { recursive: true })
  const file = await open(path, 'w', 0o600)
  let size = 0

  const clean = async () => {
    await rm(path, { force: true })
    await rm(unfinished, { recursive: true, force: true })
  }
  return {
    async write(part) {
      size += part.length
      await file.appendFile(part)
    },
    async finish(head) {
      await file.close()
      await rm(unfinished, { recursive: true, force: true })
      await initialise(git, unfinished, 'main')
      if (size > 0) await fetchAll(git, unfinished, path)
      await setHead(git, unfinished, head)
      await removeFolder(folder)
      await place(unfinished, folder)
      await clean()
    },
    async abandon() {
      await file.close()
      await clean()
    },
  }
}

/** Nothing of the user's own: no templates, no hooks. */
export const initialise = async (git: string, folder: string, branch: string): Promise<void> => {
  await runGit(git, ['init', '--quiet', '--bare', '--template=', `--initial-branch=${branch}`, folder])
}

/** Every reference of the bundle, synced; fetching checks the objects and that none is missing. */
const fetchAll = (git: string, folder: string, bundle: string): Promise<string> => {
  const words = ['fetch', '--quiet', '--update-head-ok', '--no-write-fetch-head', bundle, '+refs/*:refs/*']
  return runGit(git, [`--git-dir=${folder}`, ...words], '', 0)
}
