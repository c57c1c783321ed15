import assert from 'node:assert/strict'
import { before, describe, it, mock } from 'node:test'
import { ObjectPool } from '../../../lib/git/objects/object-pool.ts'
import { GitReader } from '../../../lib/git/objects/reader.ts'
import { git, urlFor } from '../../git/client.ts'
import { type ServedGit, startGit } from '../../git/served.ts'
import { temporaryDirectory } from '../../support/folder.ts'
import { madeBefore, peopleBefore } from '../../support/test-server.ts'
import { waitFor } from '../../support/wait-for.ts'
import { wrappedGit } from '../../support/wrapped-git.ts'
import { pushContents } from './repository.ts'

/** Serves the pages, too. */
const startWithPages = async (options: Parameters<typeof startGit>[0] = {}): Promise<ServedGit> => {
  let served: ServedGit | undefined
  served = await startGit(options, {
    mount: (handler) => (req, res) =>
      served!.allot.pages(req, res, () => handler(req, res, () => res.writeHead(404).end())),
  })
  return served
}

let tip: string
let tree: string
const allot = madeBefore(() => startWithPages())
const [ann] = peopleBefore(allot, 'ann')
before(async () => {
  const { checkout, path } = await pushContents(allot, ann, 'app')
  for (let index = 0; index < 12; index++) {
    await git(checkout, 'tag', '-a', `v2.${index}`, '-m', `Version 2.${index}`, `HEAD~${index % 3}`)
    await git(checkout, 'branch', `b${index}`, `HEAD~${index % 3}`)
  }
  await git(checkout, 'push', '--quiet', urlFor(allot, path, ann), 'refs/heads/*:refs/heads/*', '--tags')
  ;[tip, tree] = [await git(checkout, 'rev-parse', 'main'), await git(checkout, 'rev-parse', 'main:src')]
})

type Kind = 'commands' | 'readers'

/**
 * Counts the git commands and the uses of `git cat-file` that are asked for, also those that wait for a slot
 * of the client.
 */
const running = { commands: 0, readers: 0 }
const most = { commands: 0, readers: 0 }
const begin = (kind: Kind) => {
  most[kind] = Math.max(most[kind], ++running[kind])
  return () => void running[kind]--
}
before(() => {
  const { start } = GitReader.prototype
  mock.method(
    GitReader.prototype,
    'start',
    async function (this: GitReader, ...given: Parameters<typeof start>) {
      const end = begin('commands')
      const child = await start.apply(this, given).catch((error) => {
        end()
        throw error
      })
      void child.ended.then(end)
      return child
    },
  )
  const { use } = ObjectPool.prototype
  mock.method(
    ObjectPool.prototype,
    'use',
    async function (this: ObjectPool, ...given: Parameters<typeof use>) {
      return use.apply(this, given).finally(begin('readers'))
    },
  )
})

/** The most processes that one request asked for at once. */
const during = async (send: () => Promise<{ readonly status: number }>) => {
  await waitFor(() => running.commands + running.readers === 0)
  Object.assign(most, running)
  const { status } = await send()
  assert.ok(status < 300, `${status}`)
  return { ...most }
}

const READS = () => [
  '/branches?limit=50',
  '/branches/main',
  '/tags?limit=50',
  '/tags/v1.0',
  '/commits',
  '/commits?path=src&author=Ada',
  `/git/commits/${tip}`,
  `/git/commits/${tip}.diff`,
  '/git/refs',
  `/git/trees/${tip}?recursive=true`,
  `/git/trees/${tree}`,
  '/contents',
  '/contents/src',
  '/contents/README.md',
  '/contents/link',
  '/contents/lib',
  '/raw/README.md',
  '/media/big.bin',
  '/archive/main.zip',
  '/compare/feature/x...main',
]

const PAGES = [
  '',
  '/branches',
  '/tags',
  '/commits',
  '/commits/branch/main',
  '/src/branch/main',
  '/src/branch/main/src',
  '/src/branch/main/README.md',
  '/releases',
]

describe('One request runs at most one git command and one `git cat-file` at a time', () => {
  it('when it reads over the API', async () => {
    for (const path of READS()) {
      const { commands, readers } = await during(() => allot.as(ann, 'GET', `/repos/ann/app${path}`))
      assert.ok(commands <= 1 && readers <= 1, `${path}: ${commands} commands, ${readers} readers`)
    }
  })

  it('when it makes a page', async () => {
    for (const path of [...PAGES, `/commit/${tip}`]) {
      const { commands, readers } = await during(() => fetch(`${allot.base}/ann/app${path}`))
      assert.ok(commands <= 1 && readers <= 1, `${path}: ${commands} commands, ${readers} readers`)
    }
  })

  it('when it changes files', async () => {
    const content = Buffer.from('text').toString('base64')
    const files = Array.from({ length: 10 }, (_, index) => ({
      operation: 'create',
      path: `new/${index}`,
      content,
    }))
    const { commands, readers } = await during(() =>
      allot.as(ann, 'POST', '/repos/ann/app/contents', { files, message: 'add', branch: 'main' }),
    )
    assert.ok(commands <= 1 && readers <= 1, `${commands} commands, ${readers} readers`)
  })
})

describe('A list of commits', () => {
  it('is sent where a client may run one command, however long git takes for the page', async () => {
    // Longer than a command waits for a slot.
    const slow = 'case "$*" in *rev-list*--max-count=1*--skip*) sleep 2;; esac'
    const only = await startGit({
      contents: { maxConcurrent: 1 },
      repositories: { directory: temporaryDirectory(), git: wrappedGit(slow) },
    })
    const bob = await only.person('bob')
    const path = await only.repository(bob, 'demo', { auto_init: true })
    const answer = await only.as(bob, 'GET', `/repos/${path}/commits?limit=1`)
    assert.deepEqual([answer.status, answer.headers.get('x-total-count')], [200, '1'], answer.text)
  })
})

describe('Work that goes on after its response', () => {
  for (const [what, script, path] of [
    [
      'the count of a long history',
      'case "$*" in *--count*--max-count=*) echo 9999; exit;; *--use-bitmap-index*) exec sleep 60;; esac',
      '/api/v1/repos/root/demo/commits?limit=1&stat=false',
    ],
    [
      'a search for the last commits of a page',
      'case "$*" in *--name-only*) exec sleep 60;; esac',
      '/root/demo',
    ],
  ] as const)
    it(`leaves the only git command to the next request: ${what}`, async (test) => {
      const only = await startWithPages({
        contents: { maxConcurrent: 1 },
        repositories: { directory: temporaryDirectory(), git: wrappedGit(script) },
      })
      test.after(only.stop)
      await only.repository(only.root, 'demo', { auto_init: true })
      const first = await fetch(only.base + path)
      assert.equal(first.status, 200, await first.text())
      const next = await only.request('GET', '/repos/root/demo/git/refs')
      assert.deepEqual([next.status, next.body.length], [200, 1], next.text)
    })
})
