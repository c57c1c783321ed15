import assert from 'node:assert/strict'
import { verifyRecords } from '../../lib/integrity/verify.ts'
import { decodeKey, encodeKey, rangeBelow } from '../../lib/records/key-codec.ts'
import { type Audience, type Repository, repositoryNames } from '../../lib/records/schema/index.ts'
import type { Store } from '../../lib/records/store.ts'
import { Compactor } from '../../lib/search/compactor.ts'
import {
  COMPACTION_START,
  compactionMarkKey,
  postingList,
  searchPostings,
} from '../../lib/search/posting-list.ts'
import { trigramsOf } from '../../lib/search/tokens.ts'
import type { StorageDriver } from '../../lib/storage/index.ts'

/**
 * So small that a handful of names makes several blocks, each step takes a few, and many steps are needed.
 */
export const TINY = { minLoose: 2, maxLoose: 3, maxBlocks: 2, blockSize: 3 }

export const repository = (id: number, name: string, audience: Audience): Repository => ({
  ...{ id, owner: id, name, description: '', website: '', private: audience === 2, audience },
  ...{ empty: true, mirror: false, archived: false, parent: null, defaultBranch: 'main' },
  ...{ size: 0, lfs: 0, stars: 0, forks: 0, watchers: 0, createdAt: 1, updatedAt: 1 },
})

export const fail = (error: unknown) => assert.fail(String(error))

/** Marks every list, and compacts them all. */
export const compactAll = async (store: Store, limits = TINY): Promise<void> => {
  await store.write(async (tx) => {
    const lists = new Set<string>()
    for await (const [key] of tx.range(rangeBelow(['repository', 'o', 'trigrams'])))
      lists.add(JSON.stringify(decodeKey(key).slice(3, 5)))
    for (const list of lists)
      tx.put(compactionMarkKey('repository', 'trigrams', JSON.parse(list)), COMPACTION_START)
  })
  const compactor = new Compactor(store, [repositoryNames], fail, limits)
  while (await compactor.step());
}

const idOf = ({ recordKey: key }: { recordKey: Uint8Array }) => decodeKey(key).at(-1) as number

const byName = (one: Repository, other: Repository) =>
  Buffer.compare(encodeKey([one.name.toLowerCase(), one.id]), encodeKey([other.name.toLowerCase(), other.id]))

export const agrees = async (
  store: Store,
  known: readonly Repository[],
  words: readonly string[],
): Promise<void> => {
  await store.read(async (tx) => {
    for (const audience of [0, 2] as const) {
      const theirs = known.filter((one) => one.audience === audience).sort(byName)
      const names = theirs.map((one) => one.name)
      for (const trigram of trigramsOf(names)) {
        const expected = theirs.filter((one) => one.name.toLowerCase().includes(trigram)).map((one) => one.id)
        const list = await repositoryNames.candidates(tx, audience, trigram)
        const listed = await list.find(Infinity, false)
        assert.deepEqual(listed.entries.map(idOf), expected, `the list of ${trigram}`)
        assert.deepEqual([list.count, list.isExact], [expected.length, true])
      }
      const all = postingList('repository', 'trigrams', ['', audience])
      const postings = theirs.length
      for (const word of words) {
        const expected = theirs.filter((one) => one.name.toLowerCase().includes(word)).map((one) => one.id)
        const shortest = await repositoryNames.candidates(tx, audience, word)
        for (const limit of [0, 1, 3, 100])
          for (const find of [
            shortest.find,
            (limit: number, isCounted: boolean) =>
              searchPostings(tx, all, { word, limit, isCounted, postings }),
          ]) {
            const counted = await find(limit, true)
            assert.deepEqual(counted.entries.map(idOf), expected.slice(0, limit))
            assert.equal(counted.total, expected.length, `how many have ${word}`)
            assert.deepEqual((await find(limit, false)).entries.map(idOf), expected.slice(0, limit))
          }
      }
    }
  })
}

export const faultsOf = async (driver: StorageDriver): Promise<string[]> => {
  const faults: string[] = []
  await driver.read((tx) => verifyRecords(tx, [], ({ message }) => void faults.push(message)))
  return faults
}
