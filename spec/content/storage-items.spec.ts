import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { memory } from '../../drivers/memory/index.ts'
import type { Viewer } from '../../lib/accounts/access.ts'
import type { StorageItemQuery } from '../../lib/content/usage/storage-item.ts'
import type { StorageItemPage } from '../../lib/content/usage/storage-items.ts'
import { ledgerEntries, noEntries, repositories, repositoryUsages } from '../../lib/records/schema/index.ts'
import { countReads } from '../counted.ts'
import { openFixture, type RemovalFixture } from '../removal/fixture.ts'
import { times } from '../support/long.ts'

const KINDS = ['artifacts', 'lfs', 'packages', 'attachments'] as const

const write = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      do: fc.constant('put' as const),
      kind: fc.constantFrom(...KINDS),
      key: fc.nat(60),
      which: fc.nat(5),
      size: fc.constantFrom(0, 1, 5, 5, 700, 2 ** 40),
      name: fc.constantFrom('a', 'B', 'log', 'log-2'),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant('take' as const),
      kind: fc.constantFrom(...KINDS),
      key: fc.nat(60),
    }),
  },
  fc.record({
    do: fc.constant('create' as const),
    owner: fc.constantFrom('ann', 'ben'),
    isPrivate: fc.boolean(),
  }),
  fc.record({
    do: fc.constantFrom('delete' as const, 'move' as const, 'rename' as const, 'hide' as const),
    which: fc.nat(5),
  }),
  fc.record({ do: fc.constant('resize' as const), which: fc.nat(5), size: fc.constantFrom(0, 5, 800) }),
)
type Write = typeof write extends fc.Arbitrary<infer T> ? T : never

/** Few, so that jobs remove most entries. */
const BOUNDS = { maxPerTransaction: 3, batchSize: 2 }

interface World extends RemovalFixture {
  /** Ids of the owners, and of the repositories that exist. */
  readonly owners: Readonly<Record<'ann' | 'ben', number>>
  readonly ids: number[]
}

/** @param shared whether the driver says that other processes write */
const openWorld = async (shared: boolean): Promise<World> => {
  const fixture = await openFixture({ ...memory(), shared }, BOUNDS)
  const [ann, ben] = [
    await fixture.hosting.accounts.createUser({ name: 'ann' }),
    await fixture.hosting.accounts.createUser({ name: 'ben' }),
  ]
  return { ...fixture, owners: { ann: ann.id, ben: ben.id }, ids: [] }
}

let names = 0

const play = async ({ hosting, store, owners, ids }: World, one: Write): Promise<void> => {
  if (one.do === 'create') {
    const owner = (await hosting.accounts.byName(one.owner))!
    const made = await hosting.repositories.create(owner, owner, {
      name: `r${++names}`,
      private: one.isPrivate,
    })
    ids.push(made.id)
    return
  }
  if (one.do === 'take') return void (await hosting.ledger.delete({ kind: one.kind, key: `k${one.key}` }))
  const id = ids[one.which % ids.length]
  if (id === undefined) return
  const repository = (await store.read((tx) => repositories.get(tx, [id])))!
  const name = repository.owner === owners.ann ? 'ann' : 'ben'
  switch (one.do) {
    case 'put': {
      const entry = {
        key: `k${one.key}`,
        repository: `${name}/${repository.name}`,
        name: one.name,
        size: one.size,
      }
      const more = {
        artifacts: { run: 1 },
        lfs: {},
        packages: { type: 'npm', version: '1' },
        attachments: { on: 'issue', index: 1 },
      }
      await hosting.ledger.put({ ...entry, kind: one.kind, ...more[one.kind] } as never)
      return
    }
    case 'delete':
      ids.splice(ids.indexOf(id), 1)
      await hosting.repositories.remove(id)
      return
    case 'move':
      await hosting.repositories.transfer(id, name === 'ann' ? owners.ben : owners.ann)
      return
    case 'rename':
      await hosting.repositories.edit(id, { name: `n${++names}` })
      return
    case 'hide':
      await hosting.repositories.edit(id, { private: !repository.private })
      return
    case 'resize':
      await hosting.repositories.resize(id, one.size)
  }
}

interface Counted {
  readonly id: string
  readonly kind: string
  readonly name: string
  readonly size: number
  readonly createdAt: number
}

/** Everything that an owner uses, from a scan over all records. */
const recount = ({ store }: World, owner: number): Promise<Counted[]> =>
  store.read(async (tx) => {
    const found: Counted[] = []
    const own = new Set<number>()
    for await (const { id, owner: of, name, createdAt } of repositories.all(tx)) {
      if (of !== owner) continue
      own.add(id)
      const usage = (await repositoryUsages.get(tx, [id]))!
      const { git, lfs, issues, releases, artifacts, packages } = usage
      const [entries, largest] = [{ ...noEntries }, { ...noEntries }]
      for (const { kind, size } of await ledgerEntries.list(tx, 'repo', { prefix: [id] })) {
        entries[kind]++
        largest[kind] = Math.max(largest[kind], size)
      }
      assert.deepEqual(usage.entries, entries)
      // A bound: the largest may have been removed since.
      for (const kind of KINDS) assert.ok(usage.largest[kind] >= largest[kind], kind)
      const all = [git, lfs, issues, releases, artifacts, packages].reduce<number>(
        (sum, size) => sum + Number(size),
        0,
      )
      found.push({ id: `git:${id}`, kind: 'git', name, size: git, createdAt })
      found.push({ id: `repositories:${id}`, kind: 'repositories', name, size: all, createdAt })
    }
    for await (const { kind, key, repository, name, size, createdAt } of ledgerEntries.all(tx))
      if (repository !== null && own.has(repository))
        found.push({ id: `${kind}:${key}`, kind, name, size, createdAt })
    return found
  })

const text = (left: string, right: string) => (left < right ? -1 : left > right ? 1 : 0)
const SORTS = {
  size: (left: Counted, right: Counted) => right.size - left.size || text(left.name, right.name),
  name: (left: Counted, right: Counted) => text(left.name, right.name),
  created: (left: Counted, right: Counted) => right.createdAt - left.createdAt,
}

const expected = (
  all: readonly Counted[],
  { kind, search = '', sort = 'size', reverse }: StorageItemQuery,
): string[] =>
  all
    .filter((one) => (kind === undefined ? one.kind !== 'repositories' : one.kind === kind))
    .filter(({ name }) => name.toLowerCase().includes(search.toLowerCase()))
    .sort((left, right) => (reverse ? -1 : 1) * SORTS[sort](left, right) || text(left.id, right.id))
    .map(({ id }) => id)

const QUERIES: readonly StorageItemQuery[] = [
  {},
  { kind: 'repositories' },
  { kind: 'git' },
  ...KINDS.map((kind) => ({ kind })),
  { search: 'LOG' },
  { sort: 'name' },
  { sort: 'created', reverse: true },
]

const assertExact = async (world: World): Promise<void> => {
  const { hosting, owners } = world
  for (const owner of Object.values(owners)) {
    const [viewer, all]: [Viewer, Counted[]] = [{ id: owner, admin: false }, await recount(world, owner)]
    for (const query of QUERIES) {
      const ids = expected(all, query)
      const page = (offset: number, limit: number): Promise<StorageItemPage> =>
        hosting.storageItems.list(viewer, owner, query, { offset, limit })
      const { items, total } = await page(0, 1000)
      assert.deepEqual([items.map(({ id }) => id), total], [ids, ids.length], JSON.stringify(query))
      const middle = Math.floor(ids.length / 2)
      assert.deepEqual(
        (await page(middle, 3)).items.map(({ id }) => id),
        ids.slice(middle, middle + 3),
      )
    }
  }
}

describe('The list of what an owner uses', () => {
  it('is exact after every write', async () => {
    const create: Write = { do: 'create', owner: 'ann', isPrivate: false }
    await fc.assert(
      fc.asyncProperty(
        fc.array(write, { minLength: 20, maxLength: 60 }),
        fc.boolean(),
        async (writes, shared) => {
          const world = await openWorld(shared)
          for (const [turn, one] of [create, create, ...writes].entries()) {
            await play(world, one)
            // Now and then several writes come between two readers.
            if (turn % 3 !== 0) await assertExact(world)
          }
          await assertExact(world)
          await world.close()
        },
      ),
      { numRuns: times(1, 4), endOnFailure: true },
    )
  })

  it('reads after a write the repositories, and of the entries those up to the page, or the largest of each kind', async () => {
    const counted = countReads(memory())
    const fixture = await openFixture(counted.driver, { maxPerTransaction: 500, batchSize: 50 })
    const { hosting } = fixture
    const ann = await hosting.accounts.createUser({ name: 'ann' })
    const entry = (number: number, size: number) => ({
      ...{ kind: KINDS[number % 2]!, key: `k${number}`, repository: `ann/r${number % REPOSITORIES}`, run: 1 },
      ...{ name: `file ${number}`, size },
    })
    for (let number = 0; number < REPOSITORIES; number++)
      await hosting.repositories.create(ann, ann, { name: `r${number}` })
    const all = Array.from({ length: ENTRIES }, (_, number) => ({
      op: 'put',
      ...entry(number, 1000 + number),
    }))
    await hosting.ledger.batch(all as never)
    /** Entries that are read besides the repositories, each with its usage, and a page with details. */
    const queries: [query: StorageItemQuery, offset: number, entries: number][] = [
      [{}, 0, 100],
      [{}, 900, 2 * ENTRIES],
      [{ kind: 'repositories' }, 0, 0],
      [{ search: 'file 1' }, 0, 2 * ENTRIES],
      [{ sort: 'created' }, 0, 2 * ENTRIES],
    ]
    const viewer = { id: ann.id, admin: false }
    for (const [query, offset, entries] of queries) {
      const read = () =>
        counted.during(() => hosting.storageItems.list(viewer, ann.id, query, { offset, limit: 50 }))
      await read()
      for (const number of [3, 400, ENTRIES - 1]) {
        await hosting.ledger.put(entry(number, 5000 + number) as never)
        const reads = await read()
        assert.ok(reads < 4 * REPOSITORIES + entries + 200, `${JSON.stringify(query)}: ${reads}`)
      }
    }
    await fixture.close()
  })
})

const [REPOSITORIES, ENTRIES] = [200, 2000]
