import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { before, describe, it } from 'node:test'
import { memory } from '../../drivers/memory/index.ts'
import { temporaryDirectory } from '../support/folder.ts'
import { madeBefore, peopleBefore } from '../support/test-server.ts'
import { waitFor } from '../support/wait-for.ts'
import { startPages } from './browser.ts'

const OID = createHash('sha256').update('large').digest('hex')

/** What files are of, and the part of a scope without which neither the API nor a page sends them. */
const FILES = {
  'an issue': 'issue',
  'a comment': 'issue',
  'the draft of a release': 'repository',
  'a package': 'package',
  'an LFS object': 'repository',
} as const
type FileOf = keyof typeof FILES

/** URL of the API at which clients get each file. */
const urls = {} as Record<FileOf, string>
/** Paths of the pages that send each file. */
const pages = {} as Record<FileOf, string[]>

const create = async (path: string, body: object | FormData) => {
  const form = body instanceof FormData
  const headers = {
    authorization: `token ${ann.token}`,
    ...(!form && { 'content-type': 'application/json' }),
  }
  const response = await fetch(allot.api + path, {
    method: 'POST',
    headers,
    body: form ? body : JSON.stringify(body),
  })
  assert.equal(response.status, 201, path)
  return response.json()
}

const attach = async (to: FileOf, path: string) => {
  const form = new FormData()
  form.append('attachment', new Blob(['bytes']), to)
  const { uuid, browser_download_url } = await create(`/repos/ann/code/${path}/assets`, form)
  urls[to] = browser_download_url
  pages[to] = [`/-/attachments/${uuid}`]
}

const put = async (to: FileOf, path: string, body: string, download = path) => {
  const headers = { authorization: `token ${ann.token}` }
  assert.ok((await fetch(allot.base + path, { method: 'PUT', headers, body })).ok, path)
  urls[to] = allot.base + download
}

/** Everything is of a public repository and a public user: only the draft is hidden from others. */
const allot = madeBefore(() => startPages({ repositories: { directory: temporaryDirectory() } }))
const [ann] = peopleBefore(allot, 'ann')
before(async () => {
  await create('/user/repos', { name: 'code' })
  await create('/repos/ann/code/issues', { title: 'A bug' })
  const comment = await create('/repos/ann/code/issues/1/comments', { body: 'Seen' })
  const draft = await create('/repos/ann/code/releases', { tag_name: 'v1', draft: true })
  await attach('an issue', 'issues/1')
  await attach('a comment', `issues/comments/${comment.id}`)
  await attach('the draft of a release', `releases/${draft.id}`)
  await put('a package', '/api/packages/ann/generic/app/1.0/app.bin', 'bytes')
  pages['a package'] = ['/ann/-/packages/generic/app/1.0/app.bin']
  const object = `/ann/code/info/lfs/objects/${OID}`
  await put('an LFS object', `${object}/5`, 'large', object)
  pages['an LFS object'] = []
  const all = { offset: 0, limit: 50 }
  const { items } = await allot.allot.hosting.storageItems.list({ ...ann, admin: false }, ann.id, {}, all)
  for (const { id, name, kind } of items.filter(({ isStoredHere }) => isStoredHere)) {
    const of = kind === 'lfs' ? 'an LFS object' : kind === 'packages' ? 'a package' : (name as FileOf)
    pages[of]?.push(`/-/storage/ann/download?item=${encodeURIComponent(id)}`)
  }
})

describe('A file that a page sends', () => {
  for (const scope of ['all', 'read:user', 'read:issue', 'write:repository', 'read:package'])
    it(`goes to a session that began with a token of ${scope} when the API sends it to that token`, async () => {
      // The pages of the storage need `read:user`.
      const token = await allot.scoped(ann, 'read:user', scope)
      const browser = await allot.signedIn('', token)
      for (const [of, part] of Object.entries(FILES) as [FileOf, string][]) {
        const expected = scope === 'all' || scope.endsWith(`:${part}`) ? 200 : 403
        const { status } = await fetch(urls[of], { headers: { authorization: `token ${token}` } })
        assert.equal(status, expected, `${urls[of]} of ${of}`)
        assert.ok(pages[of].length > 0)
        for (const page of pages[of])
          assert.equal((await browser.get(page)).status, expected, `${page} of ${of}`)
      }
    })

  it('counts as a download when it is an attachment, once it is sent', async () => {
    const browser = await allot.signedIn('', ann.token)
    const downloads = async () =>
      (await allot.as(ann, 'GET', '/repos/ann/code/issues/1/assets')).body[0].download_count
    for (const page of pages['an issue']) {
      const before = await downloads()
      await fetch(allot.base + page, { method: 'HEAD', headers: { cookie: browser.cookie } })
      assert.equal(await downloads(), before)
      await browser.get(page)
      await waitFor(async () => (await downloads()) === before + 1)
    }
  })

  it('is no attachment where issues and releases are turned off', async () => {
    const kept = { driver: memory(), files: { directory: temporaryDirectory() } }
    const first = await startPages({ ...kept, repositories: false })
    const { token } = first.root
    await first.as(first.root, 'POST', '/user/repos', { name: 'code' })
    await first.as(first.root, 'POST', '/repos/root/code/issues', { title: 'A bug' })
    const body = new FormData()
    body.append('attachment', new Blob(['bytes']), 'file')
    const sent = await fetch(`${first.api}/repos/root/code/issues/1/assets`, {
      ...{ method: 'POST', headers: { authorization: `token ${token}` }, body },
    })
    const page = `/-/attachments/${((await sent.json()) as { uuid: string }).uuid}`
    assert.equal((await first.browser().get(page)).status, 200)
    await first.stop()
    const second = await startPages({ ...kept, repositories: false, issues: false }, { root: 'again' })
    assert.equal((await second.browser().get(page)).status, 404)
  })

  it('has a tag and can be resumed, as one that the API sends', async () => {
    const browser = await allot.signedIn('', ann.token)
    for (const [of, paths] of Object.entries(pages))
      for (const path of paths) {
        const whole = await browser.get(path)
        const tag = whole.headers.get('etag')!
        assert.equal(whole.headers.get('content-security-policy'), "default-src 'none'; sandbox", of)
        assert.equal((await browser.get(path, { 'if-none-match': tag })).status, 304, path)
        const part = await browser.get(path, { range: 'bytes=2-3' })
        assert.deepEqual([part.status, part.text], [206, whole.text.slice(2, 4)], path)
      }
  })
})
