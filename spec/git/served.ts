import assert from 'node:assert/strict'
import { existsSync, readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import type { AllotOptions } from '../../lib/index.ts'
import { temporaryDirectory } from '../support/folder.ts'
import { mountPages, type Person, start, type TestServer } from '../support/test-server.ts'
import { git } from './client.ts'

export interface ServedGit extends TestServer {
  /** The folder of a repository on the server. */
  folderOf(path: string): Promise<string>
  /**
   * Creates an empty repository.
   * @returns its path
   */
  repository(owner: Person, name: string, more?: object): Promise<string>
  /** Asserts that the counted sizes match the disk, and that `git fsck` succeeds in every repository. */
  assertCounted(...owners: string[]): Promise<void>
}

export const startGit = async (
  options: Partial<AllotOptions> = {},
  ...mounted: Parameters<typeof start> extends [unknown?, ...infer Rest] ? Rest : never
): Promise<ServedGit> => {
  const directory = (options.repositories || undefined)?.directory ?? temporaryDirectory()
  const allot = await start({ repositories: { directory }, ...options }, ...mounted)
  const recordOf = async (path: string) => (await allot.as(allot.root, 'GET', `/repos/${path}`)).body
  /** What is in each folder that `git fsck` has found sound. */
  const sound = new Map<string, string>()
  const folder = (id: number) => join(directory, (id % 256).toString(16).padStart(2, '0'), `${id}.git`)

  return {
    ...allot,
    folderOf: async (path) => folder((await recordOf(path)).id),
    async repository(owner, name, more = {}) {
      const { status, text } = await allot.as(owner, 'POST', '/user/repos', { name, ...more })
      assert.equal(status, 201, text)
      return `${owner.name}/${name}`
    },
    async assertCounted(...owners) {
      for (const owner of owners) {
        const { body } = await allot.as(allot.root, 'GET', `/users/${owner}/repos?limit=50`)
        const used = { public: 0, private: 0 }
        for (const { id, size, private: isPrivate } of body) {
          const files = filesIn(folder(id))
          const bytes = sizeOf(files)
          const { lfs } = (await allot.allot.hosting.repositories.byId(id))!
          assert.equal(size, Number((BigInt(bytes) + BigInt(lfs)) / 1024n))
          used[isPrivate ? 'private' : 'public'] += bytes
          const content = JSON.stringify(files)
          if (sound.get(folder(id)) === content) continue
          await git(folder(id), 'fsck', '--strict', '--no-dangling')
          sound.set(folder(id), content)
        }
        assert.deepEqual((await allot.allot.quota.info(owner)).used.size.repos, used, owner)
      }
    },
  }
}

/** The same with the pages at the root, before the API. */
export const startGitWithPages = (): Promise<ServedGit> => startGit({}, { mount: mountPages })

type File = [path: string, size: number, changed: number]

/** Looks again when git removes a file or a folder meanwhile. */
const filesIn = (folder: string, attempts = 1000): File[] => {
  try {
    return readdirSync(folder, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map(({ parentPath, name }) => {
        const path = join(parentPath, name)
        const { size, mtimeMs } = statSync(path)
        return [path, size, mtimeMs]
      })
  } catch (error) {
    const isGone = (error as NodeJS.ErrnoException).code === 'ENOENT' && existsSync(folder)
    if (!isGone || attempts === 1) throw error
    return filesIn(folder, attempts - 1)
  }
}

const sizeOf = (files: File[]): number => files.reduce((sum, [, size]) => sum + size, 0)

export const bytesIn = (folder: string): number => sizeOf(filesIn(folder))
