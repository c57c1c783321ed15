import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { assertError } from '../support/expectations.ts'
import { start } from '../support/test-server.ts'

const LARGEST = 2 ** 52
const REFUSED = /an owner would use more than 4503599627370496 bytes \(4 PiB\)/

describe('An owner', () => {
  it('uses at most 2^52 bytes, exactly: what would exceed that is refused with 422, and nothing is stored', async () => {
    const allot = await start({ repositories: false })
    const [ann, ben] = [await allot.person('ann'), await allot.person('ben')]
    for (const person of [ann, ben]) await allot.as(person, 'POST', '/user/repos', { name: person.name })
    const { id } = (await allot.as(ann, 'GET', '/repos/ann/ann')).body
    const put = (path: string, owner: string, size: number) =>
      allot.as(allot.root, 'PUT', `/admin/ledger/${path}`, {
        repository: `${owner}/${owner}`,
        name: 'x',
        size,
      })
    const used = async (owner: string) => (await allot.allot.quota.explain(owner, 'size:all')).used

    await allot.allot.hosting.repositories.resize(id, 7)
    assert.equal((await put('lfs/a', 'ann', LARGEST - 7)).status, 201)
    assert.equal(await used('ann'), LARGEST)
    for (const [path, size] of [
      ['artifacts/b', 1],
      ['lfs/b', Number.MAX_SAFE_INTEGER],
      ['lfs/a', LARGEST - 6],
    ] as const)
      assertError(await put(path, 'ann', size), 422, REFUSED)
    const lines = [LARGEST, LARGEST].map((size, at) =>
      JSON.stringify({ op: 'put', kind: 'lfs', key: `c${at}`, repository: 'ben/ben', name: 'x', size }),
    )
    const feed = { token: allot.root.token, body: lines.join('\n') }
    const headers = { 'content-type': 'application/x-ndjson' }
    assertError(await allot.request('POST', '/admin/ledger', { ...feed, headers }), 422, REFUSED)
    await assert.rejects(allot.allot.hosting.repositories.resize(id, 8), {
      code: 'invalid',
      message: REFUSED,
    })
    assert.deepEqual([await used('ann'), await used('ben')], [LARGEST, 0])

    assert.equal((await put('artifacts/d', 'ben', 1)).status, 201)
    const move = allot.allot.hosting.repositories.transfer(id, ben.id)
    await assert.rejects(move, { code: 'invalid', message: REFUSED })
    assert.deepEqual([await used('ann'), await used('ben')], [LARGEST, 1])
    assert.equal((await put('lfs/a', 'ann', LARGEST - 8)).status, 200)
    assert.equal((await put('artifacts/b', 'ann', 1)).status, 201)
    assert.match((await allot.as(ann, 'GET', '/user/quota')).text, /"LFS":4503599627370488\b/)
    assert.equal(await used('ann'), LARGEST)
    assert.deepEqual((await allot.allot.verify()).messages, [])
  })
})
