import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { memory } from '../../drivers/memory/index.ts'
import { type OpenAllot, openAllot } from '../../lib/allot.ts'
import { AllotError } from '../../lib/index.ts'
import { times } from '../support/long.ts'

/**
 * Random operations on accounts, repositories, relations and the ledger, against plain objects: whatever
 * happens, the counters equal a recount, and lists, totals and visibility agree with the model.
 */
interface Repo {
  owner: string
  private: boolean
  size: number
  stars: Set<string>
}
interface Model {
  repos: Map<string, Repo>
  entries: Map<string, { repo: string; size: number; kind: 'lfs' | 'artifacts' }>
}

const OWNERS = ['ann', 'ben', 'guild'] as const
const PEOPLE = ['ann', 'ben'] as const
const NAMES = ['r1', 'r2', 'r3'] as const

const owner = fc.constantFrom(...OWNERS)
const person = fc.constantFrom(...PEOPLE)
const name = fc.constantFrom(...NAMES)
const size = fc.nat({ max: 5000 })
const key = fc.constantFrom('k1', 'k2', 'k3')
const kind = fc.constantFrom('lfs' as const, 'artifacts' as const)

const step = fc.oneof(
  fc.record({ do: fc.constant('create' as const), owner, name, hidden: fc.boolean() }),
  fc.record({ do: fc.constant('resize' as const), name, size }),
  fc.record({ do: fc.constant('hide' as const), name, hidden: fc.boolean() }),
  fc.record({ do: fc.constant('transfer' as const), name, owner }),
  fc.record({ do: fc.constant('delete' as const), name }),
  fc.record({ do: fc.constant('star' as const), name, person, set: fc.boolean() }),
  fc.record({ do: fc.constant('put' as const), kind, key, name, size }),
  fc.record({ do: fc.constant('take' as const), kind, key }),
  fc.record({ do: fc.constant('rename' as const), name }),
)
type Step = typeof step extends fc.Arbitrary<infer S> ? S : never

/**
 * Repositories are told apart by what they were first called; their names go back and forth with `rename`.
 */
const play = async (allot: OpenAllot, ids: Map<string, number>, model: Model, one: Step): Promise<void> => {
  const { hosting, ledger } = allot
  const account = async (login: string) => (await hosting.accounts.byName(login))!
  const repo = 'name' in one ? model.repos.get(one.name) : undefined
  const id = 'name' in one ? ids.get(one.name)! : 0
  switch (one.do) {
    case 'create': {
      if (repo !== undefined) return
      const made = await hosting.repositories.create(await account(one.owner), await account('guild'), {
        name: one.name,
        private: one.hidden,
      })
      ids.set(one.name, made.id)
      model.repos.set(one.name, { owner: one.owner, private: one.hidden, size: 0, stars: new Set() })
      return
    }
    case 'put': {
      const current = repo === undefined ? undefined : await hosting.repositories.byId(id)
      const entry = {
        kind: one.kind,
        key: one.key,
        repository: `${repo?.owner}/${current?.name}`,
        name: 'x',
        size: one.size,
        run: 1,
      }
      if (repo === undefined) return void (await assert.rejects(ledger.put(entry), AllotError))
      await ledger.put(entry)
      model.entries.set(`${one.kind} ${one.key}`, { repo: one.name, size: one.size, kind: one.kind })
      return
    }
    case 'take':
      assert.equal(
        await ledger.delete({ kind: one.kind, key: one.key }),
        model.entries.delete(`${one.kind} ${one.key}`),
      )
      return
  }
  if (repo === undefined) return
  switch (one.do) {
    case 'resize':
      await hosting.repositories.resize(id, one.size)
      repo.size = one.size
      return
    case 'hide':
      await hosting.repositories.edit(id, { private: one.hidden })
      repo.private = one.hidden
      return
    case 'rename': {
      const { name: current } = (await hosting.repositories.byId(id))!
      await hosting.repositories.edit(id, {
        name: current.endsWith('x') ? current.slice(0, -1) : `${current}x`,
      })
      return
    }
    case 'transfer':
      if (repo.owner === one.owner) return
      await hosting.repositories.transfer(id, (await account(one.owner)).id)
      repo.owner = one.owner
      return
    case 'delete':
      await hosting.repositories.remove(id)
      model.repos.delete(one.name)
      for (const [at, entry] of model.entries) if (entry.repo === one.name) model.entries.delete(at)
      return
    case 'star': {
      const readable = !repo.private || repo.owner === one.person || repo.owner === 'guild'
      const viewer = { id: (await account(one.person)).id, admin: false }
      const at = { owner: repo.owner, name: (await hosting.repositories.byId(id))!.name }
      const done = await hosting.relations.stars[one.set ? 'set' : 'clear'](viewer, at)
      assert.equal(done !== undefined, readable)
      if (readable) repo.stars[one.set ? 'add' : 'delete'](one.person)
    }
  }
}

const ALL = { offset: 0, limit: 100 }

const compare = async (allot: OpenAllot, ids: Map<string, number>, model: Model): Promise<void> => {
  const { hosting, quota } = allot
  const sum = (numbers: number[]) => numbers.reduce((total, one) => total + one, 0)
  const lfsOf = (called: string) =>
    sum([...model.entries.values()].map((one) => (one.kind === 'lfs' && one.repo === called ? one.size : 0)))
  for (const login of OWNERS) {
    const own = [...model.repos].filter(([, repo]) => repo.owner === login)
    const entries = (of: string) =>
      [...model.entries.values()].filter(
        (one) => one.kind === of && model.repos.get(one.repo)?.owner === login,
      )
    const { size: used } = (await quota.info(login)).used
    assert.deepEqual(used.repos, {
      public: sum(own.filter(([, repo]) => !repo.private).map(([, repo]) => repo.size)),
      private: sum(own.filter(([, repo]) => repo.private).map(([, repo]) => repo.size)),
    })
    assert.equal(used.git.LFS, sum(entries('lfs').map((one) => one.size)))
    assert.equal(used.assets.artifacts, sum(entries('artifacts').map((one) => one.size)))

    // The order "size" counts git data with LFS objects, and repositories of one size are in order of id.
    const { id } = (await hosting.accounts.byName(login))!
    const everyone = await hosting.repositories.list(null, id, 'size', ALL)
    assert.equal(everyone.total, everyone.items.length)
    assert.deepEqual(
      everyone.items.map((one) => one.id),
      own
        .filter(([, repo]) => !repo.private)
        .map(([called, repo]) => ({ id: ids.get(called)!, size: repo.size + lfsOf(called) }))
        .sort((one, other) => one.size - other.size || one.id - other.id)
        .map((one) => one.id),
    )
  }
  for (const [called, repo] of model.repos)
    assert.equal((await hosting.repositories.byId(ids.get(called)!))!.stars, repo.stars.size)
  for (const login of PEOPLE) {
    const { id } = (await hosting.accounts.byName(login))!
    const starred = await hosting.relations.stars.list({ id, admin: false }, id, ALL)
    const expected = [...model.repos].filter(
      ([, repo]) =>
        repo.stars.has(login) && (!repo.private || repo.owner === login || repo.owner === 'guild'),
    )
    assert.equal(starred.total, starred.items.length)
    assert.deepEqual(
      starred.items.map((one) => one.id),
      expected.map(([called]) => ids.get(called)!).sort((one, other) => one - other),
    )
  }
}

describe('Any sequence of operations', () => {
  it('usage, lists, totals and stars agree with a plain model', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 40 }), async (steps) => {
        const allot = await openAllot({ driver: memory(), repositories: false })
        try {
          const { hosting } = allot
          const ann = await hosting.accounts.createUser({ name: 'ann' })
          const ben = await hosting.accounts.createUser({ name: 'ben' })
          const org = await hosting.organizations.create(ann.id, { name: 'guild' })
          await hosting.organizations.setMember(org.id, ben.id)
          const [ids, model] = [
            new Map<string, number>(),
            { repos: new Map(), entries: new Map() } satisfies Model,
          ]
          for (const one of steps) await play(allot, ids, model, one)
          await compare(allot, ids, model)
          assert.deepEqual((await allot.verify()).messages, [])
        } finally {
          await allot.close()
        }
      }),
      { numRuns: times(40, 200) },
    )
  })
})
