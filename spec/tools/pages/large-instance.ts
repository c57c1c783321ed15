import { hashSecret } from '../../../lib/accounts/credentials.ts'
import { firstEntries } from '../../../lib/quota/ledger.ts'
import { encodeValue, sequenceKey } from '../../../lib/records/layout.ts'
import {
  accounts,
  assignments,
  auditRecords,
  dailyUsages,
  groups,
  ledgerEntries,
  noEntries,
  type OfKinds,
  ownerUsages,
  type RepositoryUsage,
  repositories,
  repositoryUsages,
  rules,
  tokens,
} from '../../../lib/records/schema/index.ts'
import { type Filler, fillStore } from '../bench/filler.ts'

/** How much the instance has. */
export interface Shape {
  readonly owners: number
  readonly entries: number
  /** Days of history of each owner. */
  readonly days: number
}

/** Token of the administrator `root`, and of `user-2`, who owns most. */
export const ROOT_TOKEN = 'a'.repeat(40)
export const USER_TOKEN = 'b'.repeat(40)
export const LARGEST = 'user-2'

const DAY = Math.floor(Date.now() / 86_400_000)
const WHEN = (DAY - 100) * 86_400
const none = { lfs: 0, issues: 0, releases: 0, artifacts: 0, packages: 0 }
const KINDS = ['artifacts', 'lfs', 'packages', 'attachments'] as const

/**
 * Fills a folder as `allot serve --data` opens it. A tenth of the owners are organizations. Every twentieth
 * repository and entry belongs to one user; the groups have limits that some owners are over and some near.
 */
export const fillLarge = async (folder: string, shape: Shape, say: (done: number) => void): Promise<void> => {
  const body = async (filler: Filler) => {
    await fillOwners(filler, shape)
    await fillPolicy(filler, shape)
    await fillUsage(filler, shape)
    for (const name of ['account', 'repository', 'token', 'rule', 'group'])
      filler.put(sequenceKey(name), encodeValue(10_000_000))
  }
  await fillStore(folder, body, say)
}

const fillOwners = async (filler: Filler, { owners }: Shape): Promise<void> => {
  for (let id = 1; id <= owners; id++) await filler.add(accounts, account(id))
  for (const [account, token] of [ROOT_TOKEN, USER_TOKEN].entries())
    await filler.add(tokens, {
      ...{ id: account + 1, account: account + 1, name: 'figures', hash: hashSecret(token) },
      ...{ lastEight: token.slice(-8), scopes: ['all'], createdAt: WHEN },
    })
}

const account = (id: number) => ({
  ...{
    id,
    kind: id % 10 === 0 ? ('organization' as const) : ('user' as const),
    name: id === 1 ? 'root' : `user-${id}`,
  },
  ...{ fullName: `Number ${id}`, email: '', website: '', description: '', location: '' },
  ...{ visibility: 'public' as const, admin: id === 1, active: id % 97 !== 0, password: null },
  ...{ createdAt: WHEN, updatedAt: WHEN },
})

const GROUPS = ['free', 'small', 'large', 'staff']

const fillPolicy = async (filler: Filler, { owners }: Shape): Promise<void> => {
  for (const [index, name] of GROUPS.entries()) {
    const sequence = index + 1
    const created = { seconds: WHEN, nonce: '0'.repeat(16) }
    const limit = 2 ** (20 + 3 * index)
    await filler.add(rules, { name: `${name} total`, limit, subjects: ['size:all'], sequence, created })
    await filler.add(rules, {
      name: `${name} builds`,
      limit: limit / 2,
      subjects: ['size:assets:artifacts'],
      sequence: sequence + 10,
      created,
    })
    await filler.add(groups, { name, rules: [`${name} total`, `${name} builds`], sequence, created })
  }
  for (let owner = 1; owner <= owners; owner++) {
    const group = 1 + Math.floor((owner % 100) / 70) + (owner % 7 === 0 ? 2 : 0)
    await filler.add(assignments, { owner, group })
  }
  for (let nonce = 0; nonce < 2000; nonce++)
    await filler.add(auditRecords, {
      ...{ at: WHEN + nonce * 60, nonce: nonce.toString(16).padStart(16, '0'), actor: 1, actorName: 'root' },
      ...{
        action: 'rule changed' as const,
        subject: 'free total',
        before: '{"limit":1048576}',
        after: '{"limit":2097152}',
      },
    })
}

/** The owner of a repository: every twentieth belongs to the largest. */
const ownerOf = (repository: number, owners: number): number =>
  repository % 20 === 0 ? 2 : 1 + ((repository * 7919) % owners)

const fillUsage = async (filler: Filler, { owners, entries, days }: Shape): Promise<void> => {
  const repos = owners * 2
  const perRepository = Math.ceil(entries / repos)
  const used = new Map<
    number,
    Record<keyof typeof none, number> & { reposPublic: number; entries: OfKinds }
  >()
  for (let id = 1; id <= repos; id++) {
    const owner = ownerOf(id, owners)
    const sum = used.get(owner) ?? { ...none, reposPublic: 0, entries: { ...noEntries } }
    used.set(owner, sum)
    const { sizes, entries, largest } = await fillEntries(filler, id, perRepository)
    const git = (id * 7907) % 300_000
    sum.reposPublic += git
    for (const kind of Object.keys(none) as (keyof typeof none)[]) sum[kind] += sizes[kind]
    for (const kind of KINDS) sum.entries[kind] += entries[kind]
    await filler.add(repositories, repository(id, owner, { size: git, lfs: sizes.lfs }))
    await filler.add(repositoryUsages, {
      ...{
        id,
        owner,
        private: false,
        git,
        ...sizes,
        entries,
        largest,
      },
    })
  }
  for (const [owner, sizes] of used) {
    const usage = { owner, ...sizes, reposPrivate: 0 }
    await filler.add(ownerUsages, { ...usage, day: DAY, earlierDays: days })
    const { entries: _, ...bytes } = usage
    for (let day = DAY - days; day < DAY; day++)
      await filler.add(dailyUsages, {
        ...bytes,
        reposPublic: Math.floor((usage.reposPublic * (day - DAY + 2 * days)) / (2 * days)),
        day,
      })
  }
}

const fillEntries = async (filler: Filler, repository: number, count: number) => {
  const [sizes, entries] = [{ ...none }, { ...noEntries }]
  const largest: RepositoryUsage['largest'] = {}
  for (let index = 0; index < count; index++) {
    const kind = KINDS[index % KINDS.length]!
    const size = (Math.imul(repository * count + index, 0x9e3779b1) >>> 0) % 100_000
    sizes[kind === 'attachments' ? 'issues' : kind] += size
    entries[kind]++
    const [key, name] = [`k${repository}-${index}`, `file ${repository}-${index}.bin`]
    largest[kind] = firstEntries(largest[kind], { size, name, key }, 1, entries[kind])
    await filler.add(ledgerEntries, {
      ...{
        kind,
        key,
        owner: null,
        repository,
        name,
        size,
      },
      ...{
        on: kind === 'attachments' ? ('issue' as const) : null,
        index: kind === 'attachments' ? index : null,
      },
      ...{ run: kind === 'artifacts' ? index : null, createdAt: WHEN + index },
      ...{ type: kind === 'packages' ? 'npm' : null, version: kind === 'packages' ? `1.${index}.0` : null },
    })
  }
  return { sizes, entries, largest }
}

const repository = (id: number, owner: number, sizes: { size: number; lfs: number }) => ({
  ...{ id, owner, name: `repository-${id}`, description: '', website: '', ...sizes },
  ...{ private: false, empty: false, archived: false, parent: null },
  ...{ defaultBranch: 'main', stars: 0, forks: 0, watchers: 0, createdAt: WHEN, updatedAt: WHEN },
})
