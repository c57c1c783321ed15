import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { start, type TestServer } from '../support/test-server.ts'

let allot: TestServer
before(async () => {
  allot = await start()
})
after(() => allot.stop())

describe('GET /version', () => {
  it('returns the running version to every client', async () => {
    const answer = await allot.request('GET', '/version')
    assert.equal(answer.status, 200)
    assert.equal(answer.text, '{"Version":"0.1.0","version":"1.22.0+allot-0.1.0"}')
    assert.equal(answer.headers.get('content-type'), 'application/json;charset=utf-8')
  })
})

describe('GET /settings/api', () => {
  it('answers how lists are paged', async () => {
    const { status, body } = await allot.request('GET', '/settings/api')
    assert.equal(status, 200)
    assert.deepEqual([body.default_paging_num, body.max_response_items], [30, 50])
  })
})
