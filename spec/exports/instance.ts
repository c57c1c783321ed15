import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { mock } from 'node:test'
import { type OpenAllot, openAllot } from '../../lib/allot.ts'
import type { AllotOptions } from '../../lib/index.ts'
import { hostOwnerDirectory } from '../../lib/quota/host-owners.ts'
import { Store } from '../../lib/records/store.ts'
import type { StorageDriver } from '../../lib/storage/index.ts'
import { hookPlaces } from '../../lib/webhooks/places.ts'
import { runSync } from '../support/child.ts'
import { atEnd, once } from '../support/cleanup.ts'
import { temporaryDirectory } from '../support/folder.ts'
import { generateOpenPgpKey, generateSshKey } from '../support/keygen.ts'
import { listen } from '../support/listen.ts'
import { createSender, PATIENT, type TestServer } from '../support/test-server.ts'
import { waitFor } from '../support/wait-for.ts'

/** The same for all servers, so that links in responses are equal. */
export const BASE = 'http://allot.example.test'

export interface Served {
  allot: OpenAllot
  api: string
  ask: TestServer['request']
  stop(): Promise<void>
}

/** Starts a server on a store, until the end of the file at the latest. */
export const serve = async (options: AllotOptions): Promise<Served> => {
  const allot = await openAllot({ ...PATIENT, baseUrl: BASE, webhooks: true, ...options })
  const server = await listen(allot.handler)
  const api = `${server.origin}/api/v1`
  const stop = once(async () => {
    await server.stop()
    await allot.close()
  })
  atEnd(stop)
  return { allot, api, ask: createSender(api), stop }
}

/** The bytes of an export. */
export const exported = async (allot: Pick<OpenAllot, 'export'>): Promise<Buffer> => {
  const chunks: Uint8Array[] = []
  await allot.export(async (bytes) => void chunks.push(bytes))
  return Buffer.concat(chunks)
}

export async function* inChunks(file: Uint8Array, size = 10_000): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < file.length; at += size) yield file.subarray(at, at + size)
}

export const git = (...args: string[]): string =>
  runSync('git', args, {
    env: {
      PATH: process.env.PATH,
      GIT_CONFIG_GLOBAL: '/dev/null',
      GIT_CONFIG_SYSTEM: '/dev/null',
      GIT_AUTHOR_NAME: 'a',
      GIT_AUTHOR_EMAIL: 'a@example.test',
      GIT_COMMITTER_NAME: 'a',
      GIT_COMMITTER_EMAIL: 'a@example.test',
    },
  })

/** Pushes a commit, a branch, a tag, a note, and a file larger than one part of a bundle. */
export const pushInto = (bare: string): void => {
  const work = temporaryDirectory()
  try {
    git('clone', '--quiet', bare, work)
    const bytes = Buffer.alloc(200_000)
    for (let at = 0; at < bytes.length; at++) bytes[at] = (at * at * 31 + (at >> 3)) % 251
    writeFileSync(join(work, 'large.bin'), bytes)
    git('-C', work, 'add', '.')
    git('-C', work, 'commit', '--quiet', '-m', 'more')
    git('-C', work, 'tag', '-a', 'v1', '-m', 'first')
    git('-C', work, 'notes', 'add', '-m', 'seen')
    git('-C', work, 'push', '--quiet', 'origin', 'HEAD', 'HEAD:refs/heads/topic/a', 'v1', 'refs/notes/*')
  } finally {
    rmSync(work, { recursive: true, force: true })
  }
}

/** Passwords and tokens, which must still work after an import. */
export interface Secrets {
  root: string
  ann: string
  narrow: string
  password: string
}

/** Open, closed and deleted issues, comments, all kinds of releases, and attachments. */
const contents = async (
  { issues, comments, statuses, releases, attachments }: OpenAllot['hosting'],
  ann: { id: number; admin: boolean },
) => {
  const hall = { owner: 'ann', name: 'hall' }
  for (const title of ['the first', 'the second Ä', 'no more'])
    await issues.create(ann, hall, { title, body: title })
  await issues.edit(ann, hall, 2, { state: 'closed' })
  const { comment } = (await comments.create(ann, hall, 1, 'one'))!
  await comments.create(ann, hall, 1, 'two 🦉')
  await issues.remove(ann, hall, 3)
  const sha = '2e1cfa82b035c26cbbbdae632cea070514eb8b77'
  for (const state of ['pending', 'success'] as const) await statuses.create(ann, hall, sha, { state })
  await releases.create(ann, hall, { tag: 'v1', body: 'notes' })
  await releases.create(ann, hall, { tag: 'v2', draft: true, prerelease: true })
  for (const on of [{ issue: 1 }, { comment: comment.id }, { release: 2 }]) {
    const content = Readable.from([Buffer.from('attached')], { objectMode: false })
    await attachments.add(ann, hall, on, { name: 'a.txt', content, maxSize: 100 })
  }
}

/** Sets the clock back. */
const daysAgo = async (days: number, work: () => Promise<unknown>): Promise<void> => {
  mock.timers.enable({ apis: ['Date'], now: Date.now() - days * 86_400_000 })
  try {
    await work()
  } finally {
    mock.timers.reset()
  }
}

/** A team with a member and a repository, a collaborator and an offer. */
const share = async ({ collaborators, teams, teamRepositories, transfers }: OpenAllot['hosting']) => {
  const root = { id: 1, admin: true }
  const units = [{ unit: 'repo.code', level: 'write' } as const]
  const { team } = (await teams.create(root, 'guild', { name: 'Masons', level: 'write', units }))!
  await teams.addMember(root, team!.id, 'cleo')
  await teamRepositories.set(root, team!.id, { owner: 'guild', name: 'hidden' }, true)
  await collaborators.set(root, { owner: 'guild', name: 'hidden' }, 'cleo', 'read')
  await transfers.begin({ id: 2, admin: false }, { owner: 'ann', name: 'hall' }, 'cleo')
}

/** A webhook that has failed once, and tries no more. */
const hook = async (
  { hooks }: OpenAllot['hosting'],
  ann: { id: number; username: string; admin: boolean },
) => {
  const place = hookPlaces.repository(ann, 'ann', 'hall')
  // A name that is resolved only for a delivery, which then finds that the address is not public.
  const given = { url: 'http://localhost:9/', secret: 'between us', authorization: 'Bearer t', active: true }
  const { id } = (await hooks.create(ann, place, { ...given, type: 'gitea', baseUrl: BASE, events: ['*'] }))!
  await hooks.test(ann, place, id)
  const [first] = (await hooks.deliveries(place, id, { offset: 0, limit: 1 }))!.items
  await waitFor(async () => (await hooks.delivery(ann, place, id, first!.number))!.attempts > 0)
  await hooks.edit(ann, place, id, { active: false })
}

/** Creates an instance with every kind of record. Its webhooks must be on. */
export const populate = async ({ hosting, quota, ledger }: OpenAllot): Promise<Secrets> => {
  const password = 'correct horse battery'
  const { accounts, organizations, repositories, relations, tokens } = hosting
  const root = await accounts.createUser({ name: 'root', admin: true })
  const ann = await accounts.createUser({
    name: 'Ann',
    email: 'ann@example.test',
    password,
    fullName: 'Ann Ä. 🦉',
  })
  const ben = await accounts.createUser({ name: 'ben', visibility: 'private' })
  const cleo = await accounts.createUser({ name: 'cleo', visibility: 'limited' })
  const website = 'https://cleo.example.test'
  await accounts.edit(cleo.id, { active: false, website }, { by: { id: root.id, username: 'root' } })
  await daysAgo(2, () =>
    ledger.put({
      kind: 'packages',
      key: 'old',
      owner: 'ann',
      name: 'old',
      size: 11,
      type: 'npm',
      version: '1',
    }),
  )
  const guild = await organizations.create(ann.id, { name: 'club' })
  await accounts.rename(guild.id, 'guild')
  await organizations.setMember(guild.id, ben.id)
  const demo = await repositories.create(ann, ann, { name: 'demo', autoInit: true, readme: 'Default' })
  await repositories.create(guild, ann, { name: 'hidden', private: true, autoInit: true })
  await repositories.create(ben, ben, { name: 'bare', defaultBranch: 'trunk' })
  const gone = await repositories.create(ann, ann, { name: 'gone' })
  await repositories.remove(gone.id)
  const { id: hall } = await repositories.create(ann, ann, { name: 'lobby' })
  await repositories.edit(hall, { name: 'hall' })
  await repositories.edit(demo.id, { description: '"quoted" \u2028 line', archived: true })
  for (const account of [root, ann, ben]) {
    const viewer = { id: account.id, admin: account.admin }
    await relations.stars.set(viewer, { owner: 'ann', name: 'demo' })
    await relations.watches.set(viewer, { owner: 'guild', name: 'hidden' })
    if (viewer.id !== ann.id) await relations.follows.follow(viewer, 'ann')
  }
  await relations.follows.follow({ id: ann.id, admin: false }, 'cleo')
  await hosting.sessions.begin(
    { account: (await accounts.byName('ann'))!, token: null },
    { name: 'Firefox on Linux', address: '203.0.113.7', secret: '' },
  )
  await hosting.sshKeys.add(ann.id, { title: 'laptop', key: generateSshKey('ed25519').key })
  await hosting.gpgKeys.add(ann.id, { armored: await generateOpenPgpKey('ann@example.test') })
  await contents(hosting, ann)
  await hook(hosting, { id: ann.id, username: 'ann', admin: false })
  await quota.rules.create({ name: 'small', limit: 1000, subjects: ['size:all'] })
  await quota.rules.create({ name: 'assets', limit: -1, subjects: ['size:assets:all', 'size:git:lfs'] })
  await quota.groups.create({ name: 'free', rules: ['small', 'assets'] })
  await quota.groups.create({ name: 'paid' })
  await quota.groups.assign('ann', 'free')
  await quota.groups.assign('guild', 'free')
  await quota.groups.assign('ben', 'paid')
  for (let n = 0; n < 40; n++)
    await ledger.put({
      kind: 'artifacts',
      key: `a${n}`,
      repository: n % 3 ? 'ann/demo' : 'guild/hidden',
      name: `build ${n % 7}`,
      size: n * 977,
      run: n,
    })
  await ledger.put({
    kind: 'attachments',
    key: 'é',
    repository: 'ann/demo',
    name: 'x.png',
    size: 5,
    on: 'issue',
    index: 3,
  })
  await ledger.put({
    kind: 'attachments',
    key: 'r',
    repository: 'guild/hidden',
    name: 'y.zip',
    size: 2 ** 40,
    on: 'release',
    index: 1,
  })
  await ledger.put({ kind: 'lfs', key: 'o', repository: 'guild/hidden', name: 'o', size: 11 })
  await ledger.put({
    kind: 'packages',
    key: 'p',
    owner: 'guild',
    name: 'kit',
    size: 30,
    type: 'npm',
    version: '1.0.0',
  })
  await share(hosting)
  const secret = async (account: number, name: string, scopes: string[]) =>
    (await tokens.create(account, name, scopes)).secret
  return {
    password,
    root: await secret(root.id, 'r', ['all']),
    ann: await secret(ann.id, 'a', ['all']),
    narrow: await secret(ann.id, 'n', ['read:user']),
  }
}

/** Adds an owner of `createQuota` to an open store. */
export const nameOwner = (driver: StorageDriver): Promise<unknown> =>
  new Store(driver).write((tx) => hostOwnerDirectory.claim(tx, 'tenant/42'))
