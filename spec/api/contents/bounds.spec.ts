import assert from 'node:assert/strict'
import { before, describe, it } from 'node:test'
import { newLargeTree } from '../../../lib/git/objects/pack.ts'
import { CUT, entryAt, slicesOf, type TreeEntry } from '../../../lib/git/objects/parse.ts'
import { aCheckout, git, urlFor } from '../../git/client.ts'
import { largeCommits, longHeader, longNames, type Planted, plant, plantBranches } from '../../git/planted.ts'
import { type ServedGit, startGit } from '../../git/served.ts'
import type { Person } from '../../support/test-server.ts'
import { waitFor } from '../../support/wait-for.ts'

/*
 * What is in a repository decides neither how much of it a request reads nor how long the answer is, also
 * where no push has checked it.
 */
let allot: ServedGit
let ann: Person
before(async () => {
  let served: ServedGit | undefined
  served = await startGit(
    {},
    { mount: (handler) => (req, res) => handler(req, res, () => served!.allot.pages(req, res)) },
  )
  allot = served
  ann = await allot.person('ann')
})

/**
 * A repository with these objects, of which the last is the commit of main, and with a branch that is pushed
 * after them.
 */
const planted = async (name: string, objects: Planted, branches = 0): Promise<string> => {
  const path = await allot.repository(ann, name)
  const folder = await allot.folderOf(path)
  const { id } = objects.at(-1)!
  await plant(folder, objects)
  if (branches > 0) await plantBranches(folder, id, branches)
  await git(await aCheckout(), 'push', '--quiet', urlFor(allot, path, ann), 'main:pushed')
  return id
}

/** The text of an answer, which must be short. */
const answered = async (url: string, maxBytes: number): Promise<string> => {
  const response = await fetch(url, { headers: { accept: 'text/html, application/json' } })
  const text = await response.text()
  assert.equal(response.status, 200, `${url}: ${text.slice(0, 300)}`)
  assert.ok(text.length < maxBytes, `${url} answers ${text.length} characters`)
  return text
}
const api = async (path: string, maxBytes: number) =>
  JSON.parse(await answered(`${allot.api}/repos/ann/${path}`, maxBytes))
const page = (path: string) => answered(`${allot.base}/ann/${path}`, 300_000)

const MIB = 1024 * 1024

describe('A history of large commits', () => {
  const COUNT = 40
  let head: string
  before(async () => {
    head = await planted('large', largeCommits(COUNT, MIB))
  })

  for (const [list, commitsIn] of [
    [
      'commits?limit=50&stat=false',
      (body: { commit: { message: string } }[]) => body.map(({ commit }) => commit),
    ],
    [
      'compare/pushed...main',
      ({ commits }: { commits: { commit: { message: string } }[] }) => commits.map(({ commit }) => commit),
    ],
  ] as const)
    it(`is listed with all commits and the beginnings of their messages: ${list}`, async () => {
      const commits = (commitsIn as (body: unknown) => { message: string }[])(
        await api(`large/${list}`, 3 * MIB),
      )
      assert.equal(commits.length, COUNT)
      const shown = commits.filter(({ message }) => message.length > CUT.length)
      assert.ok(shown.length > COUNT / 2, `${shown.length} messages begin`)
      for (const { message } of commits) assert.match(message, /^(?:\d+€+)? \[…\]$/)
    })

  it('is read one commit after the other, each with the beginning of its message', async () => {
    const { commit, parents } = await api(`large/git/commits/${head}`, 3 * MIB)
    assert.match(commit.message, /^39€{300000,}/)
    assert.equal(parents.length, 1)
    const { name, commit: tip } = await api('large/branches/main', 3 * MIB)
    assert.deepEqual([name, tip.id], ['main', head])
  })

  it('has pages', async () => {
    // The page of a folder does without the last commits that are not found soon.
    for (const path of [
      'large',
      'large/src/branch/main',
      'large/commits/branch/main',
      `large/commit/${head}`,
    ])
      await waitFor(async () => /\d€€€/.test(await page(path)))
    await page('large/branches')
  })
})

describe('A commit with more lines of headers than a push may bring', () => {
  for (const header of ['gpgsig', 'mergetag', 'x'])
    it(`is shown with its message and 1,000 of them: ${header}`, async () => {
      const head = await planted(header, longHeader(header, 300_000))
      const { commit } = await api(`${header}/git/commits/${head}`, 2 * MIB)
      assert.equal(commit.message, 'Subject\n')
      const { verified, reason, signature } = commit.verification
      assert.ok(signature.split('\n').length <= 1000)
      const expected = header === 'gpgsig' ? /^this server does not verify signatures$/ : /not_signed_commit$/
      assert.equal(verified, false)
      assert.match(reason, expected)
      for (const path of [header, `${header}/commit/${head}`]) assert.match(await page(path), /Subject/)
    })
})

describe('A folder with longer names than a push may bring', () => {
  const COUNT = 200
  before(() => planted('names', longNames(COUNT, 15_000)))

  for (const [list, namesIn] of [
    ['contents', (body: { name: string }[]) => body.map(({ name }) => name)],
    ['git/trees/main', ({ tree }: { tree: { path: string }[] }) => tree.map(({ path }) => path)],
    [
      'git/trees/main?recursive=true',
      ({ tree }: { tree: { path: string }[] }) => tree.map(({ path }) => path),
    ],
  ] as const)
    it(`is listed with the beginnings of the names: ${list}`, async () => {
      const names = (namesIn as (body: unknown) => string[])(await api(`names/${list}`, 3 * MIB))
      assert.equal(names.length, COUNT)
      for (const name of names) assert.match(name, /^\d+-€{80,4300} \[…\]$/)
    })

  it('has pages', async () => {
    for (const path of ['names', 'names/src/branch/main', 'names/src/branch/main?page=2'])
      assert.match(await page(path), /0-€€€€/)
  })
})

describe('A folder of 16 MiB', () => {
  for (const [what, count, bytes] of [
    ['short names', 500_000, 6],
    ['long names', 1000, 16_000],
  ] as const)
    it(`of ${what} is read and written in slices, between which other requests are served`, async () => {
      const tree = Buffer.concat(
        Array.from({ length: count }, (_, at) =>
          Buffer.from(`100644 ${String(at).padStart(bytes, '0')}\0${'i'.repeat(20)}`),
        ),
      )
      let isWatching = true
      let turns = 0
      const watch = () => {
        turns++
        if (isWatching) setImmediate(watch)
      }
      setImmediate(watch)
      const entries: TreeEntry[] = []
      for await (const slice of slicesOf(tree)) {
        for (const position of slice) entries.push(entryAt(tree, position, 'latin1'))
        const read = (slice.at(-1)?.nul ?? 0) - (slice[0]?.start ?? 0)
        assert.ok(read < 300_000, `${read} bytes at once`)
      }
      assert.equal(entries.length, count)
      assert.ok(turns > tree.length / 300_000, `${turns} turns`)
      turns = 0
      assert.ok((await newLargeTree([...entries.slice(1), entries[0]!])).content.equals(tree))
      isWatching = false
      assert.ok(turns > count / 5000 - 2, `${turns} turns`)
    })
})

describe('A repository with more references than one answer has', () => {
  const COUNT = 6000
  before(() => planted('refs', largeCommits(1, 10), COUNT))

  /** What a list has in total, and the names of what it shows. */
  const listed = async (path: string) => {
    const response = await fetch(`${allot.api}/repos/ann/refs/${path}`)
    const body = (await response.json()) as { name?: string; ref?: string }[]
    return {
      total: Number(response.headers.get('x-total-count')),
      names: body.map(({ name, ref }) => name ?? ref),
    }
  }

  it('lists the first 5,000 by name, and all in pages', async () => {
    const { total, names } = await listed('git/refs')
    assert.deepEqual([total, names.length, names[0]], [COUNT + 2, 5000, 'refs/heads/b0000000'])
    const page = await listed('git/refs?page=150&limit=40')
    assert.deepEqual([page.total, page.names.length, page.names[39]], [COUNT + 2, 40, 'refs/heads/b0005999'])
  })

  it('lists those that begin with a text, or the one that has a name', async () => {
    const begin = await listed('git/refs/heads/b00059?limit=10&page=2')
    assert.deepEqual([begin.total, begin.names[0]], [100, 'refs/heads/b0005910'])
    assert.deepEqual(await listed('git/refs/heads/b0005999'), { total: 1, names: ['refs/heads/b0005999'] })
    assert.equal((await fetch(`${allot.api}/repos/ann/refs/git/refs/heads/c`)).status, 404)
  })

  it('lists a page of its branches, and counts all', async () => {
    assert.deepEqual(await listed('branches?limit=2&page=3001'), {
      total: COUNT + 2,
      names: ['main', 'pushed'],
    })
  })
})
