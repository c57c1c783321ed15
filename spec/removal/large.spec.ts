import assert from 'node:assert/strict'
import { before, describe, it } from 'node:test'
import { memory } from '../../drivers/memory/index.ts'
import { jobs } from '../../lib/records/schema/index.ts'
import { watchTransactions } from '../counted.ts'
import { madeBefore, type Person, peopleBefore, start, type TestServer } from '../support/test-server.ts'
import { waitFor } from '../support/wait-for.ts'

/*
 * Counts what each transaction reads and changes, since others wait for it. `npm run bench` measures how long
 * they wait while a million entries are removed.
 */

const MANY = 2000
/** As many as one write may move. */
const FEW = 500

const uncounted = memory()
/** How many records and index entries each transaction reads or changes. */
const sizes: number[] = []
const driver = watchTransactions(uncounted, ({ read, changed }) => sizes.push(read.length + changed.length))

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

describe(`An account with ${MANY} access tokens`, () => {
  it(`is deleted in transactions as small as those of one with ${FEW / 2}, and none of them is found any more`, async () => {
    const { accounts, tokens } = server.allot.hosting
    const removal = async (count: number) => {
      const { id, name } = await accounts.createUser({ name: `user-${count}` })
      let secret = ''
      for (let n = 0; n < count; n++) ({ secret } = await tokens.create(id, `token ${n}`, ['all']))
      sizes.length = 0
      assert.equal((await server.as(server.root, 'DELETE', `/admin/users/${name}`)).status, 204)
      assert.deepEqual(await tokens.list(id, { offset: 0, limit: 1 }), { items: [], total: 0 })
      assert.equal(await tokens.verify(secret), undefined)
      await waitFor(async () => (await pendingJobs()) === 0)
      return Math.max(...sizes)
    }
    const few = await removal(FEW / 2)
    assertSmall(await removal(MANY), few * 2)
    assert.deepEqual((await server.allot.verify()).messages, [])
  })
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
