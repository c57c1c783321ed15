import assert from 'node:assert/strict'
import { readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { before, describe, it } from 'node:test'
import { outcome } from '../support/child.ts'
import { temporaryDirectory } from '../support/folder.ts'
import { lacks } from '../support/requirements.mjs'
import { madeBefore, peopleBefore } from '../support/test-server.ts'
import { aCheckout, git, urlFor } from './client.ts'
import { startGitWithPages } from './served.ts'

let path: string
let checkout: string
const allot = madeBefore(() => startGitWithPages())
const [ann] = peopleBefore(allot, 'ann')
before(async () => {
  path = await allot.repository(ann, 'demo')
  checkout = await aCheckout()
  await git(checkout, 'push', '--quiet', urlFor(allot, path, ann), 'main')
})

const made = async (url: string, body: object | FormData) => {
  const isForm = body instanceof FormData
  const headers = {
    authorization: `token ${ann.token}`,
    ...(isForm ? {} : { 'content-type': 'application/json' }),
  }
  const response = await fetch(url, { method: 'POST', headers, body: isForm ? body : JSON.stringify(body) })
  assert.equal(response.status, 201)
  return response.json()
}

const read = async (rest: string) => (await allot.as(ann, 'GET', `/repos/${path}${rest}`)).body

const attach = (release: number, name: string) => {
  const form = new FormData()
  form.append('attachment', new Blob(['text']), name)
  return made(`${allot.api}/repos/${path}/releases/${release}/assets?name=${encodeURIComponent(name)}`, form)
}

describe('The release of a tag', () => {
  for (const tag of ['v1/2', 'release/1.0', 'a%2Fb', 'h#x', 'ä/é', 'a&b', "it's", 'a"b', 'v1+2', 'x/v1.zip'])
    it(`opens at all addresses that are given out: ${tag}`, async () => {
      await git(checkout, 'tag', tag)
      await git(checkout, 'push', '--quiet', urlFor(allot, path, ann), `refs/tags/${tag}`)
      const release = await made(`${allot.api}/repos/${path}/releases`, { tag_name: tag })
      const asset = await attach(release.id, 'a.txt')
      const listed = (await read('/tags')).find(({ name }: { name: string }) => name === tag)
      const refs = await read('/git/refs/tags')
      const ref = refs.find((one: { ref: string }) => one.ref === `refs/tags/${tag}`)
      const name = encodeURIComponent(tag)
      const urls = [
        ...[release.html_url, release.url, asset.browser_download_url, listed.zipball_url],
        ...[listed.tarball_url, ref.url, `${allot.api}/repos/${path}/archive/${name}.zip`],
        ...['releases/tags', 'tags'].map((list) => `${allot.api}/repos/${path}/${list}/${name}`),
      ]
      for (const page of [`${allot.base}/${path}/releases`, `${allot.base}/${path}/tags`, release.html_url]) {
        const text = await (await fetch(page)).text()
        for (const [, link] of text.matchAll(/href="(\/ann\/[^"#]*)/g))
          urls.push(allot.base + link!.replaceAll('&amp;', '&').replaceAll('&quot;', '"'))
      }
      for (const url of new Set<string>(urls)) {
        const response = await fetch(url, { headers: { authorization: `token ${ann.token}` } })
        assert.equal(response.status, 200, url)
        await response.arrayBuffer()
      }
    })
})

describe('A download', { skip: lacks('curl') }, () => {
  /** @returns the name under which `curl -OJ` saves it */
  const saved = async (url: string): Promise<string[]> => {
    const folder = temporaryDirectory()
    const args = ['-sfOJ', '-H', `Authorization: token ${ann.token}`, url]
    assert.equal((await outcome('curl', args, { cwd: folder })).code, 0)
    return readdirSync(folder)
  }
  const NAMES: readonly (readonly [string, string])[] = [
    ['a b.txt', 'a b.txt'],
    ['ä 中文.txt', 'ä 中文.txt'],
    ['c++ (1) [2] @3, 100%; x=y.txt', 'c++ (1) [2] @3, 100%; x=y.txt'],
    [`it's "so".txt`, `it's _so_.txt`],
  ]

  for (const [name, expected] of NAMES)
    it(`is saved by curl under its name: ${name}`, async () => {
      writeFileSync(join(checkout, name), 'text')
      await git(checkout, 'add', '--all')
      await git(checkout, 'commit', '--quiet', '--message', 'add')
      await git(checkout, 'push', '--quiet', urlFor(allot, path, ann), 'main')
      const listed = (await read('/contents')).find((one: { name: string }) => one.name === name)
      const release = await made(`${allot.api}/repos/${path}/releases`, { tag_name: `v${name.length}` })
      const asset = await attach(release.id, name)
      assert.equal(asset.name, name)
      for (const url of [listed.download_url, asset.browser_download_url])
        assert.deepEqual(await saved(url), [expected], url)
    })

  it('of an archive is named after the repository and the tag', async () => {
    await git(checkout, 'tag', 'ö/é')
    await git(checkout, 'push', '--quiet', urlFor(allot, path, ann), 'refs/tags/ö/é')
    const listed = (await read('/tags')).find(({ name }: { name: string }) => name === 'ö/é')
    assert.deepEqual(await saved(listed.tarball_url), ['demo-ö-é.tar.gz'])
  })
})
