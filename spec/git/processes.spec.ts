import assert from 'node:assert/strict'
import { execFileSync, spawnSync } from 'node:child_process'
import { getEventListeners } from 'node:events'
import { mkdirSync, readdirSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, it } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { folderOf } from '../../lib/git/folders.ts'
import { GitProcesses } from '../../lib/git/processes.ts'
import { PushCheck } from '../../lib/git/push.ts'
import { Transport } from '../../lib/git/transport.ts'
import { temporaryDirectory } from '../support/folder.ts'
import { waitFor } from '../support/wait-for.ts'

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

describe('A git that maintains a repository', () => {
  /** A repository of 5 MiB, which lacks a commit-graph. */
  const aLargeRepository = (): { directory: string; graphs: () => string[] } => {
    const directory = temporaryDirectory()
    const folder = folderOf(directory, 1)
    mkdirSync(dirname(folder), { recursive: true })
    execFileSync('git', ['init', '--quiet', '--bare', folder])
    const commit = `commit refs/heads/main\ncommitter A <a@example.com> 0 +0000\ndata 0\n`
    const file = `M 644 inline file\ndata 3\none\n`
    execFileSync('git', ['fast-import', '--quiet'], { cwd: folder, input: commit + file })
    return {
      directory,
      graphs: () =>
        readdirSync(join(folder, 'objects/info')).filter((name) => name.startsWith('commit-graph')),
    }
  }

  const SIZE = 5 * 1024 * 1024

  const transportOf = (directory: string) =>
    new Transport({
      ...{ git: 'git', directory, maxConcurrent: 1, idleTimeout: 60_000, timeout: 60_000 },
      onError: (error) => assert.fail(error),
    })

  const hasEnded = (pid: number): boolean => {
    try {
      return !process.kill(pid, 0)
    } catch {
      return true
    }
  }

  it('changes nothing before its journal entry is saved', async () => {
    const { directory, graphs } = aLargeRepository()
    const seen: unknown[] = []
    await transportOf(directory).maintain(1, SIZE, 'graph', {
      async started(pid) {
        // Long enough for a git that does not wait.
        for (let turn = 0; turn < 20 && !hasEnded(pid); turn++) await sleep(50)
        seen.push(graphs(), hasEnded(pid))
      },
      finished: async () => void seen.push(graphs()),
      cleaned: async () => undefined,
    })
    assert.deepEqual(seen, [[], false, ['commit-graphs']])
  })

  it('changes nothing when the entry cannot be saved', async () => {
    const { directory, graphs } = aLargeRepository()
    const listener = {
      started: () => Promise.reject(new Error('the disk is full')),
      finished: async () => assert.fail('git did not begin'),
      cleaned: async () => undefined,
    }
    await assert.rejects(transportOf(directory).maintain(1, SIZE, 'graph', listener), /the disk is full/)
    assert.deepEqual(graphs(), [])
  })

  it('does not begin when the server is killed before', async () => {
    const { directory, graphs } = aLargeRepository()
    const maintain = `
      import { Transport } from ${JSON.stringify(new URL('../../lib/git/transport.ts', import.meta.url).href)}
      const options = { git: 'git', maxConcurrent: 1, idleTimeout: 60_000, timeout: 60_000, onError() {} }
      const transport = new Transport({ ...options, directory: ${JSON.stringify(directory)} })
      await transport.maintain(1, ${SIZE}, 'graph', {
        started(pid) {
          console.log(pid)
          process.kill(process.pid, 'SIGKILL')
        },
      })`
    const { stdout, signal } = spawnSync(
      process.execPath,
      ['--import', 'tsx', '--input-type=module', '-e', maintain],
      { encoding: 'utf8' },
    )
    assert.equal(signal, 'SIGKILL')
    await waitFor(() => hasEnded(Number(stdout)))
    assert.deepEqual(graphs(), [])
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
