import assert from 'node:assert/strict'
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { before, describe, it } from 'node:test'
import { POINTER } from '../api/contents/repository.ts'
import { aCheckout, commit, git, urlFor } from '../git/client.ts'
import { png } from '../support/images.ts'
import { madeBefore } from '../support/test-server.ts'
import { words } from './browser.ts'
import { startSite } from './site.ts'

const site = madeBefore(() => startSite())

const pageOf = async (path: string): Promise<string> => {
  const { status, text } = await site.browser().get(path, { accept: 'text/html' })
  assert.equal(status, 200, path)
  return text
}

describe('The pages of a branch whose name begins with that of a tag or with an id', () => {
  let checkout: string
  let titles: readonly string[]
  before(async () => {
    checkout = await aCheckout({ 'README.md': 'The first one\n' })
    const id = await git(checkout, 'rev-parse', 'HEAD')
    await git(checkout, 'tag', 'release')
    titles = ['release/1.0', `${id.slice(0, 7)}/fix`, `${id}/fix`, 'tags/1.0']
    await commit(checkout, { 'README.md': 'The second one\n' })
    await git(checkout, 'tag', '1.0')
    await commit(checkout, { 'README.md': 'The third one\n' })
    for (const title of titles) await git(checkout, 'branch', title)
    await site.as(site.mia, 'POST', '/user/repos', { name: 'names' })
    await git(checkout, 'push', '--quiet', urlFor(site, 'mia/names', site.mia), '--all')
    await git(checkout, 'push', '--quiet', urlFor(site, 'mia/names', site.mia), '--tags')
  })

  it('show its files and its commits', async () => {
    for (const title of titles) {
      assert.match(await pageOf(`/mia/names/src/branch/${title}/README.md`), /The third one/, title)
      assert.match(await pageOf(`/mia/names/commits/branch/${title}`), /3 commits/, title)
    }
  })

  it('are not at an abbreviated id, nor at what git-describe writes', async () => {
    const id = await git(checkout, 'rev-parse', 'main')
    assert.match(await pageOf(`/mia/names/commit/${id}`), /The third one/)
    for (const path of [
      `commit/${id.slice(0, 39)}`,
      `src/commit/${id.slice(0, 10)}`,
      `raw/commit/${id.slice(0, 10)}/README.md`,
      `commits/commit/${id.slice(0, 10)}`,
      `src/branch/${id.slice(0, 10)}`,
      `src/branch/main-g${id.slice(0, 10)}`,
      `src/tag/v1-1-g${id.slice(0, 10)}`,
    ])
      assert.equal((await site.browser().get(`/mia/names/${path}`)).status, 404, path)
  })

  it('show the tag under its own address', async () => {
    assert.match(await pageOf('/mia/names/src/tag/1.0/README.md'), /The second one/)
    assert.match(await pageOf('/mia/names/src/tag/release/README.md'), /The first one/)
  })

  it('show its commits when it is the default branch', async () => {
    const edit = { default_branch: 'release/1.0' }
    assert.equal((await site.as(site.mia, 'PATCH', '/repos/mia/names', edit)).status, 200)
    assert.match(await pageOf('/mia/names/commits'), /3 commits/)
  })

  it('open at each address of the API', async () => {
    for (const ref of [
      'release',
      'heads/release/1.0',
      'refs/heads/release/1.0',
      'tags/1.0',
      'refs/tags/1.0',
      'HEAD',
    ]) {
      const { body } = await site.request('GET', `/repos/mia/names/contents/README.md?ref=${ref}`)
      const text = Buffer.from(body.content, 'base64').toString().trim()
      assert.match(await pageOf(new URL(body.html_url).pathname), new RegExp(text), ref)
    }
  })
})

describe('The page of a file', () => {
  const path = '/mia/kinds/src/branch/main'
  before(async () => {
    const checkout = await aCheckout({
      'README.txt': `before \`\`\`\`\`\`\` within \`\`\`\`\` after\n${'` '.repeat(200_000)}\n`,
      'NOTES.': 'key: value\n',
      'notes.yaml': 'key: value\n',
      'tags.txt': `${'<i>…</i> '.repeat(600)}\n`,
      'italic.ts': `const html = '<i>…</i>'\n`,
      'large.png': Buffer.concat([png(8, 8), Buffer.alloc(3 * 1024 * 1024)]),
      'kept.png': POINTER('a'.repeat(64), 5_000_000),
      'empty.png': '',
    })
    mkdirSync(join(checkout, 'guide'))
    for (const [name, target] of Object.entries({
      'asks.txt': 'what?.txt',
      'hash.txt': '../a#b.txt',
      'scheme.txt': 'https:x.txt',
      'percent.txt': '100%.txt',
      'picture.png': '../large.png',
      'root.txt': '..',
      'outside.txt': '../../elsewhere',
      'absolute.txt': '/etc/hosts',
    }))
      symlinkSync(target, join(checkout, 'guide', name))
    await git(checkout, 'add', '-A')
    await git(checkout, 'commit', '--quiet', '-m', 'Add links')
    await site.as(site.mia, 'POST', '/user/repos', { name: 'kinds' })
    await git(checkout, 'push', '--quiet', urlFor(site, 'mia/kinds', site.mia), 'main')
  })

  it('shows a picture of any size, and none without content', async () => {
    for (const name of ['large.png', 'kept.png'])
      assert.match(await pageOf(`${path}/${name}`), /<img class="picture" src="[^"]*\/raw\//, name)
    const empty = await pageOf(`${path}/empty.png`)
    assert.match(empty, /The file is empty\./)
    assert.doesNotMatch(empty, /class="picture"/)
  })

  it('leads from a symbolic link to the file of that very name, within the repository', async () => {
    for (const [name, to] of [
      ['asks.txt', '/guide/what%3F.txt'],
      ['hash.txt', '/a%23b.txt'],
      ['scheme.txt', '/guide/https%3Ax.txt'],
      ['percent.txt', '/guide/100%25.txt'],
      ['picture.png', '/large.png'],
      ['root.txt', ''],
    ] as const) {
      const [, href] =
        /A symbolic link to <a href="([^"]*)"/.exec(await pageOf(`${path}/guide/${name}`)) ?? []
      assert.equal(href?.replace(/\/$/, ''), path + to, name)
    }
    for (const [name, target] of [
      ['outside.txt', '../../elsewhere'],
      ['absolute.txt', '/etc/hosts'],
    ])
      assert.match(await pageOf(`${path}/guide/${name}`), new RegExp(`link to <code>${target}</code>`), name)
  })

  it('has a link in place of the rest of a long line, and only there', async () => {
    assert.equal((await pageOf(`${path}/tags.txt`)).match(/title="Download the file, with all/g)?.length, 1)
    assert.doesNotMatch(await pageOf(`${path}/italic.ts`), /title="Download the file, with all/)
  })

  it('has colors only where the name has an ending', async () => {
    assert.match(await pageOf(`${path}/notes.yaml`), /<li id="L1"><i class="v">key:<\/i>/)
    assert.match(await pageOf(`${path}/NOTES.`), /<li id="L1">key: value\n/)
  })

  it('shows a README that is not markdown as it is written', async () => {
    const page = await pageOf('/mia/kinds')
    assert.match(page, /before ``````` within ````` after/)
  })
})

describe('The README of a folder', () => {
  let prose: string
  before(async () => {
    const text = [
      '[a](/guide/a.md) [b](b.md) [c](//example.org/c) [d](https://example.org/d) @mia',
      '![one](/guide/one.png) ![two](two.png) <img src="/guide/one.png" alt="three">',
    ]
    const checkout = await aCheckout({ 'a.txt': 'a' })
    mkdirSync(join(checkout, 'guide'))
    await commit(checkout, {
      ...{ 'guide/README.md': `# Linked\n\n${text.join('\n\n')}`, 'guide/a.md': 'a', 'guide/b.md': 'b' },
      ...{ 'guide/one.png': png(1, 1), 'guide/two.png': png(1, 1) },
    })
    const folders = {
      chain: '../README.md',
      out: '../../README.md',
      absolute: '/etc/passwd',
      self: 'README.md',
    }
    for (const [folder, target] of Object.entries(folders)) {
      mkdirSync(join(checkout, folder))
      symlinkSync(target, join(checkout, folder, 'README.md'))
    }
    symlinkSync('guide/README.md', join(checkout, 'README.md'))
    await commit(checkout, {})
    await site.as(site.mia, 'POST', '/user/repos', { name: 'linked' })
    await git(checkout, 'push', '--quiet', urlFor(site, 'mia/linked', site.mia), 'main')
    prose = /<div class="prose"[^>]*>(.*?)<\/div>/s.exec(await pageOf('/mia/linked'))![1]!
  })

  it('is the text of the file in the repository that a symbolic link leads to', async () => {
    assert.match(prose, /Linked<\/h1>/)
    assert.match(await pageOf('/mia/linked/src/branch/main/chain'), /Linked<\/h1>/)
    for (const folder of ['out', 'absolute', 'self'])
      assert.doesNotMatch(await pageOf(`/mia/linked/src/branch/main/${folder}`), /class="prose"/, folder)
  })

  it('leads to files from the root of the repository by links that begin with a slash, and shows pictures', async () => {
    const links = [...prose.matchAll(/<a [^>]*href="([^"]*)"/g)].map(([, to]) => to)
    const at = '/mia/linked/src/branch/main/guide'
    assert.deepEqual(
      links.filter((to) => !to!.startsWith('#')),
      [
        ...[`${at}/a.md`, `${at}/b.md`, '//example.org/c', 'https://example.org/d', '/mia'],
        // Pictures of markdown lead to their pages.
        ...[`${at}/one.png`, `${at}/two.png`],
      ],
    )
    const pictures = [...prose.matchAll(/<img [^>]*src="([^"]*)"/g)].map(([, from]) => from!)
    const raw = '/mia/linked/raw/branch/main/guide'
    assert.deepEqual(pictures, [`${raw}/one.png`, `${raw}/two.png`, `${raw}/one.png`])
    for (const picture of pictures) {
      const { status, headers } = await site.browser().get(picture)
      assert.deepEqual([status, headers.get('content-type')], [200, 'image/png'])
    }
  })
})

describe('A commit that another person made later than its author', () => {
  it('has the same day in each list and on its page, which names both', async () => {
    const checkout = await aCheckout({ file: 'one\n' })
    const head = await git(checkout, 'cat-file', 'commit', 'HEAD')
    const later = head
      .replace(/^author .*$/m, 'author Ada <ada@example.test> 1000000000 +0000')
      .replace(/^committer .*$/m, 'committer Cid <cid@example.test> 1500000000 +0000')
    writeFileSync(join(checkout, 'later'), `${later}\n`)
    const id = await git(checkout, 'hash-object', '-t', 'commit', '-w', 'later')
    await site.as(site.mia, 'POST', '/user/repos', { name: 'later' })
    await git(checkout, 'push', '--quiet', urlFor(site, 'mia/later', site.mia), `${id}:refs/heads/main`)
    for (const path of ['', '/src/branch/main', '/commits/branch/main', '/branches', `/commit/${id}`]) {
      const text = await pageOf(`/mia/later${path}`)
      assert.match(text, /2017/, path)
      assert.doesNotMatch(text, /2001/, path)
    }
    assert.match(words(await pageOf(`/mia/later/commit/${id}`)), /Ada is the author, Cid committed on/)
  })
})
