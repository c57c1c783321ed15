import { createHash } from 'node:crypto'
import { mock } from 'node:test'
import type { OpenAllot } from '../../lib/allot.ts'
import { type PageServer, startPages } from './browser.ts'

export const PASSWORD = 'a long password'
const MIB = 1024 ** 2
const DAY = 86_400_000

/** Text that runs a script, or closes its attribute or element, when it is not escaped. */
export const MARKUP = `<img src=x onerror="alert(1)">'"&</td><script>alert(2)</script>`

/**
 * Starts a server with 80 days of usage. The user ann is near the limit of the total and over the limit of
 * artifacts, and owns the organization acme, which is over quota. The user ben is within quota; ann cannot
 * see ben's organization secret, and is a member of club without owning it.
 * @param now the time of the last of these days
 */
export const startFixture = async (now = Date.now()): Promise<PageServer> => {
  mock.timers.enable({ apis: ['Date'], now: now - 80 * DAY })
  try {
    const allot = await startPages({ quota: { defaultGroups: ['free'] }, ssh: { port: 22 } })
    await fill(allot.allot)
    await allot.allot.hosting.accounts.edit(allot.root.id, { password: PASSWORD })
    return allot
  } finally {
    mock.timers.reset()
  }
}

/** A public key that nobody has. */
export const SSH_KEY = 'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIFPr7Mm60ALRWE24VPU1YvZPKEMA4Ckzo7OK+C2+mnQT'

const fill = async (allot: OpenAllot): Promise<void> => {
  const { accounts, organizations } = allot.hosting
  const { rules, groups } = allot.quota
  await rules.create({ name: 'total', limit: 200 * MIB, subjects: ['size:all'] })
  await rules.create({ name: 'builds', limit: 40 * MIB, subjects: ['size:assets:artifacts'] })
  await rules.create({ name: 'plenty', limit: -1, subjects: ['size:all'] })
  await groups.create({ name: 'free', rules: ['total', 'builds'] })
  await groups.create({ name: 'paid', rules: ['plenty'] })
  const ann = await accounts.createUser({ name: 'ann', password: PASSWORD, fullName: MARKUP })
  await allot.hosting.sshKeys.add(ann.id, { title: 'laptop', key: SSH_KEY })
  const ben = await accounts.createUser({ name: 'ben', password: PASSWORD })
  await organizations.create(ann.id, { name: 'acme' })
  await organizations.create(ben.id, { name: 'secret', visibility: 'private' })
  const club = await organizations.create(ben.id, { name: 'club' })
  await organizations.setMember(club.id, ann.id)
  await groups.assign('ben', 'paid')
  await createRepositories(allot, 'ann', [
    ['website', 18],
    ['notes', 6],
    ['a-repository-with-a-rather-long-name-for-a-narrow-screen', 3],
    ['dotfiles', 1],
    ['thesis', 31],
    ['scratch', 0],
  ])
  await createRepositories(allot, 'acme', [
    ['engine', 150],
    ['art', 70],
  ])
  await createRepositories(allot, 'ben', [['tiny', 0]])
  await createRepositories(allot, 'secret', [['plans', 5]])
}

/** Creates repositories of an owner; those of ann come 12 days apart, with ledger entries. */
const createRepositories = async (
  allot: OpenAllot,
  name: string,
  sizes: [name: string, mib: number][],
): Promise<void> => {
  const { accounts, repositories } = allot.hosting
  const owner = (await accounts.byName(name))!
  for (const [index, [repository, mib]] of sizes.entries()) {
    const { id } = await repositories.create(owner, owner, {
      name: repository,
      private: index % 3 === 1,
      description: index === 0 ? MARKUP : '',
    })
    await repositories.resize(id, mib * MIB + index)
    if (name !== 'ann') continue
    mock.timers.tick(12 * DAY)
    await putEntries(allot, `ann/${repository}`, index)
  }
}

const putEntries = async ({ ledger }: OpenAllot, repository: string, index: number): Promise<void> => {
  const on = { repository, name: index === 2 ? MARKUP : `build-${index}.tar.gz` }
  await ledger.put({
    kind: 'artifacts',
    key: `a${index}`,
    ...on,
    size: Math.round((index + 4) * 1.7 * MIB),
    run: index,
  })
  await ledger.put({
    kind: 'attachments',
    key: `t${index}`,
    repository,
    name: `screen ${index}.png`,
    size: index * MIB,
    on: 'issue',
    index,
  })
  // Some systems know the path of an LFS object, others its hash alone.
  const hash = createHash('sha256').update(repository).digest('hex')
  const name = index % 2 === 0 ? `media/take-${index}.mp4` : hash
  await ledger.put({ kind: 'lfs', key: `l${index}`, repository, name, size: 4 * MIB })
  await ledger.put({
    kind: 'packages',
    key: `p${index}`,
    owner: 'ann',
    name: `@ann/pkg-${index}`,
    size: 1.5 * MIB,
    type: 'npm',
    version: `1.${index}.0`,
  })
}
