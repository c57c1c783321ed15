import assert from 'node:assert/strict'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { folderOf } from '../../lib/git/folders.ts'
import { ObjectPool } from '../../lib/git/objects/object-pool.ts'
import { runSync } from '../support/child.ts'
import { temporaryDirectory } from '../support/folder.ts'
import { wrappedGit } from '../support/wrapped-git.ts'

const PROCESSES = 4
const REPOSITORIES = [1, 2, 3, 4, 5, 6, 7]

const isRunning = (pid: number): boolean => {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}

describe('The processes that read objects', () => {
  it('are at most as many as the option says, also when several start while others are idle', async () => {
    const directory = temporaryDirectory()
    for (const id of REPOSITORIES) {
      mkdirSync(folderOf(directory, id), { recursive: true })
      runSync('git', ['init', '--quiet', '--bare', folderOf(directory, id)])
    }
    const started = join(directory, 'started')
    writeFileSync(started, '')
    const git = wrappedGit(`echo $$ >> ${started}`)
    const running = () => readFileSync(started, 'utf8').trim().split('\n').map(Number).filter(isRunning)
    const pool = new ObjectPool({
      directory,
      git,
      processes: PROCESSES,
      timeout: 60_000,
      idleTimeout: 60_000,
      maxMemory: undefined,
    })
    try {
      const counts: number[] = []
      const read = (id: number) =>
        pool.use(id, `client ${id}`, async (batch) => {
          assert.equal(await batch.info('HEAD'), undefined)
          counts.push(running().length)
        })
      for (const id of [1, 2, 3]) await read(id)
      await Promise.all([4, 5, 6, 7].map(read))
      assert.equal(counts.length, REPOSITORIES.length)
      assert.ok(Math.max(...counts) <= PROCESSES, counts.join(', '))
    } finally {
      await pool.close()
    }
    assert.deepEqual(running(), [])
  })
})
