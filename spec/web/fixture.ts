import { mock } from 'node:test'
import type { Allot } from '../../lib/index.ts'
import { type Paged, startPages } from './browser.ts'

export const PASSWORD = 'a long password'
const MIB = 1024 ** 2
const DAY = 86_400_000

/** What would run, or break out of where it stands, if it were not escaped. */
export const MARKUP = `<img src=x onerror="alert(1)">'"&</td><script>alert(2)</script>`

/**
 * Ann has used storage for 80 days, is near her limit as a whole and over that of artifacts; she owns the organization
 * acme, which is over. Ben is within, and has a hidden organization with Ann as a mere member.
 */
export const startFixture = async (): Promise<Paged> => {
  mock.timers.enable({ apis: ['Date'], now: Date.now() - 80 * DAY })
  try {
    const allot = await startPages({ quota: { defaultGroups: ['free'] } })
    await settle(allot.allot)
    await allot.allot.hosting.accounts.edit(allot.root.id, { password: PASSWORD })
    return allot
  } finally {
    mock.timers.reset()
  }
}

const settle = async (allot: Allot): Promise<void> => {
  const { accounts, organizations } = allot.hosting
  const { rules, groups } = allot.quota
  await rules.create({ name: 'total', limit: 200 * MIB, subjects: ['size:all'] })
  await rules.create({ name: 'builds', limit: 40 * MIB, subjects: ['size:assets:artifacts'] })
  await rules.create({ name: 'plenty', limit: -1, subjects: ['size:all'] })
  await groups.create({ name: 'free', rules: ['total', 'builds'] })
  await groups.create({ name: 'paid', rules: ['plenty'] })
  const ann = await accounts.createUser({ name: 'ann', password: PASSWORD, fullName: MARKUP })
  const ben = await accounts.createUser({ name: 'ben', password: PASSWORD })
  await organizations.create(ann.id, { name: 'acme' })
  await organizations.create(ben.id, { name: 'secret', visibility: 'private' })
  const club = await organizations.create(ben.id, { name: 'club' })
  await organizations.setMember(club.id, ann.id)
  await groups.assign('ben', 'paid')
  await grow(allot, 'ann', [
    ['website', 18],
    ['notes', 6],
    ['a-repository-with-a-rather-long-name-for-a-narrow-screen', 3],
    ['dotfiles', 1],
    ['thesis', 31],
    ['scratch', 0],
  ])
  await grow(allot, 'acme', [
    ['engine', 150],
    ['art', 70],
  ])
  await grow(allot, 'ben', [['tiny', 0]])
  await grow(allot, 'secret', [['plans', 5]])
}

/** Repositories come one after another, and what is kept of them with the days. */
const grow = async (allot: Allot, name: string, sizes: [name: string, mib: number][]): Promise<void> => {
  const { accounts, repositories } = allot.hosting
  const owner = (await accounts.byName(name))!
  for (const [at, [repository, mib]] of sizes.entries()) {
    const { id } = await repositories.create(owner, owner, {
      name: repository,
      private: at % 3 === 1,
      description: at === 0 ? MARKUP : '',
    })
    await repositories.resize(id, mib * MIB + at)
    if (name !== 'ann') continue
    mock.timers.tick(12 * DAY)
    await keep(allot, `ann/${repository}`, at)
  }
}

const keep = async ({ ledger }: Allot, repository: string, at: number): Promise<void> => {
  const on = { repository, name: at === 2 ? MARKUP : `build-${at}.tar.gz` }
  await ledger.put({
    kind: 'artifacts',
    key: `a${at}`,
    ...on,
    size: Math.round((at + 4) * 1.7 * MIB),
    run: at,
  })
  await ledger.put({
    kind: 'attachments',
    key: `t${at}`,
    repository,
    name: `screen ${at}.png`,
    size: at * MIB,
    on: 'issue',
    index: at,
  })
  await ledger.put({ kind: 'lfs', key: `l${at}`, repository, name: 'x', size: 4 * MIB })
  await ledger.put({
    kind: 'packages',
    key: `p${at}`,
    owner: 'ann',
    name: `@ann/pkg-${at}`,
    size: 1.5 * MIB,
    type: 'npm',
    version: `1.${at}.0`,
  })
}
