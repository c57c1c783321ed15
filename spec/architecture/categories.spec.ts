import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { QuotaUsedRepository } from '../../lib/api/quota/largest-repositories.ts'
import { QuotaInfo } from '../../lib/api/quota/schema.ts'
import { totalOf } from '../../lib/content/usage/storage-item.ts'
import { noUsage, type Usage, usedBy } from '../../lib/quota/subjects.ts'
import { usageOfRepository } from '../../lib/quota/usage.ts'
import { noLedgerEntries, REPOSITORY_SIZES } from '../../lib/records/schema/index.ts'
import { partSizes } from '../../lib/web/storage/limits.tsx'

/**
 * Records, quota, the API and the pages each list the categories: one that is added must be in all of these
 * lists.
 */
const categories = Object.keys(noUsage)

/** Another power of two for each category, so that a sum says which of them are in it. */
const usage = Object.fromEntries(categories.map((category, index) => [category, 2 ** index])) as Record<
  keyof Usage,
  number
>

/** The numbers of a JSON object, its objects included. */
const countLeaves = (schema: unknown): number => {
  const { entries, item } = schema as { entries?: object; item?: unknown }
  if (entries === undefined) return item === undefined ? 1 : countLeaves(item)
  return Object.values(entries).reduce((sum, entry) => sum + countLeaves(entry), 0)
}

describe('Every category of bytes', () => {
  const repository = {
    ...{ id: 1, owner: 2, private: true, ...noLedgerEntries },
    ...Object.fromEntries(REPOSITORY_SIZES.map((size, index) => [size, 2 ** index])),
    git: 1,
  }

  it('counts toward size:all', () => {
    assert.equal(usedBy('size:all', usage), 2 ** categories.length - 1)
  })
  it('counts toward the repository that has it', () => {
    assert.equal(totalOf(repository), 2 ** REPOSITORY_SIZES.length - 1)
  })
  it('counts toward the owner of the repository', () => {
    assert.equal(usedBy('size:all', usageOfRepository(repository)), totalOf(repository))
  })
  it('is a part of the usage bar of the pages', () => {
    assert.equal(
      partSizes(usage).reduce((sum, size) => sum + size, 0),
      usedBy('size:all', usage),
    )
  })
  it('is a member of the usage that the API answers', () => {
    assert.equal(countLeaves(QuotaInfo.entries.used), categories.length)
    assert.equal(countLeaves(QuotaUsedRepository.entries.size), REPOSITORY_SIZES.length)
  })
})
