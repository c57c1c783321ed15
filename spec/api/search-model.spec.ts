import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { times } from '../support/long.ts'
import { type Person, start } from '../support/test-server.ts'

/** Names of few letters, so that words of every length match often. */
const name = fc.string({ unit: fc.constantFrom('a', 'b', 'A', 'c'), minLength: 1, maxLength: 7 })
const word = fc.string({ unit: fc.constantFrom('a', 'b', 'B', 'é'), maxLength: 6 })

type Step =
  | { do: 'create'; owner: number; name: string; private: boolean }
  | { do: 'rename'; at: number; name: string }
  | { do: 'turn'; at: number; private: boolean }
  | { do: 'delete'; at: number }
  | { do: 'hide'; owner: number; visibility: 'public' | 'limited' | 'private' }
  | { do: 'call'; owner: number; fullName: string }

const owner = fc.nat(1)
const at = fc.nat(20)
const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.record({ do: fc.constant('create' as const), owner, name, private: fc.boolean() }),
  },
  fc.record({ do: fc.constant('rename' as const), at, name }),
  fc.record({ do: fc.constant('turn' as const), at, private: fc.boolean() }),
  fc.record({ do: fc.constant('delete' as const), at }),
  fc.record({
    do: fc.constant('hide' as const),
    owner,
    visibility: fc.constantFrom('public' as const, 'limited' as const, 'private' as const),
  }),
  fc.record({ do: fc.constant('call' as const), owner, fullName: fc.oneof(name, fc.constant('Ébba Öa')) }),
)

interface Known {
  owner: number
  name: string
  private: boolean
}

describe('A search', () => {
  it('finds the same as a scan of all names, in a random series of changes', async () => {
    const property = fc.asyncProperty(
      fc.array(step, { maxLength: 25 }),
      fc.array(word, { minLength: 1 }),
      async (steps, words) => {
        const allot = await start({ repositories: false, maxPageSize: 1000 })
        try {
          const people = [await allot.person('abba', { admin: false }), await allot.person('baab')]
          const users = people.map((one) => ({ login: one.name, fullName: '', visibility: 'public' }))
          const known: Known[] = []
          const asRoot = (method: string, path: string, body: unknown) =>
            allot.as(allot.root, method, path, body)

          const take = async (one: Step) => {
            const repository = 'at' in one ? known[one.at] : undefined
            if ('at' in one && repository === undefined) return
            const path = repository && `/repos/${people[repository.owner]!.name}/${repository.name}`
            switch (one.do) {
              case 'create': {
                const body = { name: one.name, private: one.private }
                const { status } = await allot.as(people[one.owner], 'POST', '/user/repos', body)
                if (status === 201) known.push({ owner: one.owner, name: one.name, private: one.private })
                return
              }
              case 'rename': {
                const { status } = await asRoot('PATCH', path!, { name: one.name })
                if (status === 200) repository!.name = one.name
                return
              }
              case 'turn':
                await asRoot('PATCH', path!, { private: one.private })
                repository!.private = one.private
                return
              case 'delete':
                await allot.as(allot.root, 'DELETE', path!)
                known.splice(one.at, 1)
                return
              case 'hide':
                await allot.allot.hosting.accounts.edit(people[one.owner]!.id, { visibility: one.visibility })
                users[one.owner]!.visibility = one.visibility
                return
              case 'call':
                await allot.allot.hosting.accounts.edit(people[one.owner]!.id, { fullName: one.fullName })
                users[one.owner]!.fullName = one.fullName
            }
          }
          for (const one of steps) await take(one)

          const viewers: (Person | undefined)[] = [undefined, ...people, allot.root]
          const sees = (viewer: Person | undefined, owner: number, hidden: boolean) => {
            if (viewer === allot.root || viewer === people[owner]) return true
            const { visibility } = users[owner]!
            return !hidden && (visibility === 'public' || (visibility === 'limited' && viewer !== undefined))
          }
          for (const [index, viewer] of viewers.entries())
            for (const one of words) {
              const what = `viewer ${index}, word ${one}`
              const q = encodeURIComponent(one)
              const has = (text: string) => text.toLowerCase().includes(one.toLowerCase())
              const found = await allot.as(viewer, 'GET', `/repos/search?limit=1000&q=${q}`)
              const names = (list: { name: string; owner: { login: string } }[]) =>
                list.map((repository) => `${repository.owner.login}/${repository.name}`)
              const expected = known
                .filter(
                  (repository) => sees(viewer, repository.owner, repository.private) && has(repository.name),
                )
                .map((repository) => `${people[repository.owner]!.name}/${repository.name}`)
              assert.deepEqual(names(found.body.data).sort(), expected.sort(), what)
              assert.equal(found.headers.get('x-total-count'), String(expected.length), what)
              const paged = await allot.as(viewer, 'GET', `/repos/search?limit=2&page=2&q=${q}`)
              assert.deepEqual(names(paged.body.data), names(found.body.data.slice(2, 4)), what)
              assert.equal(paged.headers.get('x-total-count'), String(expected.length), what)

              const logins = await allot.as(viewer, 'GET', `/users/search?limit=1000&q=${q}`)
              const visible = users.filter(
                ({ login, fullName }, owner) => sees(viewer, owner, false) && (has(login) || has(fullName)),
              )
              const others = has('root') ? ['root'] : []
              assert.deepEqual(
                logins.body.map((user: { login: string }) => user.login),
                [...visible.map(({ login }) => login), ...others].sort(),
                what,
              )
              assert.equal(logins.headers.get('x-total-count'), String(visible.length + others.length), what)
            }
        } finally {
          await allot.stop()
        }
      },
    )
    await fc.assert(property, { numRuns: times(8, 25) })
  })
})
