import assert from 'node:assert/strict'
import { createHash, randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { before, describe, it } from 'node:test'
import { attempt, commit, git } from '../git/client.ts'
import { temporaryDirectory } from '../support/folder.ts'
import { lacks } from '../support/requirements.mjs'
import { madeBefore, peopleBefore } from '../support/test-server.ts'
import { gitWith, keyPair, ssh, sshEnvironment, startSsh } from './client.ts'

let [key, bobKey] = ['', '']
const allot = madeBefore(() => startSsh())
const [alice] = peopleBefore(allot, 'alice')
before(async () => {
  key = await allot.key(alice)
  bobKey = await allot.key(await allot.person('bob'))
  await allot.repository(alice, 'demo', { private: true })
  await allot.repository(alice, 'open')
})

interface Access {
  href: string
  header: { Authorization: string }
  expires_at: string
}

const access = async (path: string, operation: string, file = key): Promise<Access> => {
  const { code, out, err } = await ssh(allot.port, file, ['git-lfs-authenticate', path, operation])
  assert.equal(code, 0, err)
  return JSON.parse(out)
}

const ask = (path: string, authorization: string, init: RequestInit = {}) =>
  fetch(allot.base + path, { ...init, headers: { authorization } })

const batch = async (path: string, authorization: string, operation: string) => {
  const object = { oid: 'a'.repeat(64), size: 5 }
  const response = await fetch(`${allot.base}/${path}.git/info/lfs/objects/batch`, {
    method: 'POST',
    headers: { authorization, 'content-type': 'application/vnd.git-lfs+json' },
    body: JSON.stringify({ operation, objects: [object] }),
  })
  return { status: response.status, body: await response.json() }
}

describe('git lfs with an ssh_url', { skip: lacks('git-lfs') }, () => {
  it('pushes objects, which are counted, and downloads them again', async () => {
    const folder = temporaryDirectory()
    await git(folder, 'init', '--quiet')
    await git(folder, 'lfs', 'install', '--local')
    await git(folder, 'lfs', 'track', '*.bin')
    const content = randomBytes(300_000)
    await commit(folder, { 'one.bin': content })
    await git(folder, 'remote', 'add', 'origin', allot.url('alice/demo'))
    await gitWith(key, folder, 'push', '--quiet', 'origin', 'main')
    const { used } = await allot.allot.quota.info('alice')
    assert.equal(used.size.git.LFS, content.length)
    const clone = temporaryDirectory()
    await gitWith(key, clone, 'clone', '--quiet', allot.url('alice/demo'), '.')
    await git(clone, 'lfs', 'install', '--local')
    await gitWith(key, clone, 'lfs', 'pull')
    assert.deepEqual(readFileSync(join(clone, 'one.bin')), content)
  })

  it('cannot push objects to a repository that it can only read', async () => {
    const folder = temporaryDirectory()
    await git(folder, 'init', '--quiet')
    await git(folder, 'lfs', 'install', '--local')
    await git(folder, 'lfs', 'track', '*.bin')
    await commit(folder, { 'one.bin': 'content' })
    await git(folder, 'remote', 'add', 'origin', allot.url('alice/open'))
    const { code, err } = await attempt(folder, ['push', 'origin', 'main'], sshEnvironment(bobKey))
    assert.notEqual(code, 0)
    assert.match(err, /bob may not push to this repository/)
  })
})

describe('The token of git-lfs-authenticate', () => {
  it('is for the LFS objects of one repository, and for nothing else', async () => {
    const { href, header } = await access('alice/demo', 'upload')
    const { Authorization: token } = header
    assert.equal(href, `${allot.base}/alice/demo.git/info/lfs`)
    const { status, body } = await batch('alice/demo', token, 'upload')
    assert.equal(status, 200)
    const { upload, verify } = body.objects[0].actions
    for (const action of [upload, verify]) assert.equal(action.header.Authorization, token)
    assert.equal((await batch('alice/open', token, 'download')).status, 401)
    for (const path of [
      '/api/v1/user',
      '/api/v1/repos/alice/demo',
      '/alice/demo.git/info/refs?service=git-upload-pack',
      '/alice/open.git/info/refs?service=git-receive-pack',
    ])
      assert.equal((await ask(path, token)).status, 401, path)
  })

  it('for a download does not upload', async () => {
    const { Authorization: token } = (await access('alice/demo', 'download')).header
    assert.equal((await batch('alice/demo', token, 'download')).status, 200)
    assert.equal((await batch('alice/demo', token, 'upload')).status, 403)
    const put = await ask(`/alice/demo.git/info/lfs/objects/${'a'.repeat(64)}/5`, token, {
      method: 'PUT',
      body: 'hello',
    })
    assert.equal(put.status, 403)
  })

  it('for an upload also downloads', async () => {
    const { Authorization: token } = (await access('alice/demo', 'upload')).header
    const [content, url] = ['hello', `/alice/demo.git/info/lfs/objects`]
    const oid = createHash('sha256').update(content).digest('hex')
    const put = await ask(`${url}/${oid}/${content.length}`, token, { method: 'PUT', body: content })
    assert.equal(put.status, 200)
    assert.equal((await batch('alice/demo', token, 'download')).status, 200)
    assert.equal(await (await ask(`${url}/${oid}`, token)).text(), content)
  })

  it('also works at a former name of its repository, from which clients are redirected', async () => {
    await allot.repository(alice, 'before', { private: true })
    const { Authorization: token } = (await access('alice/before', 'upload')).header
    await allot.as(alice, 'PATCH', '/repos/alice/before', { name: 'after' })
    assert.equal((await batch('alice/before', token, 'upload')).status, 200)
  })

  it('does not tell a private repository of another user from one that does not exist', async () => {
    const { Authorization: token } = (await access('alice/open', 'download', bobKey)).header
    for (const path of ['alice/demo', 'alice/absent', 'absent/demo'])
      assert.equal((await batch(path, token, 'download')).status, 404, path)
  })

  it('expires after half an hour', async (t) => {
    const { header, expires_at } = await access('alice/demo', 'download')
    const lifetime = Date.parse(expires_at) - Date.now()
    assert.ok(lifetime > 29 * 60_000 && lifetime <= 30 * 60_000)
    t.mock.timers.enable({ apis: ['Date'], now: Date.parse(expires_at) + 1000 })
    const { status, body } = await batch('alice/demo', header.Authorization, 'download')
    assert.deepEqual([status, body.message], [401, 'the token for Git LFS has expired'])
  })

  it('ends with the key that it was made for, with the account, and with the right', async () => {
    const pair = keyPair()
    const { id } = await allot.allot.sshKeys.add(alice.id, { title: 'short', key: pair.key })
    const { Authorization: token } = (await access('alice/demo', 'download', pair.file)).header
    assert.equal((await batch('alice/demo', token, 'download')).status, 200)
    await allot.allot.sshKeys.remove(alice.id, id)
    assert.equal((await batch('alice/demo', token, 'download')).status, 401)
    const carol = await allot.person('carol')
    const suspended = (await access('alice/open', 'download', await allot.key(carol))).header.Authorization
    assert.equal((await batch('alice/open', suspended, 'download')).status, 200)
    await allot.as(allot.root, 'PATCH', '/admin/users/carol', { active: false })
    assert.equal((await batch('alice/open', suspended, 'download')).status, 403)
    const readable = (await access('alice/open', 'download', bobKey)).header.Authorization
    await allot.as(alice, 'PATCH', '/repos/alice/open', { private: true })
    assert.equal((await batch('alice/open', readable, 'download')).status, 404)
  })

  it('cannot be made up', async () => {
    const { Authorization: token } = (await access('alice/demo', 'download')).header
    const [payload, signature] = token.slice('RemoteAuth '.length).split('.')
    const grant = JSON.parse(Buffer.from(payload!, 'base64url').toString())
    const upload = Buffer.from(JSON.stringify({ ...grant, operation: 'upload' })).toString('base64url')
    for (const wrong of [
      `${upload}.${signature}`,
      `${payload}.`,
      payload,
      `${payload}.${signature}x`,
      '.',
      'x.y',
    ])
      assert.equal((await batch('alice/demo', `RemoteAuth ${wrong}`, 'download')).status, 401, wrong)
  })
})
