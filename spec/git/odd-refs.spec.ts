import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { before, describe, it } from 'node:test'
import { madeBefore, peopleBefore } from '../support/test-server.ts'
import { aCheckout, git, urlFor } from './client.ts'
import { startGitWithPages } from './served.ts'

let path: string
let checkout: string
const allot = madeBefore(() => startGitWithPages())
const [ann] = peopleBefore(allot, 'ann')
before(async () => {
  path = await allot.repository(ann, 'demo')
  checkout = await aCheckout({ file: Buffer.from('as it was pushed\n') })
  await push('main')
})

const push = (...refs: string[]) => git(checkout, 'push', '--quiet', urlFor(allot, path, ann), ...refs)

const read = (rest: string) => allot.as(ann, 'GET', `/repos/${path}${rest}`)

describe('A pushed replacement of an object', () => {
  it('changes nothing that is read by the id of the object, and breaks nothing when replacements form a ring', async () => {
    const [commit, blob] = [
      await git(checkout, 'rev-parse', 'main'),
      await git(checkout, 'rev-parse', 'main:file'),
    ]
    writeFileSync(join(checkout, 'other'), 'something else\n')
    const other = await git(checkout, 'hash-object', '-w', 'other')
    await push(`${other}:refs/replace/${blob}`, `${blob}:refs/replace/${other}`)
    const file = await read('/raw/file')
    assert.deepEqual([file.status, file.text], [200, 'as it was pushed\n'])
    const object = await read(`/git/blobs/${blob}`)
    assert.equal(Buffer.from(object.body.content, 'base64').toString(), 'as it was pushed\n')
    const diff = await read(`/git/commits/${commit}.diff`)
    assert.match(diff.text, /^\+as it was pushed$/m)
    assert.equal((await read('/archive/main.zip')).status, 200)
    await allot.assertCounted('ann')
  })
})

describe('A branch that git takes in a push, and that no request could create', () => {
  for (const name of ['-x', '--upload-pack=x', 'HEAD', 'main@'])
    it(`is listed, read, and deleted: ${name}`, async () => {
      await push(`main:refs/heads/${name}`)
      const names = (await read('/branches')).body.map((branch: { name: string }) => branch.name)
      assert.ok(names.includes(name))
      for (const rest of [
        `/branches/${name}`,
        `/commits?sha=${name}`,
        `/contents?ref=${name}`,
        `/archive/${name}.zip`,
      ])
        assert.equal((await read(rest)).status, 200, rest)
      assert.equal((await allot.as(ann, 'DELETE', `/repos/${path}/branches/${name}`)).status, 204)
      assert.equal((await read(`/branches/${name}`)).status, 404)
    })
})

describe('A tag', () => {
  const objects = { commit: 'main', tree: 'main^{tree}', blob: 'main:file' }
  let tagged: string
  before(async () => {
    // The repository has no branch.
    tagged = await allot.repository(ann, 'tagged')
    for (const [type, object] of Object.entries(objects)) {
      await git(checkout, 'tag', type, object)
      await git(checkout, 'tag', '-a', '-m', 'x', `annotated/${type}`, object)
      await git(checkout, 'tag', '-a', '-m', 'x', `twice/${type}`, `annotated/${type}`)
    }
    await git(checkout, 'push', '--quiet', urlFor(allot, tagged, ann), '--tags')
  })

  /** The URLs in a value. */
  const urlsIn = (value: unknown): string[] => {
    if (typeof value === 'string') return /^https?:/.test(value) ? [value] : []
    return typeof value === 'object' && value !== null ? Object.values(value).flatMap(urlsIn) : []
  }
  const statusOf = async (url: string): Promise<number> => {
    const answer = await fetch(url)
    await answer.arrayBuffer()
    return answer.status
  }

  it('names only addresses that exist, of whatever object it is', async () => {
    const names = (await git(checkout, 'tag')).split('\n')
    const ids = await Promise.all(names.map((name) => git(checkout, 'rev-parse', name)))
    const listed = await allot.as(undefined, 'GET', `/repos/${tagged}/tags?limit=50`)
    assert.equal(listed.body.length, 9)
    for (const tag of listed.body) {
      const [, type = ''] = /([^/]*)$/.exec(tag.name)!
      assert.deepEqual(
        [tag.commit !== null, tag.tarball_url !== ''],
        [type === 'commit', type !== 'blob'],
        tag.name,
      )
      const { body } = await allot.as(undefined, 'GET', `/repos/${tagged}/tags/${tag.name}`)
      assert.deepEqual(body, tag)
    }
    const answers: unknown[] = [listed.body]
    answers.push((await allot.as(undefined, 'GET', `/repos/${tagged}/git/refs`)).body)
    for (const id of ids)
      answers.push((await allot.as(undefined, 'GET', `/repos/${tagged}/git/tags/${id}`)).body)
    const urls = [...new Set(urlsIn(answers))]
    assert.ok(urls.length >= 30, String(urls.length))
    for (const url of urls) assert.equal(await statusOf(url), 200, url)
  })

  it('is read where the repository has no branch, whose page links to what there is', async () => {
    const commits = await allot.as(undefined, 'GET', `/repos/${tagged}/commits?sha=annotated/commit`)
    assert.deepEqual([commits.status, commits.body.length], [200, 1])
    assert.equal((await allot.as(undefined, 'GET', `/repos/${tagged}/commits`)).status, 409)
    for (const page of ['', '/tags', '/src/tag/commit', '/commits/tag/commit']) {
      const response = await fetch(`${allot.base}/${tagged}${page}`)
      assert.equal(response.status, 200, page)
      const html = await response.text()
      assert.doesNotMatch(html, /Nothing has been pushed/)
      const links = [...html.matchAll(/href="(\/[^"#]*)/g)].map(([, link]) => link!)
      for (const link of links.filter((one) => one.startsWith(`/${tagged}/`)))
        assert.equal(await statusOf(`${allot.base}${link.replaceAll('&amp;', '&')}`), 200, link)
    }
    assert.match(await (await fetch(`${allot.base}/${tagged}`)).text(), /No branch has been pushed yet/)
  })
})
