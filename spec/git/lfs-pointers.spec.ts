import assert from 'node:assert/strict'
import { mkdirSync } from 'node:fs'
import { dirname } from 'node:path'
import { describe, it } from 'node:test'
import { folderOf } from '../../lib/git/folders.ts'
import { lfsPointers } from '../../lib/git/lfs-pointers.ts'
import { POINTER } from '../api/contents/repository.ts'
import { temporaryDirectory } from '../support/folder.ts'
import { wrappedGit } from '../support/wrapped-git.ts'
import { aCheckout, git } from './client.ts'

/** Sizes of the LFS objects in a repository of three pointers, read by a git that runs these lines first. */
const sizesWith = async (lines: string): Promise<number[]> => {
  const directory = temporaryDirectory()
  const folder = folderOf(directory, 1)
  mkdirSync(dirname(folder))
  const files = [1, 2, 3].map((size) => [`${size}.bin`, POINTER(String(size).repeat(64), size)])
  const checkout = await aCheckout(Object.fromEntries(files))
  await git(checkout, 'clone', '--quiet', '--bare', checkout, folder)
  const sizes: number[] = []
  for await (const { size } of lfsPointers(1, { directory, git: wrappedGit(lines) })) sizes.push(size)
  return sizes.sort()
}

const listing = (lines: string) => `case "$*" in *--batch-all-objects*) ${lines};; esac`

describe('The LFS objects of a repository', () => {
  it('are found when an object is removed after it was listed', async () => {
    const removed = `echo "blob 130 ${'1'.repeat(40)}"`
    assert.deepEqual(await sizesWith(listing(removed)), [1, 2, 3])
  })

  it('are not taken for complete when git is killed while it lists the objects', async () => {
    await assert.rejects(sizesWith(listing('kill -9 $$')), { code: 'unavailable' })
  })
})
