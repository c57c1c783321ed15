import assert from 'node:assert/strict'
import { before, describe, it } from 'node:test'
import { memory } from '../../drivers/memory/index.ts'
import { JOB_LIMITS } from '../../lib/records/jobs.ts'
import { jobs, sshKeys as keyRecords, type SshKey } from '../../lib/records/schema/index.ts'
import type { StorageDriver } from '../../lib/storage/index.ts'
import { watchTransactions } from '../counted.ts'
import { madeBefore, type Person, peopleBefore, start, type TestServer } from '../support/test-server.ts'
import { waitFor } from '../support/wait-for.ts'
import { finishJobs, openFixture } from './fixture.ts'

/*
 * Counts what each transaction reads and changes, since others wait for it. `npm run bench` measures how long
 * they wait while a million entries are removed.
 */

const MANY = 2000
/** As many as one write may move. */
const FEW = 500

/** How many records and index entries each transaction reads or changes. */
const sizes: number[] = []
const watched = (driver: StorageDriver) =>
  watchTransactions(driver, ({ read, changed }) => sizes.push(read.length + changed.length))

const uncounted = memory()
const driver = watched(uncounted)
const server = madeBefore(() => start({ driver, repositories: false }))
const [ann, ben] = peopleBefore(server, 'ann', 'ben', 'cy', 'dee')
before(async () => {
  await fill('large', MANY)
  await fill('small', FEW)
  await fill('other', 1)
})

const fill = async (name: string, entries: number): Promise<void> => {
  const { hosting, ledger } = server.allot
  const account = (await hosting.accounts.byName('ann'))!
  await hosting.repositories.create(account, account, { name })
  const puts = Array.from({ length: entries }, (_, n) => ({
    ...({ op: 'put', kind: 'artifacts', key: `${name} ${n}`, name: `${name} ${n}` } as const),
    ...{ repository: `ann/${name}`, size: 1, run: 1 },
  }))
  await ledger.batch(puts)
}

const pendingJobs = (): Promise<number> =>
  uncounted.read(async (tx) => {
    let count = 0
    for await (const _ of jobs.all(tx)) count++
    return count
  })

/**
 * Sends a request, and compares the lists of both people immediately, before the jobs that it leaves are
 * done.
 * @returns the size of the largest transaction until they are
 */
const largest = async (
  request: Parameters<TestServer['as']>,
  lists: { ann: number; ben: number },
): Promise<number> => {
  sizes.length = 0
  const { status, text } = await server.as(...request)
  assert.ok(status < 300, text)
  assert.deepEqual(
    [await listed(ann!), await listed(ben!)],
    [
      [lists.ann, lists.ann],
      [lists.ben, lists.ben],
    ],
  )
  await waitFor(async () => (await pendingJobs()) === 0)
  return Math.max(...sizes)
}

/** The total of a person's list, and the bytes used. */
const listed = async (person: Person): Promise<[total: number, used: number]> => {
  const list = await server.as(person, 'GET', '/user/quota/artifacts?limit=1')
  const { body } = await server.as(person, 'GET', '/user/quota')
  return [Number(list.headers.get('x-total-count')), body.used.size.assets.artifacts]
}

const assertSmall = (large: number, small: number) =>
  assert.ok(large <= 1.2 * small, `${large} records, and ${small} of a small one`)

describe('An account with 300 empty repositories', () => {
  it('is deleted in transactions as small as those of one with 50', async () => {
    const { accounts, repositories } = server.allot.hosting
    const removal = async (name: string, count: number) => {
      const account = (await accounts.byName(name))!
      for (let n = 0; n < count; n++) await repositories.create(account, account, { name: `empty-${n}` })
      return largest([server.root, 'DELETE', `/admin/users/${name}?purge=true`], {
        ann: MANY + FEW + 1,
        ben: 0,
      })
    }
    const small = await removal('cy', 50)
    assertSmall(await removal('dee', 300), small)
    assert.deepEqual((await server.allot.verify()).messages, [])
  })
})

const fingerprintOf = (number: number) => `SHA256:${String(number).padStart(43, '0')}`

const keyOf = (account: number, id: number, fingerprint = fingerprintOf(id)): SshKey => ({
  ...{ id, account, fingerprint },
  ...{ title: `key ${id}`, key: 'ssh-ed25519 AAAA', createdAt: 0 },
})

describe(`An account with ${MANY} access tokens and as many SSH keys`, () => {
  it(`is deleted in transactions as small as those of one with ${FEW / 2}, and none is found while its job is pending`, async () => {
    const store = memory()
    const fixture = await openFixture(watched(store), JOB_LIMITS)
    const { accounts, tokens, sshKeys } = fixture.hosting
    const first = { offset: 0, limit: 1 }
    const removal = async (count: number) => {
      const { id } = await accounts.createUser({ name: `user-${count}` })
      let secret = ''
      for (let n = 0; n < count; n++) ({ secret } = await tokens.create(id, `token ${n}`, ['all']))
      const ids = Array.from({ length: count }, (_, n) => id * MANY + n)
      await store.write(async (tx) => {
        for (const key of ids) await keyRecords.save(tx, keyOf(id, key))
      })
      const key = ids.at(-1)!
      assert.equal((await sshKeys.signingIn(fingerprintOf(key)))?.account, id)
      sizes.length = 0
      await accounts.remove(id)
      const isKept = await store.read((tx) => keyRecords.get(tx, [key]))
      assert.equal(isKept !== undefined, count === MANY)
      for (const list of [tokens, sshKeys])
        assert.deepEqual(await list.list(id, first), { items: [], total: 0 })
      assert.deepEqual(await sshKeys.withFingerprint(id, fingerprintOf(key), first), { items: [], total: 0 })
      for (const found of [
        tokens.verify(secret),
        sshKeys.get(id, key),
        sshKeys.signingIn(fingerprintOf(key)),
      ])
        assert.equal(await found, undefined)
      await assert.rejects(sshKeys.signIn(key), { code: 'unauthenticated' })
      await finishJobs(fixture)
      assert.equal(await store.read((tx) => keyRecords.get(tx, [key])), undefined)
      return Math.max(...sizes)
    }
    const few = await removal(FEW / 2)
    assertSmall(await removal(MANY), few * 2)
  })
})

it('An SSH key that many accounts had signs in the first that exists, while their jobs are pending', async () => {
  const fixture = await openFixture(memory(), { maxPerTransaction: 1, batchSize: 1 })
  const { accounts, sshKeys } = fixture.hosting
  const shared = fingerprintOf(0)
  /** The write that removes the account removes the first of its keys. */
  const withKeys = async (number: number) => {
    const { id } = await accounts.createUser({ name: `user-${number}` })
    await fixture.store.write(async (tx) => {
      await keyRecords.save(tx, keyOf(id, 2 * number))
      await keyRecords.save(tx, keyOf(id, 2 * number + 1, shared))
    })
    return id
  }
  for (let number = 1; number <= 30; number++) await accounts.remove(await withKeys(number))
  const owners = [await withKeys(31), await withKeys(32)]
  assert.equal(await fixture.store.read((tx) => keyRecords.get(tx, [2])), undefined)
  assert.notEqual(await fixture.store.read((tx) => keyRecords.get(tx, [3])), undefined)
  assert.equal((await sshKeys.signingIn(shared))?.account, owners[0])
  await finishJobs(fixture)
  assert.equal((await sshKeys.signingIn(shared))?.account, owners[0])
})

describe(`A repository with ${MANY} ledger entries`, () => {
  it('is transferred with all entries in one step, in transactions as small as those of a small repository', async () => {
    const give = (name: string, lists: { ann: number; ben: number }) =>
      largest([server.root, 'POST', `/repos/ann/${name}/transfer`, { new_owner: 'ben' }], lists)
    const small = await give('small', { ann: MANY + 1, ben: FEW })
    const large = await give('large', { ann: 1, ben: MANY + FEW })
    assertSmall(large, small)
  })

  it('is deleted with all entries at once, in transactions as small as those of a small repository', async () => {
    const small = await largest([ben, 'DELETE', '/repos/ben/small'], { ann: 1, ben: MANY })
    const large = await largest([ben, 'DELETE', '/repos/ben/large'], { ann: 1, ben: 0 })
    assertSmall(large, small)
    assert.deepEqual((await server.allot.verify()).messages, [])
  })

  it('leaves no data to new owners of its names', async () => {
    assert.equal((await server.as(ben, 'POST', '/user/repos', { name: 'large' })).status, 201)
    assert.deepEqual(await listed(ben!), [0, 0])
    const entry = { repository: 'ben/large', name: 'new', size: 7, run: 2 }
    for (const n of [0, MANY - 1]) {
      const path = `/admin/ledger/artifacts/large%20${n}`
      assert.equal((await server.as(server.root, 'GET', path)).status, 404)
      assert.equal((await server.as(server.root, 'DELETE', path)).status, 404)
      assert.equal((await server.as(server.root, 'PUT', path, entry)).status, 201)
    }
    assert.deepEqual(await listed(ben!), [2, 14])
  })
})
