import { firstEntries } from '../../../lib/quota/ledger.ts'
import { encodeValue, sequenceKey } from '../../../lib/records/layout.ts'
import {
  accounts,
  ledgerEntries,
  noEntries,
  ownerUsages,
  type RepositoryUsage,
  repositories,
  repositoryUsages,
  stars,
} from '../../../lib/records/schema/index.ts'
import { type Filler, fillStore } from './filler.ts'

const WHEN = 1_700_000_000

/** How much of what there is. */
export interface Shape {
  people: number
  repos: number
  entries: number
  stars: number
}

/**
 * A million records: 2 % accounts, 8 % repositories with their tallies, half of them ledger entries, and
 * stars.
 */
export const MILLION: Shape = { people: 20_000, repos: 80_000, entries: 500_000, stars: 300_000 }

/** The contents of an instance of some age: a few owners have much, most have little. */
export const INSTANCE: Shape = { people: 100_000, repos: 1_000_000, entries: 10_000_000, stars: 1_000_000 }

/**
 * Makes a store of that shape, the same each time.
 * @returns how many records it has
 */
export const fill = (
  folder: string,
  shape: Shape,
  onProgress: (done: number, total: number) => void = () => undefined,
): Promise<number> => {
  const total = shape.people * 2 + shape.repos * 2 + shape.entries + shape.stars
  return fillStore(
    folder,
    (filler) => fillWith(filler, shape),
    (done) => onProgress(done, total),
  )
}

/** A number from 0 to 1, the same for the same `at`, and most of them small: the square of an even spread. */
const tail = (at: number): number => (Math.imul(at + 1, 0x9e3779b1) >>> 0) ** 2 / 2 ** 64

const fillWith = async (filler: Filler, { people, repos, entries, stars: stared }: Shape): Promise<void> => {
  const owners = Uint32Array.from({ length: repos + 1 }, (_, id) => Math.floor(tail(id) * people) + 1)
  for (let id = 1; id <= people; id++) await filler.add(accounts, account(id))
  const sizes = await fillLedger(filler, entries, owners)
  const starred = await fillStars(filler, stared, people, repos)
  const usages = new Map<number, ReturnType<typeof usage>>()
  for (let id = 1; id <= repos; id++) {
    const owner = owners[id]!
    const [lfs, artifacts] = [sizes.lfs[id]!, sizes.artifacts[id]!]
    await filler.add(repositories, { ...repository(id, owner, starred[id]!), lfs })
    await filler.add(repositoryUsages, {
      id,
      owner,
      private: false,
      git: id,
      ...none,
      lfs,
      artifacts,
      entries: { ...noEntries, ...sizes.entries[id]! },
      largest: sizes.largest[id]!,
    })
    const used = usages.get(owner) ?? usage(owner)
    used.reposPublic += id
    used.lfs += lfs
    used.artifacts += artifacts
    used.entries.lfs += sizes.entries[id]!.lfs
    used.entries.artifacts += sizes.entries[id]!.artifacts
    usages.set(owner, used)
  }
  for (const one of usages.values()) await filler.add(ownerUsages, one)
  filler.put(sequenceKey('account'), encodeValue(people + 1))
  filler.put(sequenceKey('repository'), encodeValue(repos + 1))
}

/** Entries of a repository at most. */
const MAX = 500

const fillLedger = async (filler: Filler, entries: number, owners: Uint32Array) => {
  const repos = owners.length - 1
  const sizes = {
    lfs: new Float64Array(repos + 1),
    artifacts: new Float64Array(repos + 1),
    entries: Array.from({ length: repos + 1 }, () => ({ lfs: 0, artifacts: 0 })),
    largest: Array.from({ length: repos + 1 }, (): RepositoryUsage['largest'] => ({})),
  }
  const countIn = (id: number) => sizes.entries[id]!.lfs + sizes.entries[id]!.artifacts
  for (let at = 0; at < entries; at++) {
    let repository = Math.floor(tail(at) * repos) + 1
    while (countIn(repository) >= MAX) repository = (repository % repos) + 1
    const kind = at % 2 === 0 ? ('artifacts' as const) : ('lfs' as const)
    const size = (at * 104_729) % 1e6
    sizes[kind][repository]! += size
    sizes.entries[repository]![kind]++
    const [key, name] = [`objects/${at.toString(36)}-${Math.imul(at, 0x9e3779b1) >>> 0}`, `file ${at}.bin`]
    const largest = sizes.largest[repository]!
    largest[kind] = firstEntries(largest[kind], { size, name, key }, 1, sizes.entries[repository]![kind])
    await filler.add(ledgerEntries, {
      ...{ kind, key, size },
      ...{
        owner: null,
        repository,
        name,
        run: null,
        createdAt: WHEN,
      },
      ...{ on: null, index: null, type: null, version: null },
    })
  }
  return sizes
}

const fillStars = async (filler: Filler, about: number, people: number, repos: number) => {
  const starred = new Uint32Array(repos + 1)
  for (let account = 1; account <= people; account++)
    for (let n = 0; n < about / people; n++) {
      const repository = ((account * 31 + n * 1009) % repos) + 1
      starred[repository]!++
      await filler.add(stars, { account, repository, createdAt: WHEN })
    }
  return starred
}

const none = { lfs: 0, issues: 0, releases: 0, artifacts: 0, packages: 0 }
const usage = (owner: number) => ({
  owner,
  reposPublic: 0,
  reposPrivate: 0,
  ...none,
  entries: { ...noEntries },
  day: 20_000,
  earlierDays: 0,
})

const account = (id: number) => ({
  ...{
    id,
    kind: 'user' as const,
    name: `user-${id}`,
    fullName: `Number ${id}`,
    visibility: 'public' as const,
  },
  ...{ email: `user-${id}@example.test`, website: '', description: '', location: '', password: null },
  ...{ admin: false, active: true, createdAt: WHEN, updatedAt: WHEN },
})

/** Three syllables: a thousand words, some of which many repositories have in their names. */
const SYLLABLES = ['ra', 'to', 'mi', 'kel', 'sun', 'vor', 'pi', 'lan', 'den', 'gu']
const wordOf = (id: number): string => {
  const at = Math.floor(tail(id) * 1000)
  return `${SYLLABLES[at % 10]}${SYLLABLES[Math.floor(at / 10) % 10]}${SYLLABLES[Math.floor(at / 100)]}`
}

const nameOf = (id: number): string => `${wordOf(id)}-${wordOf(id * 31)}-${id}`

/** Parts of the names of that many repositories, of three letters and more; the same each time. */
export const partsOfNames = (parts: number, repos: number): string[] =>
  Array.from({ length: parts }, (_, at) => {
    const name = nameOf(1 + ((Math.imul(at + 1, 0x9e3779b1) >>> 0) % repos))
    const length = 3 + (at % 6)
    const from = (at * 7) % (name.length - length + 1)
    return name.slice(from, from + length)
  })

const repository = (id: number, owner: number, starred: number) => ({
  ...{ id, owner, name: nameOf(id), description: 'made for a measurement', website: '' },
  ...{ private: false, empty: false, archived: false, parent: null },
  ...{ defaultBranch: 'main', size: id, stars: starred, forks: 0, watchers: 0 },
  ...{ createdAt: WHEN, updatedAt: WHEN },
})
