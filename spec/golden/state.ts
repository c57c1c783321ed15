import type { World } from './world.ts'

export interface RecordedRepository {
  owner: string
  name: string
  /** Sender of the request; the owner if absent. */
  by?: string
  description?: string
  private?: boolean
  default_branch?: string
  /** Bytes of git data; absent for an empty repository. */
  size?: number
}

export const FULL = 'A <b>full</b> repo & co'

/** Repositories of the organization acme, in the order of their ids; `alice` created and watches them. */
export const ACME: RecordedRepository[] = [
  { owner: 'acme', name: 'min-orgrepo' },
  { owner: 'acme', name: 'full-orgrepo', description: FULL, size: 1500 },
  { owner: 'acme', name: 'priv-orgrepo', description: 'private one', private: true },
  { owner: 'acme', name: 'priv-orgsrepo', description: 'private one', private: true },
  ...Array.from({ length: 42 }, (_, index) => ({ owner: 'acme', name: `further-${index + 1}` })),
]

export const ALICE: RecordedRepository[] = [
  { owner: 'alice', name: 'demo', description: FULL, size: 1824 },
  { owner: 'alice', name: 'secret', private: true, size: 643 },
  { owner: 'alice', name: 'blank' },
]

export const BOB: RecordedRepository[] = [
  { owner: 'bob', name: 'bobrepo', description: 'demo by bob', size: 500 },
  { owner: 'bob', name: 'bobsecret', private: true },
]

export const CAROL: RecordedRepository[] = Array.from({ length: 61 }, (_, index) => ({
  owner: 'carol',
  name: `r${String(index + 1).padStart(2, '0')}`,
}))

/** Options of a world whose repositories have no files, so that their sizes can be set. */
export const WITHOUT_GIT = { repositories: false } as const

/** Creates repositories without git, with their recorded sizes. */
export const makeRepositories = async (world: World, list: RecordedRepository[]): Promise<void> => {
  const organizations = ['acme', 'secretorg', 'carolorg']
  for (const { owner, by, size, ...options } of list) {
    const isOrganization = organizations.includes(owner)
    const path = isOrganization ? `/orgs/${owner}/repos` : '/user/repos'
    const { body } = await world.make(by ?? (isOrganization ? 'alice' : owner), 'POST', path, options)
    if (size !== undefined) await world.running.allot.hosting.repositories.resize(body.id, size)
  }
}

/** Sets the sizes of git data that were recorded, by the full names of repositories. */
export const resizeTo = async (world: World, sizes: Record<string, number>): Promise<void> => {
  for (const [fullName, size] of Object.entries(sizes)) {
    const { body } = await world.make('root1', 'GET', `/repos/${fullName}`)
    await world.running.allot.hosting.repositories.resize(body.id, size)
  }
}

/** Puts entries into the ledger, by kind and then key. */
export const putLedger = async (
  world: World,
  kind: 'artifacts' | 'attachments' | 'lfs' | 'packages',
  entries: Record<string, { size: number; [member: string]: unknown }>,
): Promise<void> => {
  for (const [key, entry] of Object.entries(entries))
    await world.make('root1', 'PUT', `/admin/ledger/${kind}/${key}`, { name: key, ...entry })
}

/**
 * Everything that counted toward quota when quota was recorded, except what recordings of `quota-user`
 * create.
 */
export const makeUsage = async (world: World): Promise<void> => {
  await resizeTo(world, {
    'alice/demo': 202_616,
    'alice/secret': 51_322,
    'bob/bobrepo': 33_921,
    'bob/bobsecret': 87,
    'acme/full-orgrepo': 43_972,
    'acme/priv-orgrepo': 10_721,
    'carol/r01': 5_307,
    'dave/daverepo': 87,
    'secretorg/hidden': 87,
  })
  await putLedger(world, 'lfs', {
    'lfs-alice': { repository: 'alice/demo', size: 5_700 },
    'lfs-bob': { repository: 'bob/bobrepo', size: 5_000 },
    'lfs-acme': { repository: 'acme/full-orgrepo', size: 1_234 },
  })
  await putLedger(world, 'artifacts', {
    'artifact-a': { repository: 'alice/demo', run: 1, size: 11_111 },
    'artifact-b': { repository: 'alice/demo', run: 1, size: 222 },
    'artifact-c': { repository: 'alice/secret', run: 1, size: 33 },
  })
  await putLedger(world, 'packages', {
    linked: { owner: 'alice', type: 'generic', version: '1.0', size: 3_000 },
    orgpkg: { owner: 'acme', type: 'generic', version: '1.0', size: 9_000 },
  })
}

/** Repositories of everyone whose quota was recorded. */
export const QUOTA_REPOSITORIES: RecordedRepository[] = [
  ...ALICE,
  ...BOB,
  ...ACME.slice(0, 3),
  { owner: 'secretorg', name: 'hidden' },
  { owner: 'dave', name: 'daverepo' },
  ...CAROL.slice(0, 2),
]

/** Who followed whom when users and authentication were recorded. */
export const makeFollows = async (world: World): Promise<void> => {
  // A private user can be followed only by users who did so before.
  await world.setVisibility('dave', 'public')
  for (const name of ['bob', 'carol', 'dave', 'eve'])
    await world.make('alice', 'PUT', `/user/following/${name}`)
  for (const name of ['bob', 'dave', 'frank']) await world.make(name, 'PUT', '/user/following/alice')
  await world.setVisibility('dave', 'private')
}

/** Everything that counted when groups and the evaluation were recorded, as ledger entries. */
export const makeAll = async (world: World): Promise<void> => {
  await makeRepositories(world, QUOTA_REPOSITORIES)
  await makeUsage(world)
  await putLedger(world, 'attachments', {
    'issue.zip': { repository: 'alice/demo', on: 'issue', index: 1, size: 3_300 },
    'release.zip': { repository: 'alice/demo', on: 'release', index: 1, size: 4_450 },
    'acme-issue.zip': { repository: 'acme/full-orgrepo', on: 'issue', index: 1, size: 1_300 },
    'acme-release.zip': { repository: 'acme/full-orgrepo', on: 'release', index: 1, size: 5_000 },
  })
  await putLedger(world, 'packages', {
    pkg: { owner: 'alice', type: 'generic', version: '1.0', size: 16_100 },
  })
}
