import assert from 'node:assert/strict'
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { before, describe, it } from 'node:test'
import fc from 'fast-check'
import { pathBytes, pathText } from '../../lib/git/text.ts'
import { madeBefore, peopleBefore } from '../support/test-server.ts'
import { waitFor } from '../support/wait-for.ts'
import { aCheckout, git, urlFor } from './client.ts'
import { startGitWithPages } from './served.ts'

let path: string
let checkout: string
const allot = madeBefore(() => startGitWithPages())
const [ann] = peopleBefore(allot, 'ann')
before(async () => {
  path = await allot.repository(ann, 'demo')
  checkout = await aCheckout()
  const root = Buffer.from(`${checkout}/`)
  for (const [bytes, shown] of NAMES) writeFileSync(Buffer.concat([root, bytes]), `in ${shown}`)
  for (const name of FOLDERS) {
    mkdirSync(`${checkout}/${name}`)
    writeFileSync(`${checkout}/${name}/file`, `in ${name}`)
  }
  const folder = Buffer.concat([root, latin1('d\xe9p\xf4t')])
  mkdirSync(folder)
  writeFileSync(Buffer.concat([folder, latin1('/\xe9t\xe9')]), 'below')
  symlinkSync(latin1('d\xe9p\xf4t/\xe9t\xe9'), join(checkout, 'link'))
  await git(checkout, 'add', '--all')
  await git(checkout, 'commit', '--quiet', '--message', 'names')
  await push('main')
})

const push = (...refs: string[]) => git(checkout, 'push', '--quiet', urlFor(allot, path, ann), ...refs)
const read = (rest: string) => allot.as(ann, 'GET', `/repos/${path}${rest}`)
const latin1 = (text: string): Buffer => Buffer.from(text, 'latin1')

/** Bytes of a name, and the text that it is shown as. */
const NAMES: readonly (readonly [Buffer, string])[] = [
  [latin1('caf\xe9.txt'), 'caf\ufffdE9.txt'],
  [latin1('caf\xe8.txt'), 'caf\ufffdE8.txt'],
  [Buffer.from('café.txt'), 'café.txt'],
  [Buffer.from('caf\ufffd.txt'), 'caf\ufffd.txt'],
  [Buffer.from('caf\ufffdE9.txt'), 'caf\ufffdEF\ufffdBF\ufffdBDE9.txt'],
  [Buffer.concat([Buffer.from('é'), latin1('\xe9')]), '\ufffdC3\ufffdA9\ufffdE9'],
  ...[
    'a\tb',
    'a\nb',
    '\na',
    'a\n',
    '\ra',
    'a\r',
    '\x01a',
    'a\x7f',
    'a\x85',
    'a\u2028b',
    'a ',
    '"',
    '\\n',
    '%0A',
  ].map((name) => [Buffer.from(name), name] as const),
]
/** Names of folders that could be read as several lines, or as another name. */
const FOLDERS = ['in\nside', '\nbefore', 'after\r', '\r', '\x01', '\tb ']
const FOLDER = 'd\ufffdE9p\ufffdF4t'
const BELOW = `${FOLDER}/\ufffdE9t\ufffdE9`
const encoded = (shown: string) => shown.split('/').map(encodeURIComponent).join('/')

describe('A name in git', () => {
  it('is shown as text that leads back to its bytes, and as it is where it is UTF-8', () => {
    const unit = fc.oneof(
      fc.uint8Array({ maxLength: 3 }).map((bytes) => Buffer.from(bytes)),
      fc.constantFrom('\ufffd', 'E9', 'é', '/', 'a').map((text) => Buffer.from(text)),
    )
    fc.assert(
      fc.property(fc.array(unit, { maxLength: 6 }), (parts) => {
        const bytes = Buffer.concat(parts)
        assert.deepEqual(pathBytes(pathText(bytes)), bytes)
      }),
    )
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme' }), (text) => {
        if (!text.includes('\ufffd')) assert.equal(pathText(Buffer.from(text)), text)
      }),
    )
  })

  it('is the same in lists of folders, trees, changes and comparisons', async () => {
    const names = [...NAMES.map(([, shown]) => shown), 'link']
    const expected = [...names, ...FOLDERS, 'a', FOLDER].sort()
    const contents = (await read('/contents')).body
    assert.deepEqual(contents.map((entry: { path: string }) => entry.path).sort(), expected)
    const flat = (await read('/git/trees/main')).body.tree
    assert.deepEqual(flat.map((entry: { path: string }) => entry.path).sort(), expected)
    const all = (await read('/git/trees/main?recursive=true')).body.tree
    const below = [BELOW, ...FOLDERS.map((name) => `${name}/file`)]
    assert.deepEqual(all.map((entry: { path: string }) => entry.path).sort(), [...expected, ...below].sort())
    const files = [...names, ...below].sort()
    const [commit] = (await read('/commits')).body
    const [parent] = commit.parents
    const compared = (await read(`/compare/${parent.sha}...${commit.sha}`)).body
    for (const { files: changed } of [commit, compared])
      assert.deepEqual(changed.map((file: { filename: string }) => file.filename).sort(), files)
  })

  const texts = [
    ...NAMES.map(([, shown]) => [shown, `in ${shown}`] as const),
    ...FOLDERS.map((name) => [`${name}/file`, `in ${name}`] as const),
  ]
  for (const [shown, text] of texts)
    it(`opens its file at all addresses: ${JSON.stringify(shown)}`, async () => {
      const folder = encoded(shown).split('/').slice(0, -1).join('/')
      const list = (await read(`/contents/${folder}`)).body
      const listed = list.find((entry: { path: string }) => entry.path === shown)
      for (const url of [listed.url, listed.download_url, listed.html_url])
        assert.equal(
          (await fetch(url, { headers: { authorization: `token ${ann.token}` } })).status,
          200,
          url,
        )
      const { body } = await read(`/contents/${encoded(shown)}`)
      assert.deepEqual([body.name, body.path, body.sha], [shown.split('/').at(-1), shown, listed.sha])
      assert.equal(body.last_commit_sha, await git(checkout, 'rev-parse', 'main'))
      assert.equal((await read(`/raw/${encoded(shown)}`)).text, text)
      const history = (await read(`/commits?path=${encodeURIComponent(shown)}`)).body
      assert.equal(history.length, 1)
    })

  it('opens a folder, what is below it, and what a link leads to', async () => {
    assert.equal((await read(`/contents/${encoded(FOLDER)}`)).body[0].path, BELOW)
    assert.equal((await read(`/raw/${encoded(BELOW)}`)).text, 'below')
    assert.equal((await read('/contents/link')).body.target, BELOW)
    assert.equal((await read(`/commits?path=${encodeURIComponent(FOLDER)}`)).body.length, 1)
    const commit = await git(checkout, 'rev-parse', 'main')
    for (const page of ['', `/src/branch/main/${encoded(FOLDER)}`, `/commit/${commit}`]) {
      const response = await fetch(`${allot.base}/${path}${page}`)
      const links = [...(await response.text()).matchAll(/href="(\/[^"#]*)/g)].map(([, link]) => link!)
      const files = links.filter((link) => link.includes('/src/'))
      assert.ok(
        files.some((link) => link.includes('%EF%BF%BDE9')),
        page,
      )
      for (const link of files) assert.equal((await fetch(allot.base + link)).status, 200, link)
    }
  })

  it('has its commit on the page of its folder', async () => {
    const rows = async () => {
      const page = await (await fetch(`${allot.base}/${path}`)).text()
      const [, list = ''] = /<ul class="plain entries">(.*?)<\/ul>/s.exec(page) ?? []
      return list.split('<li').slice(1)
    }
    await waitFor(async () => (await rows()).every((row) => row.includes('<time')))
    assert.equal((await rows()).length, NAMES.length + FOLDERS.length + 3)
  })

  it('is kept by a change of the file, and of another file', async () => {
    const shown = NAMES[0]![1]
    const { sha } = (await read(`/contents/${encoded(shown)}`)).body
    const body = {
      sha,
      content: Buffer.from('new').toString('base64'),
      branch: 'main',
      new_branch: 'changed',
    }
    const changed = await allot.as(ann, 'PUT', `/repos/${path}/contents/${encoded(shown)}`, body)
    assert.deepEqual([changed.status, changed.body.content?.path], [200, shown])
    const names = async (ref: string) =>
      (await read(`/contents?ref=${ref}`)).body.map((entry: { path: string }) => entry.path)
    assert.deepEqual(await names('changed'), await names('main'))
    assert.equal((await read(`/raw/${encoded(shown)}?ref=changed`)).text, 'new')
    await allot.assertCounted('ann')
  })
})

const LATIN1 = latin1('na\xefve \x93caf\xe9\x94\n')
const READABLE = 'naïve “café”'
const GB18030 = latin1('\xd6\xd0\xce\xc4 \xa1\xb0\xc4\xe3\xba\xc3\xa3\xac\xca\xc0\xbd\xe7\xa1\xb1\n')
const CHINESE = '中文 “你好，世界”'

describe('A text in git', () => {
  /** Name, bytes, the type that they are sent with, and what is shown. */
  const files = [
    ['utf8', Buffer.from(`${READABLE}\n`), 'text/plain;charset=utf-8', READABLE],
    ['marked', Buffer.from(`\ufeff${READABLE}\n`), 'text/plain;charset=utf-8', READABLE],
    ['latin1', LATIN1, 'text/plain', READABLE],
    ['gb18030', GB18030, 'text/plain', CHINESE],
    ['utf16', Buffer.from(`\ufeff${READABLE}\n`, 'utf16le'), 'text/plain', READABLE],
    ['utf16be', Buffer.from(`\ufeff${READABLE}\n`, 'utf16le').swap16(), 'text/plain', READABLE],
  ] as const
  const headersBy = (name: string) =>
    `author ${name} <j@example.test> 1700000000 +0000\ncommitter J <j@example.test> 1700000000 +0000\n`

  /** A branch of one commit that has these bytes after its tree. */
  const plantCommit = async (branch: string, tree: string, rest: Buffer): Promise<string> => {
    const file = join(checkout, '.git', 'planted')
    writeFileSync(file, Buffer.concat([Buffer.from(`tree ${tree}\n`), rest]))
    const id = await git(checkout, 'hash-object', '-t', 'commit', '-w', '--literally', file)
    await push(`+${id}:refs/heads/${branch}`)
    return id
  }

  for (const [name, bytes, type, shown] of files)
    it(`is readable on its page, and sent as it is with a true type: ${name}`, async () => {
      await git(checkout, 'checkout', '--quiet', '-B', name, 'main')
      writeFileSync(join(checkout, name), bytes)
      await git(checkout, 'add', name)
      await git(checkout, 'commit', '--quiet', '--message', name)
      await push(name)
      for (const url of [
        `${allot.base}/${path}/raw/branch/${name}/${name}`,
        `${allot.base}/api/v1/repos/${path}/raw/${name}?ref=${name}`,
      ]) {
        const response = await fetch(url)
        assert.equal(response.headers.get('content-type'), type, url)
        assert.deepEqual(Buffer.from(await response.arrayBuffer()), bytes)
      }
      const page = await (await fetch(`${allot.base}/${path}/src/branch/${name}/${name}`)).text()
      assert.ok(page.includes(`>${shown}\n`), page)
    })

  it('is readable in a diff whose files have different encodings', async () => {
    writeFileSync(join(checkout, 'one'), LATIN1)
    writeFileSync(join(checkout, 'two'), READABLE)
    await git(checkout, 'add', 'one', 'two')
    await git(checkout, 'commit', '--quiet', '--message', 'mixed')
    await push('HEAD:refs/heads/mixed')
    const id = await git(checkout, 'rev-parse', 'HEAD')
    const page = await (await fetch(`${allot.base}/${path}/commit/${id}`)).text()
    assert.equal(page.split(READABLE).length - 1, 2)
    for (const kind of ['diff', 'patch']) {
      const response = await fetch(`${allot.base}/api/v1/repos/${path}/git/commits/${id}.${kind}`)
      assert.equal(response.headers.get('content-type'), 'text/plain')
      assert.ok(Buffer.from(await response.arrayBuffer()).includes(LATIN1))
    }
  })

  it('is readable in a diff with lines that are too short to tell their encoding', async () => {
    writeFileSync(join(checkout, 'three'), Buffer.concat([GB18030, latin1('\xb5\xc4\n')]))
    await git(checkout, 'add', 'three')
    await git(checkout, 'commit', '--quiet', '--message', 'Chinese')
    await push('HEAD:refs/heads/chinese')
    const id = await git(checkout, 'rev-parse', 'HEAD')
    const page = await (await fetch(`${allot.base}/${path}/commit/${id}`)).text()
    for (const line of [CHINESE, '的']) assert.ok(page.includes(line), page)
  })

  for (const by of ['', ' ', '  '])
    it(`is readable where the author has no name but ${JSON.stringify(by)}`, async () => {
      const tree = await git(checkout, 'rev-parse', 'main~1^{tree}')
      const text = `author ${by}<> 1700000000 +0000\ncommitter ${by}<> 1700000000 +0000\n\nold\n`
      const id = await plantCommit('main', tree, Buffer.from(text))
      const [listed] = (await read('/commits')).body
      const one = (await read(`/git/commits/${id}`)).body
      for (const { commit } of [listed, one])
        assert.deepEqual([commit.author.name.trim(), commit.author.email, commit.message], ['', '', 'old\n'])
      for (const page of ['', '/commits', `/commit/${id}`, '/branches', '/src/branch/main']) {
        const response = await fetch(`${allot.base}/${path}${page}`)
        const text = await response.text()
        assert.equal(response.status, 200, text)
        assert.doesNotMatch(text, /<bdi>\s*<\/bdi>/)
        assert.doesNotMatch(text, /<a [^>]*>\s*<\/a>/)
      }
    })

  for (const [title, header, by, message, shown] of [
    ['of no encoding, as Latin-1', '', 'J\xf6', 'caf\xe9 \x80', ['Jö', 'café €']],
    [
      'of no encoding, as GB18030',
      '',
      '\xcd\xf5\xb7\xbc',
      '\xd0\xde\xb8\xb4\xb1\xe0\xc2\xeb',
      ['王芳', '修复编码'],
    ],
    ['of GBK', 'encoding GBK\n', '\xcd\xf5\xb7\xbc', '\xb5\xc4', ['王芳', '的']],
    ['of its encoding', 'encoding windows-1251\n', 'J\xf6', '\xcf\xf0\xe8\xe2\xe5\xf2', ['Jц', 'Привет']],
    ['of an unknown encoding, as Latin-1', 'encoding none\n', 'J\xf6', 'caf\xe9', ['Jö', 'café']],
    [
      'of one in which headers are not ASCII, as Latin-1',
      'encoding utf-16\n',
      'J\xf6',
      'caf\xe9',
      ['Jö', 'café'],
    ],
    ['that says it is UTF-8 and is not, as Latin-1', 'encoding utf-8\n', 'J\xf6', 'caf\xe9', ['Jö', 'café']],
  ] as const)
    it(`is read in a commit ${title}`, async () => {
      const tree = await git(checkout, 'rev-parse', 'main^{tree}')
      const id = await plantCommit('planted', tree, latin1(`${headersBy(by)}${header}\n${message}\n`))
      const [listed] = (await read('/commits?sha=planted')).body
      const one = (await read(`/git/commits/${id}`)).body
      for (const { commit } of [listed, one])
        assert.deepEqual([commit.author.name, commit.message.trimEnd()], shown)
      assert.equal(one.commit.tree.sha, tree)
    })
})
