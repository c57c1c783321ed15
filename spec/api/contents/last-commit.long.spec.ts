import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { existsSync, readFileSync, rmSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { memory } from '../../../drivers/memory/index.ts'
import type { AllotOptions, StorageDriver } from '../../../lib/index.ts'
import { allot as program, served } from '../../bin/program.ts'
import { git, urlFor } from '../../git/client.ts'
import { bytesIn, startGit } from '../../git/served.ts'
import { run } from '../../support/child.ts'
import { temporaryDirectory } from '../../support/folder.ts'
import { createSender, madeBefore, peopleBefore } from '../../support/test-server.ts'
import { waitFor } from '../../support/wait-for.ts'
import { wrappedGit } from '../../support/wrapped-git.ts'

const PATHS = ['a', 'd/a', 'd/b', 'd/e/c', '*', 'ä b']
const CONTENTS = ['1\n', '2\n', '1\n', '2\n', null]

interface HistoryCommit {
  /** How many commits back the parents are; the second one makes a merge. */
  readonly parents: readonly number[]
  readonly seconds: number
  /** Contents by path; null deletes the file. */
  readonly changes: readonly (readonly [path: string, content: string | null])[]
}

/**
 * Few paths and contents, so that commits return to former contents, and merges take over those of one side.
 */
const history = fc.array(
  fc.record<HistoryCommit>({
    parents: fc.uniqueArray(fc.integer({ min: 1, max: 6 }), { minLength: 1, maxLength: 2 }),
    seconds: fc.integer({ min: 0, max: 20 }),
    changes: fc.array(fc.tuple(fc.constantFrom(...PATHS), fc.constantFrom<string | null>(...CONTENTS)), {
      maxLength: 3,
    }),
  }),
  { minLength: 10, maxLength: 25 },
)

/** Input of `git fast-import`, with the commits of a history on a branch, after a first one. */
const importOf = (branch: string, commits: readonly HistoryCommit[], firstMark: number): string => {
  const lines: string[] = []
  const all = [{ parents: [], seconds: 0, changes: [['first', '1\n']] as const }, ...commits]
  for (const [index, { parents, seconds, changes }] of all.entries()) {
    lines.push(`commit refs/heads/${branch}`, `mark :${firstMark + index}`)
    lines.push(`committer Ann <ann@example.test> ${1_700_000_000 + seconds} +0000`, 'data 0')
    const marks = [...new Set(parents.map((back) => firstMark + Math.max(0, index - back)))]
    lines.push(...marks.map((mark, at) => `${at === 0 ? 'from' : 'merge'} :${mark}`))
    for (const [path, content] of changes)
      lines.push(
        content === null ? `D ${path}` : `M 100644 inline ${path}\ndata ${content.length}\n${content}`,
      )
  }
  return `${lines.join('\n')}\n`
}

const allot = madeBefore(() => startGit())
const [ann] = peopleBefore(allot, 'ann')

const addLargeFile = async (source: string, bytes: number): Promise<void> => {
  const head = `commit refs/heads/main\ncommitter Ann <ann@example.test> 1700000000 +0000\ndata 0\nM 100644 inline large\ndata ${bytes}\n`
  await run('git', ['--git-dir', source, 'fast-import', '--quiet', '--force'], {
    input: Buffer.concat([Buffer.from(head), randomBytes(bytes), Buffer.from('\n')]),
  })
}

/**
 * Pushes all branches of a folder, and at first a file of random bytes.
 * @returns the folder on the server
 */
const push = async (source: string, name: string, bytes: number, to = { allot, ann }): Promise<string> => {
  const path = await to.allot.repository(to.ann, name)
  await addLargeFile(source, bytes)
  await git(source, 'push', '--quiet', urlFor(to.allot, path, to.ann), 'refs/heads/*:refs/heads/*')
  return to.allot.folderOf(path)
}

const chainOf = (folder: string) => `${folder}/objects/info/commit-graphs/commit-graph-chain`

describe('The last commit of a file', () => {
  it('is that of git log, in random histories with merges, with a commit-graph and without', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(history, { minLength: 4, maxLength: 4 }), async (histories) => {
        const source = temporaryDirectory()
        await git(source, 'init', '--quiet', '--bare')
        const input = histories.map((commits, index) => importOf(`h${index}`, commits, 1 + 100 * index))
        await run('git', ['--git-dir', source, 'fast-import', '--quiet'], { input: input.join('') })
        await push(source, 'plain', 10)
        const folder = await push(source, 'graphed', 4_300_000)
        await waitFor(() => existsSync(chainOf(folder)))
        for (const branch of histories.keys()) {
          const files = await git(source, 'ls-tree', '-r', '-z', '--name-only', `h${branch}`)
          for (const file of files.split('\0').filter((name) => name !== '')) {
            const expected = await git(
              source,
              'log',
              '-1',
              '--format=%H',
              `h${branch}`,
              '--',
              `:(literal)${file}`,
            )
            for (const name of ['plain', 'graphed']) {
              const at = `/repos/ann/${name}/contents/${encodeURIComponent(file)}?ref=h${branch}`
              const { status, body } = await allot.as(ann, 'GET', at)
              assert.deepEqual([status, body.last_commit_sha], [200, expected], `${name}: ${file}`)
            }
          }
        }
      }),
      { numRuns: 1, endOnFailure: true },
    )
  })
})

/** A repository with one commit, to which {@link push} adds a large file. */
const aSource = async (): Promise<string> => {
  const source = temporaryDirectory()
  await git(source, 'init', '--quiet', '--bare')
  const input = importOf('h', [{ parents: [1], seconds: 1, changes: [['a', '1\n']] }], 1)
  await run('git', ['--git-dir', source, 'fast-import', '--quiet'], { input })
  return source
}

const assertHasChangedPaths = async (folder: string): Promise<void> => {
  const trace = { ...process.env, GIT_TRACE2_PERF: `${temporaryDirectory()}/trace` }
  const args = ['--git-dir', folder, 'rev-list', '-1', 'h', '--', ':(literal)first']
  await run('git', args, { env: trace })
  assert.match(readFileSync(trace.GIT_TRACE2_PERF, 'utf8'), /"definitely_not":[12]/)
}

describe('In a repository of some MiB, git writes the changed paths of its commits, which are counted,', () => {
  const assertWritten = async (path: string): Promise<void> => {
    const folder = await allot.folderOf(path)
    const isCounted = async () =>
      (await allot.as(allot.root, 'GET', `/repos/${path}`)).body.size === Math.floor(bytesIn(folder) / 1024)
    await waitFor(() => existsSync(chainOf(folder)))
    await waitFor(isCounted)
    await assertHasChangedPaths(folder)
    await allot.assertCounted(path.split('/')[0]!)
  }

  it('after a push, and in a fork without one', async () => {
    const ben = await allot.person('ben')
    await push(await aSource(), 'grown', 4_300_000)
    await assertWritten('ann/grown')
    assert.equal((await allot.as(ben, 'POST', '/repos/ann/grown/forks', {})).status, 202)
    await assertWritten('ben/grown')
  })

  it('after the first search of a last commit in one that came without them, as from an import', async (t) => {
    const data = temporaryDirectory()
    const token = (await program(['user', 'add', 'ann', '--admin', '--token', '--data', data])).out.trim()
    const first = await served(['--data', data])
    t.after(() => first.stop('SIGKILL'))
    const created = await createSender(first.api)('POST', '/user/repos', { token, body: { name: 'grown' } })
    const { id } = created.body as { id: number }
    const folder = join(data, 'repositories', id.toString(16).padStart(2, '0'), `${id}.git`)
    const source = await aSource()
    await addLargeFile(source, 4_300_000)
    const url = `http://ann:${token}@${new URL(first.api).host}/ann/grown.git`
    await git(source, 'push', '--quiet', url, 'refs/heads/*:refs/heads/*')
    await waitFor(() => existsSync(chainOf(folder)))
    await first.stop()
    rmSync(dirname(chainOf(folder)), { recursive: true })
    const second = await served(['--data', data])
    t.after(() => second.stop('SIGKILL'))
    const { status } = await createSender(second.api)('GET', '/repos/ann/grown/contents/first?ref=h', {
      token,
    })
    assert.equal(status, 200)
    await waitFor(() => existsSync(chainOf(folder)))
    await second.stop()
    await assertHasChangedPaths(folder)
    assert.equal((await program(['verify', '--data', data])).code, 0)
  })
})

/**
 * Searches at a server that has just started, on a repository without a commit-graph.
 * @returns its folder, and what is logged
 */
const searchAfterStart = async (driver: StorageDriver, options: Partial<AllotOptions>, script = '') => {
  const directory = temporaryDirectory()
  const first = await startGit({ driver, repositories: { directory } })
  const person = await first.person('ann')
  const folder = await push(await aSource(), 'grown', 4_300_000, { allot: first, ann: person })
  await waitFor(() => existsSync(chainOf(folder)))
  await first.stop()
  rmSync(dirname(chainOf(folder)), { recursive: true })
  const logged: string[] = []
  const log = { error: ({ err }: { err?: Error }) => void logged.push(String(err)), info: () => undefined }
  const repositories = { directory, git: wrappedGit(script) }
  const second = await startGit({ driver, log, repositories, ...options }, { root: 'other' })
  const { status } = await second.as(person, 'GET', '/repos/ann/grown/contents/first?ref=h')
  return { second, folder, status, logged }
}

describe('A search of a last commit', () => {
  it('has the changed paths written on a shared store too, and logs no error', async () => {
    const { second, folder, status, logged } = await searchAfterStart({ ...memory(), shared: true }, {})
    assert.equal(status, 200)
    await waitFor(() => existsSync(chainOf(folder)) || logged.length > 0)
    await second.stop()
    assert.deepEqual([existsSync(chainOf(folder)), logged], [true, []])
  })

  it('has them written also when it takes so long that it is stopped', async () => {
    const slow = 'case "$*" in *rev-list*--max-count=1*) exec sleep 600;; esac'
    const { folder, status } = await searchAfterStart(memory(), { contents: { timeout: 1000 } }, slow)
    assert.notEqual(status, 200)
    await waitFor(() => existsSync(chainOf(folder)))
  })
})
