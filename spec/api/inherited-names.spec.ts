import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { before, describe, it } from 'node:test'
import fc from 'fast-check'
import * as v from 'valibot'
import { readConfig, readPlan } from '../../bin/config/config.ts'
import { recordOf } from '../../lib/http/index.ts'
import { assertError, assertNoContent, assertNotFound } from '../support/expectations.ts'
import { temporaryDirectory } from '../support/folder.ts'
import { type Person, startBefore } from '../support/test-server.ts'

/** Names that a plain object inherits, or that libraries drop from objects. */
const INHERITED = [...Object.getOwnPropertyNames(Object.prototype), 'prototype']

const isAccountName = (name: string) => /^[a-z]/i.test(name)

const people = new Map<string, Person>()
const allot = startBefore({ repositories: false })
before(async () => {
  for (const name of ['alice', ...INHERITED.filter(isAccountName)]) people.set(name, await allot.person(name))
  for (const name of ['free', ...INHERITED]) {
    const rule = { name, limit: 5, subjects: ['size:all'] }
    await asRoot('POST', '/admin/quota/rules', rule, 201)
    await asRoot('POST', '/admin/quota/groups', { name, rules: [rule] }, 201)
  }
})

const asRoot = async (method: string, path: string, body: unknown, status: number) => {
  const answer = await allot.as(allot.root, method, path, body)
  assert.equal(answer.status, status, `${method} ${path}: ${answer.text}`)
  return answer
}

describe('recordOf', () => {
  it('keeps members of every name, in an object without a prototype', () => {
    const name = fc.oneof(fc.constantFrom(...INHERITED), fc.string())
    fc.assert(
      fc.property(fc.uniqueArray(name), (names) => {
        const input = JSON.parse(`{${names.map((one, at) => `${JSON.stringify(one)}:[${at}]`)}}`)
        const output = v.parse(recordOf(v.array(v.number())), input)
        assert.equal(Object.getPrototypeOf(output), null)
        assert.deepEqual(new Map(Object.entries(output)), new Map(Object.entries(input)))
      }),
    )
  })

  it('names the member that is not valid', () => {
    for (const name of INHERITED) {
      const { issues } = v.safeParse(recordOf(v.number()), JSON.parse(`{${JSON.stringify(name)}:"x"}`))
      assert.equal(issues && v.getDotPath(issues[0]), name)
    }
    for (const input of [undefined, null, 5, 'x'])
      assert.ok(!v.safeParse(recordOf(v.number()), input).success)
  })
})

describe('A quota plan', () => {
  const owners = () => [...people.keys()]
  const groupsOf = async (owner: string) => [...(await allot.allot.quota.groups.assignedTo(owner))].sort()

  it('assigns groups to owners of any name, and prune keeps the groups of owners that the plan names', async () => {
    const group = fc.constantFrom('free', ...INHERITED)
    await fc.assert(
      fc.asyncProperty(
        fc.array(
          fc.tuple(fc.constantFrom(...owners()), fc.uniqueArray(group, { minLength: 1, maxLength: 3 })),
        ),
        fc.boolean(),
        async (pairs, inProcess) => {
          const wanted = new Map(pairs)
          const assignments = [...wanted].map(
            ([name, groups]) => `${JSON.stringify(name)}:${JSON.stringify(groups)}`,
          )
          const kept = ['free', ...INHERITED].map((name) => ({ name, rules: [name] }))
          const rules = kept.map(({ name }) => ({ name, limit: 5, subjects: ['size:all' as const] }))
          const plan = { rules, groups: kept, prune: true }
          const text = `${JSON.stringify(plan).slice(0, -1)},"assignments":{${assignments}}}`
          if (inProcess) await allot.allot.quota.apply(JSON.parse(text))
          else
            assert.equal(
              (await allot.as(allot.root, 'POST', '/admin/quota/apply', JSON.parse(text))).status,
              200,
            )
          for (const owner of owners())
            assert.deepEqual(await groupsOf(owner), [...(wanted.get(owner) ?? [])].sort(), owner)
        },
      ),
      { numRuns: 25 },
    )
  })

  it('is refused when it names an owner who does not exist, for every name', async () => {
    for (const name of ['__proto__', '__defineGetter__', 'nosuch'])
      for (const path of ['/admin/quota/apply', '/admin/quota/simulate']) {
        const body = `{"assignments":{"${name}":["free"]}}`
        const headers = { 'content-type': 'application/json' }
        const answer = await allot.request('POST', path, { token: allot.root.token, body, headers })
        assertError(answer, 422, new RegExp(`no user or organization named ${name}`))
      }
  })

  it('changes the groups of an owner with such a name, and reports the change', async () => {
    await asRoot('POST', '/admin/quota/apply', { assignments: { constructor: ['free'] } }, 200)
    assert.deepEqual(await groupsOf('constructor'), ['free'])
    const { body } = await asRoot('POST', '/admin/quota/apply', { assignments: { constructor: [] } }, 200)
    assert.deepEqual(
      body.map(({ kind, name }: { kind: string; name: string }) => [kind, name]),
      [['assignment', 'constructor']],
    )
  })
})

describe('A name that objects inherit', () => {
  for (const name of INHERITED)
    it(`${name} is a name like any other of rules, groups, tokens, ledger keys, repositories and tags`, async () => {
      const [{ token }, path] = [people.get('alice')!, encodeURIComponent(name)]
      assert.equal((await asRoot('GET', `/admin/quota/rules/${path}`, undefined, 200)).body.name, name)
      assert.equal((await asRoot('GET', `/admin/quota/groups/${path}`, undefined, 200)).body.name, name)
      const ask = (method: string, at: string, body?: unknown) =>
        allot.request(method, at, { token, ...(body === undefined ? {} : { body }) })
      assert.equal((await ask('POST', '/users/alice/tokens', { name, scopes: ['read:user'] })).status, 201)
      assertNoContent(await ask('DELETE', `/users/alice/tokens/${path}`))
      assert.equal((await ask('POST', '/user/repos', { name })).status, 201)
      assert.equal((await ask('GET', `/repos/alice/${path}`)).body.name, name)
      const { body } = await ask('GET', `/repos/search?q=${path}`)
      assert.ok(body.data.some((one: { name: string }) => one.name === name))
      assert.equal((await ask('POST', `/repos/alice/${path}/releases`, { tag_name: name })).status, 201)
      assert.equal((await ask('GET', `/repos/alice/${path}/releases/tags/${path}`)).body.tag_name, name)
      const entry = { repository: `alice/${name}`, name, size: 1, run: 1 }
      assert.equal((await asRoot('PUT', `/admin/ledger/artifacts/${path}`, entry, 201)).body.key, name)
      assert.equal((await asRoot('GET', `/admin/ledger/artifacts/${path}`, undefined, 200)).body.name, name)
      await asRoot('GET', `/admin/ledger/${path}/x`, undefined, 404)
      for (const query of [`${path}=1`, `order_by=${path}`])
        assert.ok([200, 422].includes((await ask('GET', `/user/repos?${query}`)).status))
      assertError(await ask('GET', `/user/quota/check?subject=${path}`), 422)
      assertNotFound(await ask('GET', `/repos/nosuch/${path}/subscription`))
    })
})

describe('A file', () => {
  const file = join(temporaryDirectory(), 'file.toml')
  const written = (text: string): string => {
    writeFileSync(file, text)
    return file
  }

  it('of quota assigns groups to owners of such names', () => {
    for (const name of INHERITED) {
      const { assignments } = readPlan(written(`[assignments]\n${name} = ["free"]\n`))
      assert.deepEqual(Object.entries(assignments), [[name, ['free']]])
    }
  })

  it('of configuration is refused when it has an option of such a name', () => {
    for (const name of INHERITED)
      for (const section of ['', '[quota]\n'])
        assert.throws(() => readConfig(written(`${section}${name} = 1\n`)), /there is no such option/)
  })
})
