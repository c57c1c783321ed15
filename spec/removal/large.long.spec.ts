import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { level } from '../../drivers/level/index.ts'
import { temporaryFolder } from '../drivers/temporary-folder.ts'
import { assertNoContent } from '../support/expectations.ts'
import { type Person, start, type TestServer } from '../support/test-server.ts'

const MANY = 20_000
/** As many as one write may move. */
const FEW = 500

let server: TestServer
let [ann, ben]: Person[] = []
let removeFolder: () => Promise<void>

before(async () => {
  const { folder, remove } = await temporaryFolder()
  removeFolder = remove
  server = await start({ driver: level(folder), repositories: false })
  ann = await server.person('ann')
  ben = await server.person('ben')
  for (const [name, entries] of [
    ['large', MANY],
    ['small', FEW],
    ['other', 1],
  ] as const)
    await fill(name, entries)
})
after(async () => {
  await server.stop()
  await removeFolder()
})

const fill = async (name: string, entries: number): Promise<void> => {
  const { hosting, ledger } = server.allot
  const account = (await hosting.accounts.byName('ann'))!
  await hosting.repositories.create(account, account, { name })
  const puts = Array.from({ length: entries }, (_, n) => ({
    ...({ op: 'put', kind: 'artifacts', key: `${name} ${n}`, name: `${name} ${n}` } as const),
    ...{ repository: `ann/${name}`, size: 1, run: 1 },
  }))
  for (let at = 0; at < entries; at += 5000) await ledger.batch(puts.slice(at, at + 5000))
}

/** Milliseconds of processor time, which other programs on the machine do not lengthen. */
const worked = async (work: () => Promise<unknown>): Promise<number> => {
  const begun = process.cpuUsage()
  await work()
  const { user, system } = process.cpuUsage(begun)
  return (user + system) / 1000
}

const timed = async (work: () => Promise<unknown>): Promise<number> => {
  const begun = performance.now()
  await work()
  return performance.now() - begun
}

/** The total of a person's list, and the bytes used. */
const listed = async (person: Person): Promise<[total: number, used: number]> => {
  const list = await server.as(person, 'GET', '/user/quota/artifacts?limit=1')
  const { body } = await server.as(person, 'GET', '/user/quota')
  return [Number(list.headers.get('x-total-count')), body.used.size.assets.artifacts]
}

const median = (numbers: number[]): number => numbers.sort((one, other) => one - other)[numbers.length >> 1]!

/** Milliseconds that others wait, on the whole, for a read and a durable write. */
const waiting = async (times: number): Promise<number> => {
  const waits: number[] = []
  for (let n = 0; n < times; n++)
    waits.push(
      await timed(async () => {
        await server.as(ben, 'GET', '/user/quota/artifacts?limit=5')
        assertNoContent(await server.as(ben, n % 2 ? 'PUT' : 'DELETE', '/user/starred/ann/other'))
      }),
    )
  return median(waits)
}

describe(`A repository with ${MANY} ledger entries`, () => {
  it('is transferred in the time that a small repository takes, with all entries in one step', async () => {
    const give = (name: string) => () =>
      server.as(server.root, 'POST', `/repos/ann/${name}/transfer`, { new_owner: 'ben' })
    const small = await worked(give('small'))
    const large = await worked(give('large'))
    assert.deepEqual(await listed(ann!), [1, 1])
    assert.deepEqual(await listed(ben!), [MANY + FEW, MANY + FEW])
    assert.ok(large < 8 * small + 500, `${large} ms, and with ${FEW} entries ${small} ms`)
  })

  it('is deleted immediately, and other requests are not delayed while its entries are removed', async () => {
    const rest = await waiting(60)
    const small = await worked(() => server.as(ben, 'DELETE', '/repos/ben/small'))
    const large = await worked(() => server.as(ben, 'DELETE', '/repos/ben/large'))
    assert.deepEqual(await listed(ben!), [0, 0])
    assert.ok(large < 8 * small + 500, `${large} ms, and with ${FEW} entries ${small} ms`)
    const swept = await waiting(60)
    assert.ok(swept < 6 * rest + 50, `${swept} ms while it is swept, and ${rest} ms before`)
  })

  it('leaves its names free, and no data to new owners of these names', async () => {
    const again = await server.as(ben, 'POST', '/user/repos', { name: 'large' })
    assert.equal(again.status, 201)
    assert.deepEqual(await listed(ben!), [0, 0])
    const entry = { repository: 'ben/large', name: 'new', size: 7, run: 2 }
    for (const n of [0, MANY - 1]) {
      const path = `/admin/ledger/artifacts/large%20${n}`
      assert.equal((await server.as(server.root, 'GET', path)).status, 404)
      assert.equal((await server.as(server.root, 'DELETE', path)).status, 404)
      assert.equal((await server.as(server.root, 'PUT', path, entry)).status, 201)
      assert.equal((await server.as(server.root, 'PUT', path, entry)).status, 200)
      assert.equal((await server.as(server.root, 'GET', path)).body.size, 7)
    }
    assert.deepEqual(await listed(ben!), [2, 14])
  })

  it('has counters that agree with the records all the time', async () => {
    assert.deepEqual((await server.allot.verify()).messages, [])
  })
})
