import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { getEventListeners } from 'node:events'
import { mkdirSync, readdirSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, it } from 'node:test'
import { folderOf } from '../../lib/git/folders.ts'
import { GitProcesses } from '../../lib/git/processes.ts'
import { PushCheck } from '../../lib/git/push.ts'
import { temporaryDirectory } from '../support/folder.ts'

describe('Processes of git', () => {
  it('leave nothing at the signal that would have stopped them', async () => {
    const directory = temporaryDirectory()
    const folder = folderOf(directory, 1)
    mkdirSync(dirname(folder), { recursive: true })
    execFileSync('git', ['init', '--quiet', '--bare', folder])
    const limits = { git: 'git', directory, maxConcurrent: 1, idleTimeout: 60_000, timeout: 60_000 }
    const processes = new GitProcesses({ ...limits, onError: () => undefined }, {})
    const { signal } = new AbortController()
    const client = { protocol: undefined, client: 'gc', signal }
    for (let count = 0; count < 3; count++) {
      const child = await processes.start(1, 'rev-list', [`--git-dir=${folder}`, 'rev-list', '--all'], client)
      child.stdout.resume()
      await child.ended
    }
    assert.deepEqual(getEventListeners(signal, 'abort'), [])
  })
})

describe('The hook that checks pushes', () => {
  it('is written by several servers at once, also by those whose processes have the same number', async () => {
    const directory = temporaryDirectory()
    const servers = Array.from({ length: 20 }, () => new PushCheck(directory, 1000))
    await Promise.all(servers.map((server) => server.config()))
    assert.deepEqual(readdirSync(join(directory, 'hooks')), ['pre-receive'])
  })
})
