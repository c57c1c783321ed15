import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { filteredPage, MAX_MATCHES } from '../../lib/repositories/search/filters.ts'
import type { ReadTransaction } from '../../lib/storage/index.ts'

const texts = { parts: [{ word: 'x' }], topicOnly: false }
const REFUSED = [
  [
    { archived: true },
    /more than 10000 repositories match: search for a longer q or within an owner \(uid\)/,
  ],
  [
    { texts },
    /^AllotError: topic and includeDesc read every repository, .*: search within an owner \(uid\)$/,
  ],
] as const

describe('A filtered page of search results', () => {
  it('refuses to read more repositories than its limit, before it reads the first', async () => {
    const entries = Array.from({ length: MAX_MATCHES + 1 }, (_, index) => {
      const bytes = Buffer.alloc(4)
      bytes.writeUInt32BE(index)
      return { order: bytes, recordKey: bytes }
    })
    const find = async () => ({ entries, total: entries.length })
    const unread = {} as ReadTransaction
    const listings = [{ find, total: undefined, cacheTotal: () => undefined }]
    for (const [filter, message] of REFUSED)
      await assert.rejects(filteredPage(unread, null, listings, filter, { offset: 0, limit: 30 }), message)
  })
})
