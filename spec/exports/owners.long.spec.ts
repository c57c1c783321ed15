import assert from 'node:assert/strict'
import { readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { level } from '../../drivers/level/index.ts'
import { memory } from '../../drivers/memory/index.ts'
import { folderOf } from '../../lib/git/folders.ts'
import { type AllotError, importAllot, type StorageDriver } from '../../lib/index.ts'
import { accounts, assignments, formerNames, jobs, removedGroups } from '../../lib/records/schema/index.ts'
import { parseShard, setShard } from '../../lib/records/shards.ts'
import { Sequences, takeNumber } from '../../lib/records/store.ts'
import { fill } from '../files/ground.ts'
import { exactly } from '../records/raw.ts'
import { temporaryDirectory } from '../support/folder.ts'
import { basic } from '../support/test-server.ts'
import { git, inChunks, populate, pushInto, type Secrets, type Served, serve } from './instance.ts'

interface Store extends Served {
  driver: StorageDriver
  /** Of git data and files. */
  folder: string
  place: { driver: StorageDriver; repositories: { directory: string }; files: { directory: string } }
}

const folders: string[] = []

/** A served store that is a shard, unless `shard` is absent. */
const aStore = async (driver: StorageDriver, shard?: string): Promise<Store> => {
  const folder = temporaryDirectory()
  folders.push(folder)
  const part = (name: string) => ({ directory: join(folder, name) })
  const place = { driver, repositories: part('repositories'), files: part('files') }
  await driver.open()
  if (shard !== undefined) await driver.write((tx) => setShard(tx, parseShard(shard)))
  return { ...(await serve(place)), driver, folder, place }
}

const OWNERS = ['guild', 'alice']

const exportOf = async ({ allot }: Store, owners = OWNERS) => {
  const chunks: Uint8Array[] = []
  const { leftOut } = await allot.exportOwners(owners, async (bytes) => void chunks.push(bytes))
  return { file: Buffer.concat(chunks), leftOut }
}

/** Records and files, without sequences and what has numbers of its own in each store. */
const linesOf = (file: Buffer): string[] =>
  file
    .toString()
    .split('\n')
    .filter(
      (line) => /^\{"(?:collection|file)":/.test(line) && !/^\{"collection":"(?:rule|group)"/.test(line),
    )

const filesIn = (folder: string): string[] =>
  readdirSync(folder, { recursive: true, withFileTypes: true }).flatMap((entry) =>
    entry.isFile() ? [join(entry.parentPath, entry.name)] : [],
  )

/** The contents of a store, on its disk and in its records. */
const stateOf = async ({ driver, folder }: Store) => ({
  records: await exactly(driver),
  disk: filesIn(folder),
})

let source: Store
let secrets: Secrets & { alice: string }
let file: Buffer
let leftOut: Record<string, number> | undefined
before(async () => {
  source = await aStore(memory())
  const { hosting } = source.allot
  const given = await populate(source.allot)
  await fill(source.allot)
  const { id } = (await hosting.accounts.byName('alice'))!
  secrets = { ...given, alice: (await hosting.tokens.create(id, 'a', ['all'])).secret }
  // A store that was the only one becomes the first shard.
  await source.driver.write((tx) => setShard(tx, parseShard('1/16')))
  const { body } = await source.ask('GET', '/repos/ann/demo')
  pushInto(folderOf(source.place.repositories.directory, body.id))
  ;({ file, leftOut } = await exportOf(source))
})
after(async () => {
  await source.stop()
  for (const folder of folders) rmSync(folder, { recursive: true, force: true })
})

/** A store that has another owner, and a rule and a group of the source. */
const usedStore = async (driver: StorageDriver, shard?: string): Promise<Store> => {
  const store = await aStore(driver, shard)
  const { hosting, quota } = store.allot
  const zoe = await hosting.accounts.createUser({ name: 'zoe', password: 'correct horse battery' })
  await hosting.repositories.create(zoe, zoe, { name: 'demo', autoInit: true })
  await quota.rules.create({ name: 'small', limit: 1000, subjects: ['size:all'] })
  await quota.groups.create({ name: 'extra', rules: ['small'] })
  await quota.groups.assign('zoe', 'extra')
  return store
}

const zoesResponses = async ({ ask }: Store) => {
  const headers = basic('zoe', 'correct horse battery')
  const paths = ['/user', '/user/repos', '/user/quota', '/repos/zoe/demo', '/repos/search?q=demo&uid=1']
  return Promise.all(paths.map(async (path) => (await ask('GET', path, { headers })).text))
}

it('an export counts the forks that other owners have, and the parents of forks that stay behind', async () => {
  const store = await aStore(memory())
  try {
    const { accounts, repositories, forks } = store.allot.hosting
    const [ida, joe] = [
      await accounts.createUser({ name: 'ida' }),
      await accounts.createUser({ name: 'joe' }),
    ]
    await repositories.create(ida, ida, { name: 'demo', autoInit: true })
    await forks.fork({ id: joe.id, admin: false }, { owner: 'ida', name: 'demo' }, {})
    const counted = async (...owners: string[]) => {
      const { leftOut = {} } = await exportOf(store, owners)
      return [leftOut.forks, leftOut['parents of forks']]
    }
    assert.deepEqual(await counted('ida'), [1, undefined])
    assert.deepEqual(await counted('joe'), [undefined, 1])
    assert.deepEqual(await counted('ida', 'joe'), [undefined, undefined])
  } finally {
    await store.stop()
  }
})

it('an export counts the redirects to repositories that other owners have', async () => {
  const store = await aStore(memory())
  try {
    const { accounts, repositories } = store.allot.hosting
    const [ida, joe] = [
      await accounts.createUser({ name: 'ida' }),
      await accounts.createUser({ name: 'joe' }),
    ]
    const { id } = await repositories.create(ida, ida, { name: 'demo' })
    await repositories.transfer(id, joe.id)
    const { leftOut } = await exportOf(store, ['ida'])
    assert.deepEqual(leftOut, { 'redirects of repositories': 1, watches: 1 })
  } finally {
    await store.stop()
  }
})

describe('Owners that are imported into a shard with other owners', () => {
  let target: Store
  let unchanged: string[]
  before(async () => {
    target = await usedStore(level(temporaryDirectory()), '2/16')
    const { accounts } = target.allot.hosting
    const { id } = await accounts.createUser({ name: 'ALICE' })
    await accounts.rename(id, 'alicia')
    unchanged = await zoesResponses(target)
    await target.stop()
    await importAllot(target.place, inChunks(file))
    target = { ...target, ...(await serve(target.place)) }
  })
  after(() => target.stop())

  it('have the same records and files', async () => {
    const there = await exportOf(target)
    assert.ok(linesOf(file).length > 120)
    assert.deepEqual(linesOf(there.file), linesOf(file))
    assert.deepEqual(there.leftOut, {})
  })

  it('take their names from accounts that had them before', async () => {
    assert.equal(await target.driver.read((tx) => formerNames.get(tx, ['alice'])), undefined)
  })

  it('pass verify, beside what was there', async () => {
    assert.deepEqual((await target.allot.verify()).messages, [])
    assert.deepEqual(await zoesResponses(target), unchanged)
  })

  it('have the same git data, which passes git fsck', async () => {
    for (const path of ['/repos/ann/demo', '/repos/guild/hidden', '/repos/alice/demo']) {
      const { id } = (await source.ask('GET', path, { token: secrets.root })).body
      const [one, other] = [source, target].map(({ place }) => folderOf(place.repositories.directory, id))
      for (const query of [['for-each-ref'], ['rev-list', '--objects', '--all'], ['symbolic-ref', 'HEAD']])
        assert.equal(git('-C', other!, ...query), git('-C', one!, ...query))
      git('-C', other!, 'fsck', '--full', '--strict')
    }
  })

  const paths: [token: 'alice' | 'ann' | 'narrow', path: string][] = [
    ['alice', '/user'],
    ['alice', '/user/repos'],
    ['alice', '/user/quota'],
    ['alice', '/user/quota/packages'],
    ['alice', '/repos/alice/demo/releases'],
    ['alice', '/packages/alice'],
    ['ann', '/user/emails'],
    ['ann', '/user/keys'],
    ['ann', '/user/gpg_keys'],
    ['ann', '/user/orgs'],
    ['ann', '/user/quota'],
    ['ann', '/user/quota/artifacts?limit=50'],
    ['ann', '/orgs/guild/members'],
    ['ann', '/orgs/guild/quota'],
    ['ann', '/orgs/guild/quota/artifacts?limit=50'],
    ['ann', '/repos/ann/hall/issues?state=all'],
    ['ann', '/repos/ann/hall/issues/1/comments'],
    ['narrow', '/user/quota'],
  ]
  for (const [who, path] of paths)
    it(`answer ${path} of ${who} as before`, async () => {
      const [one, other] = await Promise.all(
        [source, target].map(({ ask }) => ask('GET', path, { token: secrets[who] })),
      )
      assert.equal(one!.status, 200)
      assert.equal(other!.text, one!.text)
    })

  it('have the same bytes of packages and attachments, and accept the same password', async () => {
    for (const { ask, api } of [source, target]) {
      const { body } = await ask('GET', '/repos/ann/hall/issues/1', { token: secrets.ann })
      const { pathname } = new URL(body.assets[0].browser_download_url)
      const whole = { headers: { range: 'bytes=0-' } }
      assert.equal(await (await fetch(new URL(pathname, api), whole)).text(), 'attached')
      const packaged = new URL('/api/packages/alice/generic/tool/1/b', api)
      const headers = { authorization: `token ${secrets.alice}` }
      assert.equal(await (await fetch(packaged, { headers })).text(), 'b')
      assert.equal((await ask('GET', '/user', { headers: basic('ann', secrets.password) })).status, 200)
    }
  })

  it('keep the former names of repositories', async () => {
    const { status, headers } = await target.ask('GET', '/repos/ann/lobby')
    assert.deepEqual([status, headers.get('location')?.replace(/^.*\/api/, '')], [301, '/v1/repos/Ann/hall'])
  })

  it('lose the relations to accounts that stay, which the export counts', async () => {
    assert.deepEqual(leftOut, { stars: 1, watches: 1, follows: 1 })
    const { body } = await target.ask('GET', '/repos/ann/demo')
    assert.equal(body.stars_count, 2)
  })

  it('create things afterwards with ids that no other shard gives out', async () => {
    const created = { token: secrets.ann, body: { name: 'next' } }
    const [one, other] = await Promise.all(
      [source, target].map(({ ask }) => ask('POST', '/user/repos', created)),
    )
    assert.ok(other!.body.id > 2 ** 40)
    assert.notEqual(one!.body.id, other!.body.id)
    assert.deepEqual((await target.allot.verify()).messages, [])
  })

  it('move back to where they were deleted', async () => {
    for (const name of ['guild', 'ann', 'ben', 'cleo', 'alice'])
      await source.ask('DELETE', `/admin/users/${name}?purge=true`, { token: secrets.root })
    const back = await exportOf(target)
    await source.stop()
    await importAllot(source.place, inChunks(back.file))
    source = { ...source, ...(await serve(source.place)) }
    assert.deepEqual((await source.allot.verify()).messages, [])
    assert.deepEqual(linesOf((await exportOf(source)).file), linesOf(back.file))
  })
})

describe('An import of owners', () => {
  const refused: [
    what: string,
    shard: string | undefined,
    prepare: (store: Store) => Promise<unknown>,
    error: RegExp,
  ][] = [
    [
      'the store is not a shard',
      undefined,
      async () => undefined,
      /not empty, and it is not a shard.*`allot shard`/,
    ],
    [
      'both are the same shard',
      '1/16',
      async () => undefined,
      /from shard 1\/16, and the store is shard 1\/16/,
    ],
    [
      'they are of other numbers of shards',
      '2/8',
      async () => undefined,
      /from shard 1\/16, and the store is shard 2\/8/,
    ],
    [
      'the store has an account of the same name',
      '2/16',
      ({ allot }) => allot.hosting.accounts.createUser({ name: 'ANN' }),
      /the store already has an account Ann/,
    ],
    [
      'the store has another user with the same email address',
      '2/16',
      ({ allot }) => allot.hosting.accounts.createUser({ name: 'anna', email: 'ann@example.test' }),
      /line \d+: another record of the store has a name or an address of the account "Ann": rename or remove/,
    ],
    [
      'a rule of the same name has another limit',
      '2/16',
      ({ allot }) => allot.quota.rules.edit('small', { limit: 3 }),
      /line \d+: the rule small of this store differs/,
    ],
    [
      'a group of the same name has other rules',
      '2/16',
      ({ allot }) => allot.quota.groups.create({ name: 'free' }),
      /line \d+: the group free of this store differs/,
    ],
    [
      'a group of the same name has one rule whose name is the names of its rules, with commas',
      '2/16',
      async ({ allot: { quota } }) => {
        const name = (await source.allot.quota.groups.get('free'))!.rules.map((rule) => rule.name).join()
        await quota.rules.create({ name, limit: 9, subjects: ['size:all'] })
        await quota.groups.create({ name: 'free', rules: [name] })
      },
      /line \d+: the group free of this store differs/,
    ],
  ]
  for (const [what, shard, prepare, error] of refused)
    it(`is refused when ${what}, and changes nothing`, async (t) => {
      const store = await usedStore(memory(), shard)
      await prepare(store)
      const unchanged = await stateOf(store)
      await store.stop()
      await assert.rejects(importAllot(store.place, inChunks(file)), (failure: AllotError) => {
        assert.match(failure.message, error)
        assert.equal(failure.code, 'conflict')
        return true
      })
      await store.driver.open()
      t.after(() => store.driver.close())
      assert.deepEqual(await stateOf(store), unchanged)
    })

  it('get a group whose earlier one of the same name is still being taken from its owners', async (t) => {
    const store = await usedStore(memory(), '2/16')
    await store.stop()
    await store.driver.open()
    // What a server leaves that is stopped while it deletes a group of many owners.
    const zoe = await store.driver.write(async (tx) => {
      const { id: owner } = (await accounts.findBy(tx, 'name', ['zoe']))!
      await assignments.save(tx, { owner, group: 'free' })
      await removedGroups.save(tx, { sequence: 77, name: 'free' })
      await jobs.save(tx, { kind: 'removeAssignments', id: 77 })
      return owner
    })
    await importAllot(store.place, inChunks(file))
    const target = await serve(store.place)
    t.after(() => target.stop())
    assert.deepEqual(await target.allot.quota.groups.assignedTo('zoe'), ['extra'])
    assert.ok((await target.allot.quota.groups.get('free')) !== undefined)
    await store.driver.read(async (tx) => {
      assert.equal(await assignments.get(tx, [zoe, 'free']), undefined)
      assert.equal(await jobs.get(tx, ['removeAssignments', 77]), undefined)
    })
  })

  const broken: [what: string, source: () => AsyncIterable<Uint8Array>, error: RegExp][] = [
    ['that is cut short', () => inChunks(file.subarray(0, file.length - 20_000)), /cut short/],
    [
      'that was changed',
      () => inChunks(Buffer.from(file.toString().replace('"title":"the first"', '"title":"the frist"'))),
      /checksum is wrong/,
    ],
    [
      'whose connection breaks',
      async function* () {
        yield file.subarray(0, file.length - 20_000)
        throw new Error('the network is gone')
      },
      /the network is gone/,
    ],
  ]
  for (const [what, from, error] of broken)
    it(`of a file ${what} changes nothing, and can be repeated`, async (t) => {
      const store = await usedStore(memory(), '2/16')
      const unchanged = await stateOf(store)
      await store.stop()
      await assert.rejects(importAllot(store.place, from()), error)
      await store.driver.open()
      assert.deepEqual(await stateOf(store), unchanged)
      await importAllot(store.place, inChunks(file))
      const served = await serve(store.place)
      t.after(() => served.stop())
      assert.deepEqual((await served.allot.verify()).messages, [])
    })

  it('into an empty store works without shards, and passes verify', async (t) => {
    const store = await aStore(memory())
    await store.stop()
    await importAllot(store.place, inChunks(file))
    const served = await serve(store.place)
    t.after(() => served.stop())
    assert.deepEqual((await served.allot.verify()).messages, [])
    assert.deepEqual(linesOf((await exportOf({ ...store, ...served })).file), linesOf(file))
  })
})

describe('GET /admin/export?owner=', () => {
  it('exports the owners, and answers 404 for an account that does not exist', async () => {
    const at = (owner: string) => source.ask('GET', `/admin/export?owner=${owner}`, { token: secrets.root })
    const { status, text } = await at('guild,alice')
    assert.equal(status, 200)
    assert.deepEqual(linesOf(Buffer.from(text)), linesOf((await exportOf(source)).file))
    for (const owner of ['nobody', 'guild,nobody', 'guild,', ',']) assert.equal((await at(owner)).status, 404)
    assert.equal((await at('a'.repeat(2049))).status, 422)
  })
})

describe('A shard', () => {
  const empty = async () => {
    const driver = memory()
    await driver.open()
    return driver
  }

  for (const text of [
    '',
    '0/16',
    '17/16',
    '1/1',
    '1',
    '1/',
    '/2',
    '-1/2',
    '1.5/2',
    '1/4097',
    '01/2',
    '1/2 ',
    'a/b',
  ])
    it(`is refused as ${JSON.stringify(text)}`, () => {
      assert.throws(() => parseShard(text), { code: 'invalid', message: /expected a shard such as 3\/16/ })
    })

  it('keeps its number, and begins empty unless it is the first', async () => {
    const driver = await empty()
    const set = (shard: string) => driver.write((tx) => setShard(tx, parseShard(shard)))
    await set('3/16')
    await set('3/16')
    await assert.rejects(set('4/16'), /the store is already shard 3\/16/)
    const used = await usedStore(memory())
    await assert.rejects(
      used.driver.write((tx) => setShard(tx, parseShard('2/16'))),
      /can only be the first shard/,
    )
    await used.stop()
  })

  it('gives out ids that are distinct from those of the others, in every sequence and process', async () => {
    const ids = await Promise.all(
      ['1/3', '2/3', '3/3'].map(async (shard) => {
        const driver = await empty()
        await driver.write((tx) => setShard(tx, parseShard(shard)))
        const processes = [new Sequences(driver), new Sequences(driver)]
        const given: number[] = []
        for (let turn = 0; turn < 100; turn++) given.push(await processes[turn % 2]!.next('repository'))
        given.push(await driver.write((tx) => takeNumber(tx, 'repository')))
        return given
      }),
    )
    assert.equal(new Set(ids.flat()).size, 303)
  })
})
