import { level } from '../../drivers/level/index.ts'
import type { KeyTuple } from '../../lib/records/keys.ts'
import { recordKey, sequenceKey } from '../../lib/records/layout.ts'
import { schemaVersion } from '../../lib/records/mark.ts'
import { SCHEMA } from '../../lib/records/migrations.ts'
import { type Kept, openBooks, type Told } from '../../lib/records/proof/balances.ts'
import {
  accounts,
  containers,
  ledgerEntries,
  nothingKept,
  ownerUsages,
  repositories,
  stars,
} from '../../lib/records/schema.ts'
import { stampedValue } from '../../lib/records/spread.ts'
import { encodeValue } from '../../lib/records/values.ts'
import type { Bytes, StorageDriver } from '../../lib/storage/index.ts'

/** Entries in one write. */
const AT_ONCE = 20_000

/** Puts records with all that follows from them straight into a store: a million in a minute, where saving takes ten. */
class Filler {
  readonly #driver: StorageDriver
  readonly #books = openBooks([])
  readonly #counts = new Map<string, { key: Bytes; count: number; isStamped: boolean }>()
  #waiting: [Bytes, Bytes][] = []
  records = 0

  constructor(driver: StorageDriver) {
    this.#driver = driver
  }

  async add<R>(
    { options: { name, id } }: { options: { name: string; id(record: R): KeyTuple } },
    record: R,
  ): Promise<void> {
    const key = recordKey(name, id(record))
    this.put(key, encodeValue(record))
    this.records++
    for (const told of this.#books.toldBy.get(name)!) this.#derive(told as Told & Kept, record, key)
    if (this.#waiting.length >= AT_ONCE) await this.flush()
  }

  put(key: Bytes, value: Bytes): void {
    this.#waiting.push([key, value])
  }

  async flush(): Promise<void> {
    const entries = this.#waiting
    this.#waiting = []
    await this.#driver.write(async (tx) => {
      for (const [key, value] of entries) tx.put(key, value)
    })
  }

  async end(): Promise<void> {
    for (const { key, count, isStamped } of this.#counts.values()) {
      this.put(key, isStamped ? stampedValue(count) : encodeValue(count))
      if (this.#waiting.length >= AT_ONCE) await this.flush()
    }
    await this.flush()
  }

  #derive({ tell, kind, numberIn }: Told & Kept, record: unknown, recordKey: Bytes): void {
    const due = (key: Bytes, _: number, value?: Bytes) => {
      if (kind === 'index') return this.put(key, value!)
      const text = Buffer.from(key).toString('latin1')
      const counted = this.#counts.get(text) ?? { key, count: 0, isStamped: numberIn !== undefined }
      counted.count++
      this.#counts.set(text, counted)
    }
    tell({ due, held: () => undefined }, record, recordKey, () => undefined)
  }
}

const WHEN = 1_700_000_000

/**
 * A store with about so many records: 2 % accounts, 8 % repositories with their tallies, half of them ledger entries,
 * and stars.
 * @returns how many there are
 */
export const fill = async (folder: string, about: number): Promise<number> => {
  const driver = level(folder)
  await driver.open()
  try {
    const filler = new Filler(driver)
    await driver.write(async (tx) => schemaVersion.set(tx, SCHEMA))
    await fillWith(filler, about)
    await filler.end()
    return filler.records
  } finally {
    await driver.close()
  }
}

const fillWith = async (filler: Filler, about: number): Promise<void> => {
  const people = Math.ceil(about * 0.02)
  const repos = Math.ceil(about * 0.08)
  const ownerOf = (repository: number) => (repository % people) + 1
  for (let id = 1; id <= people; id++) await filler.add(accounts, account(id))
  const sizes = await fillLedger(filler, about / 2, repos, ownerOf)
  const starred = await fillStars(filler, about * 0.3, people, repos)
  const usages = new Map<number, ReturnType<typeof usage>>()
  for (let id = 1; id <= repos; id++) {
    const owner = ownerOf(id)
    const [lfs, artifacts] = [sizes.lfs[id]!, sizes.artifacts[id]!]
    await filler.add(repositories, repository(id, owner, starred[id]!))
    const placed = { lent: sizes.lent[id]!, ...nothingKept }
    await filler.add(containers, { id, owner, private: false, git: id, ...none, lfs, artifacts, ...placed })
    const used = usages.get(owner) ?? usage(owner)
    used.reposPublic += id
    used.lfs += lfs
    used.artifacts += artifacts
    usages.set(owner, used)
  }
  for (const one of usages.values()) await filler.add(ownerUsages, one)
  filler.put(sequenceKey('account'), encodeValue(people + 1))
  filler.put(sequenceKey('repository'), encodeValue(repos + 1))
}

const fillLedger = async (
  filler: Filler,
  entries: number,
  repos: number,
  ownerOf: (repository: number) => number,
) => {
  const sizes = {
    lfs: new Float64Array(repos + 1),
    artifacts: new Float64Array(repos + 1),
    lent: new Uint32Array(repos + 1),
  }
  for (let at = 0; at < entries; at++) {
    const container = ((at * 7919) % repos) + 1
    const kind = at % 2 === 0 ? ('artifacts' as const) : ('lfs' as const)
    const size = (at * 104_729) % 1e9
    sizes[kind][container]! += size
    sizes.lent[container]!++
    await filler.add(ledgerEntries, {
      ...{ kind, key: `objects/${at.toString(36)}-${Math.imul(at, 0x9e3779b1) >>> 0}`, size },
      ...{ owner: ownerOf(container), container, name: `file ${at}.bin`, run: null, createdAt: WHEN },
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
      await filler.add(stars, { account, repository, audience: 0, createdAt: WHEN })
    }
  return starred
}

const none = { lfs: 0, issues: 0, releases: 0, artifacts: 0, packages: 0 }
const usage = (owner: number) => ({ owner, reposPublic: 0, reposPrivate: 0, ...none, day: 20_000, days: 0 })

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

const repository = (id: number, owner: number, starred: number) => ({
  ...{ id, owner, name: `repository-${id}`, description: 'made for a measurement', website: '' },
  ...{ private: false, audience: 0 as const, empty: false, mirror: false, archived: false, parent: null },
  ...{ defaultBranch: 'main', size: id, stars: starred, forks: 0, watchers: 0 },
  ...{ createdAt: WHEN, updatedAt: WHEN },
})
