import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { FolderSync } from '../../lib/files/folder-sync.ts'

const FOLDERS = ['/d', '/d/lfs', '/d/lfs/07', '/d/lfs/07/7', '/d/lfs/07/7/ab']
const [owner, prefix] = [FOLDERS[3]!, FOLDERS[4]!]

const recording = (isAlone = true) => {
  let synced: string[] = []
  const folders = new FolderSync(isAlone, async (folder) => void synced.push(folder))
  const take = () => {
    const taken = synced
    synced = []
    return taken
  }
  return { folders, take }
}

describe('A new file', () => {
  it('has the entries of all folders above it synced, and later files the entry of their own', async () => {
    const { folders, take } = recording()
    await folders.sync(FOLDERS)
    assert.deepEqual(take(), FOLDERS)
    await folders.sync(FOLDERS)
    assert.deepEqual(take(), [prefix])
    await folders.sync([...FOLDERS.slice(0, 4), '/d/lfs/07/7/cd'])
    assert.deepEqual(take(), [owner, '/d/lfs/07/7/cd'])
  })

  it('has the entry of a folder synced that was removed and created again', async () => {
    const { folders, take } = recording()
    await folders.sync(FOLDERS)
    take()
    folders.forget(prefix)
    await folders.sync(FOLDERS)
    assert.deepEqual(take(), [owner, prefix])
  })

  it('does not rely on a sync by another file that has not ended, or that failed', async () => {
    const waiting: (() => void)[] = []
    const synced: string[] = []
    let isBroken = true
    const folders = new FolderSync(true, async (folder) => {
      synced.push(folder)
      await new Promise<void>((resolve) => waiting.push(resolve))
      if (isBroken) throw new Error('the disk is gone')
    })
    const [first, second] = [folders.sync(FOLDERS), folders.sync(FOLDERS)]
    assert.deepEqual(synced, [...FOLDERS, ...FOLDERS])
    for (const resolve of waiting.splice(0)) resolve()
    await assert.rejects(first, /the disk is gone/)
    await assert.rejects(second, /the disk is gone/)
    isBroken = false
    const third = folders.sync(FOLDERS)
    assert.deepEqual(synced.slice(10), FOLDERS)
    for (const resolve of waiting.splice(0)) resolve()
    await third
  })

  it('has the entries synced of all folders that another process may have removed', async () => {
    const { folders, take } = recording(false)
    await folders.sync(FOLDERS)
    take()
    await folders.sync(FOLDERS)
    assert.deepEqual(take(), FOLDERS.slice(2))
  })
})
