import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { emptyStore } from '../postgres/empty-store.ts'
import { lacks } from '../support/requirements.mjs'
import { diagnose, UNUSED } from './diagnose.ts'

describe('allot doctor', () => {
  it('reports a database: its version, or that it cannot be reached', {
    skip: lacks('PostgreSQL'),
  }, async (t) => {
    const { url, drop } = await emptyStore()
    t.after(drop)
    const good = await diagnose(UNUSED, '--storage', url)
    assert.match(good.of('database')[0]!.message, /has version \d+.*, a primary$/)
    const weak = `${url}${url.includes('?') ? '&' : '?'}options=${encodeURIComponent('-c synchronous_commit=off')}`
    const warned = await diagnose(UNUSED, '--storage', weak)
    assert.match(warned.of('database').at(-1)!.message, /^synchronous_commit is off for this user/)
    const bad = await diagnose(UNUSED, '--storage', 'postgres://me:secret@127.0.0.1:1/gone')
    assert.deepEqual([bad.code, bad.of('database')[0]!.status], [1, 'failed'])
    assert.doesNotMatch(bad.of('database')[0]!.message, /secret/)
  })
})
