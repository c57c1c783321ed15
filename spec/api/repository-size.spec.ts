import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { type Person, startBefore } from '../support/test-server.ts'

const allot = startBefore()

const make = (owner: Person, name: string) => allot.as(owner, 'POST', '/user/repos', { name })

const put = (key: string, repository: string, size: number) =>
  allot.as(allot.root, 'PUT', `/admin/ledger/lfs/${key}`, { repository, name: key, size })

const sizeOf = async (path: string): Promise<number> =>
  (await allot.as(allot.root, 'GET', `/repos/${path}`)).body.size

describe('The size of a repository', () => {
  it('is that of its git data and LFS objects in KiB, and follows their changes', async () => {
    const alice = await allot.person()
    const path = `${alice.name}/big`
    const { id } = (await make(alice, 'big')).body
    await allot.allot.hosting.repositories.resize(id, 10_240)
    assert.equal(await sizeOf(path), 10)
    await put('first', path, 2048)
    await put('second', path, 1023)
    assert.equal(await sizeOf(path), 12)
    await put('second', path, 1024)
    assert.equal(await sizeOf(path), 13)
    await allot.as(allot.root, 'DELETE', '/admin/ledger/lfs/first')
    assert.equal(await sizeOf(path), 11)
  })

  it('does not include attachments, artifacts and packages', async () => {
    const alice = await allot.person()
    const path = `${alice.name}/small`
    await make(alice, 'small')
    const entry = { repository: path, name: 'x', size: 1_000_000, run: 1 }
    assert.equal((await allot.as(allot.root, 'PUT', '/admin/ledger/artifacts/a', entry)).status, 201)
    assert.equal(await sizeOf(path), 0)
  })

  it('orders lists and searches', async () => {
    const alice = await allot.person()
    for (const name of ['one', 'two', 'three']) await make(alice, name)
    await put('o1', `${alice.name}/two`, 5000)
    await put('o2', `${alice.name}/one`, 3000)
    const names = async (path: string) => {
      const { body } = await allot.as(alice, 'GET', path)
      return (body.data ?? body).map(({ name }: { name: string }) => name)
    }
    assert.deepEqual(await names('/user/repos?order_by=size'), ['three', 'one', 'two'])
    assert.deepEqual(await names('/user/repos?order_by=reversesize'), ['two', 'one', 'three'])
    const search = `/repos/search?uid=${alice.id}`
    assert.deepEqual(await names(`${search}&sort=size`), ['three', 'one', 'two'])
    assert.deepEqual(await names(`${search}&sort=lfs_size&order=desc`), ['two', 'one', 'three'])
    assert.deepEqual(await names(`${search}&sort=git_size`), ['one', 'two', 'three'])
  })
})
