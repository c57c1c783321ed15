import assert from 'node:assert/strict'
import { getEventListeners } from 'node:events'
import { existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, it } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { folderOf } from '../../lib/git/folders.ts'
import { GitProcesses } from '../../lib/git/processes.ts'
import { PushCheck } from '../../lib/git/push-check.ts'
import { Transport } from '../../lib/git/transport.ts'
import { outcomeSync, runSync } from '../support/child.ts'
import { temporaryDirectory } from '../support/folder.ts'
import { times } from '../support/long.ts'
import { waitFor } from '../support/wait-for.ts'
import { wrappedGit } from '../support/wrapped-git.ts'

/** @returns the folder of the repositories, and that of an empty one */
const emptyRepository = (id = 1, directory = temporaryDirectory()): { directory: string; folder: string } => {
  const folder = folderOf(directory, id)
  mkdirSync(dirname(folder), { recursive: true })
  runSync('git', ['init', '--quiet', '--bare', folder])
  return { directory, folder }
}

const transportOf = (directory: string, git = 'git', maxConcurrent = 1) =>
  new Transport({
    ...{ git, directory, maxConcurrent, idleTimeout: 60_000, timeout: 60_000 },
    onError: (error) => assert.fail(error),
    onUnchecked: () => assert.fail('no push is sent'),
  })

describe('Processes of git', () => {
  it('leave nothing at the signal that would have stopped them', async () => {
    const { directory, folder } = emptyRepository()
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
    const { directory, folder } = emptyRepository()
    const commit = `commit refs/heads/main\ncommitter A <a@example.com> 0 +0000\ndata 0\n`
    const file = `M 644 inline file\ndata 3\none\n`
    runSync('git', ['fast-import', '--quiet'], { cwd: folder, input: commit + file })
    return {
      directory,
      graphs: () =>
        readdirSync(join(folder, 'objects/info')).filter((name) => name.startsWith('commit-graph')),
    }
  }

  const SIZE = 5 * 1024 * 1024

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
    await transportOf(directory).maintain(1, SIZE, {
      async started(pid) {
        // Long enough for a git that does not wait.
        for (let turn = 0; turn < times(5, 20) && !hasEnded(pid); turn++) await sleep(50)
        seen.push(graphs(), hasEnded(pid))
      },
      finished: async () => void seen.push(graphs()),
    })
    assert.deepEqual(seen, [[], false, ['commit-graphs']])
  })

  it('changes nothing when the entry cannot be saved', async () => {
    const { directory, graphs } = aLargeRepository()
    const listener = {
      started: () => Promise.reject(new Error('the disk is full')),
      finished: async () => assert.fail('git did not begin'),
    }
    await assert.rejects(transportOf(directory).maintain(1, SIZE, listener), /the disk is full/)
    assert.deepEqual(graphs(), [])
  })

  it('is begun again an hour after it failed', async (t) => {
    const { directory, graphs } = aLargeRepository()
    const failed = join(directory, 'failed')
    const once = `case "$*" in *commit-graph*) [ -e '${failed}' ] || { touch '${failed}'; exit 1; };; esac`
    const transport = transportOf(directory, wrappedGit(once))
    const listener = { started: async () => undefined, finished: async () => undefined }
    const maintained = async () => {
      await transport.maintain(1, SIZE, listener)
      return graphs()
    }
    assert.deepEqual([await maintained(), await maintained()], [[], []])
    assert.ok(existsSync(failed))
    t.mock.timers.enable({ apis: ['Date'], now: Date.now() + 3_600_001 })
    assert.deepEqual(await maintained(), ['commit-graphs'])
  })

  it('does not begin when the server is killed before', async () => {
    const { directory, graphs } = aLargeRepository()
    const maintain = `
      import { Transport } from ${JSON.stringify(new URL('../../lib/git/transport.ts', import.meta.url).href)}
      const options = { git: 'git', maxConcurrent: 1, idleTimeout: 60_000, timeout: 60_000, onError() {} }
      const transport = new Transport({ ...options, directory: ${JSON.stringify(directory)} })
      await transport.maintain(1, ${SIZE}, {
        started(pid) {
          console.log(pid)
          process.kill(process.pid, 'SIGKILL')
        },
      })`
    const args = ['--import', 'tsx', '--input-type=module', '-e', maintain]
    const { stdout, signal } = outcomeSync(process.execPath, args)
    assert.equal(signal, 'SIGKILL')
    await waitFor(() => hasEnded(Number(stdout)))
    assert.deepEqual(graphs(), [])
  })
})

describe('A git that counts what a clean-up would delete', () => {
  const listener = {
    started: async () => assert.fail('there is nothing to delete'),
    finished: async () => undefined,
  }
  const listeners = { beside: listener, alone: listener }

  /** Begins a count in one of two repositories that does not end by itself. */
  const hanging = async () => {
    const { directory } = emptyRepository()
    emptyRepository(2, directory)
    const begun = join(directory, 'begun')
    const count = `case "$*" in */1.git*' rev-list '*) touch '${begun}'; exec sleep 60;; esac`
    const transport = transportOf(directory, wrappedGit(count), 2)
    const cleaning = transport.cleanUp(1, 'ada', listeners).catch((error: Error) => error.message)
    await waitFor(() => existsSync(begun))
    const soon = <T>(work: Promise<T>) => Promise.race([work, sleep(20_000, 'late', { ref: false })])
    return { transport, cleaning, soon }
  }

  it('ends when the server closes', async () => {
    const { transport, cleaning, soon } = await hanging()
    assert.equal(await soon(transport.close()), undefined)
    assert.match(String(await cleaning), /could not clean up/)
  })

  it('ends when the repository is deleted', async () => {
    const { transport, cleaning, soon } = await hanging()
    assert.equal(await soon(transport.stop(1)), undefined)
    assert.match(String(await soon(cleaning)), /could not clean up/)
  })

  it('lets the clean-ups of others go on', async () => {
    const { transport, soon } = await hanging()
    assert.equal(await soon(transport.cleanUp(2, 'grace', listeners)), true)
    await transport.close()
  })
})

describe('A git that lists the references of a push', () => {
  it('removes no file that another writer may need when its client leaves', async () => {
    const { directory, folder } = emptyRepository()
    const lock = join(folder, 'refs/heads/new.lock')
    writeFileSync(lock, '')
    const transport = transportOf(directory, wrappedGit('exec sleep 60'))
    const leaving = new AbortController()
    const client = { protocol: 'version=1', client: 'someone', signal: leaving.signal }
    await transport.advertise(1, 'receive-pack', client)
    leaving.abort()
    await transport.close()
    assert.equal(existsSync(lock), true)
  })
})

describe('The hook that checks pushes', () => {
  it('is written by several servers at once, also by those whose processes have the same number', async () => {
    const directory = temporaryDirectory()
    const servers = Array.from({ length: 20 }, () => new PushCheck(directory, 1000))
    await Promise.all(servers.map((server) => server.config()))
    assert.deepEqual(readdirSync(join(directory, 'hooks')), ['pre-receive'])
  })

  it('is required to be executable, as it is not on a file system with noexec', async () => {
    const directory = temporaryDirectory()
    mkdirSync(join(directory, 'hooks'))
    const check = new PushCheck(directory, undefined)
    const umask = process.umask(0o111)
    try {
      await assert.rejects(check.config(), (error: Error) => {
        assert.match(error.message, /^pushes are refused: /)
        return /pre-receive is not executable: its file system is mounted with noexec/.test(
          (error.cause as Error).message,
        )
      })
    } finally {
      process.umask(umask)
    }
    assert.deepEqual(await check.config(), [`core.hooksPath=${directory}/hooks`])
  })
})
