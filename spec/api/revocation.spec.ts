import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { memory } from '../../drivers/memory/index.ts'
import type { StorageDriver } from '../../lib/index.ts'
import { assertError } from '../support/expectations.ts'
import { times } from '../support/long.ts'
import { seededRandom } from '../support/seed.ts'
import { type Answer, basic, madeBefore, type Person, start } from '../support/test-server.ts'
import { waitFor } from '../support/wait-for.ts'

/** A driver whose reads arrive late, so that their values may be stale. */
const distant = (): StorageDriver => {
  const real = memory()
  return {
    ...real,
    async read(work) {
      const found = await real.read(work)
      await sleep(random() * 4)
      return found
    },
  }
}

const random = seededRandom()

let isOver = false
let changing: Promise<void>
const allot = madeBefore(() => start({ repositories: false, driver: distant() }))
before(async () => {
  const other = await allot.person('other')
  changing = busy(other.id)
})
after(async () => {
  isOver = true
  await changing
  await allot.stop()
})

/** An account that changes all the time, which keeps invalidating the memoized identities. */
const busy = async (id: number) => {
  while (!isOver) {
    await allot.allot.hosting.accounts.edit(id, { location: `${random()}` })
    await sleep(2)
  }
}

const PASSWORD = 'a long password'
const [ROUNDS, READERS] = [times(2, 6), 8]

interface Race {
  /** The request that is repeated, and succeeds until the revocation. */
  read: () => Promise<Answer>
  /** Revokes the right over HTTP. */
  revoke: () => Promise<Answer>
}

/** Repeats a request before, during and after a revocation. */
const raced = async ({ read, revoke }: Race) => {
  const answers: { began: number; status: number }[] = []
  let isDone = false
  let hasFailed = false
  const readers = Array.from({ length: READERS }, async () => {
    while (!isDone) {
      const began = performance.now()
      const { status } = await read().catch((error) => {
        hasFailed = true
        throw error
      })
      answers.push({ began, status })
    }
  })
  const enough = async (count: number) => {
    const wanted = answers.length + count
    await waitFor(() => answers.length >= wanted || hasFailed)
  }
  await enough(READERS)
  const { status, text } = await revoke()
  const revoked = performance.now()
  assert.ok(status < 300, text)
  await enough(3 * READERS)
  isDone = true
  await Promise.all(readers)
  return {
    before: answers.filter(({ began }) => began < revoked),
    after: answers.filter(({ began }) => began >= revoked),
  }
}

const asRoot = (method: string, path: string, body?: unknown) => allot.as(allot.root, method, path, body)
const signedIn = ({ name }: Person) => allot.request('GET', '/user', { headers: basic(name, PASSWORD) })

const RACES: [what: string, refusal: number, prepare: (person: Person) => Race][] = [
  [
    'a token that is revoked',
    401,
    (person) => ({
      read: () => allot.as(person, 'GET', '/user'),
      revoke: () => allot.as(person, 'DELETE', `/users/${person.name}/tokens/spec`),
    }),
  ],
  [
    'the token of a user who is deleted',
    401,
    (person) => ({
      read: () => allot.as(person, 'GET', '/user'),
      revoke: () => asRoot('DELETE', `/admin/users/${person.name}`),
    }),
  ],
  [
    'the token of a user who may not sign in any more',
    403,
    (person) => ({
      read: () => allot.as(person, 'GET', '/user'),
      revoke: () => asRoot('PATCH', `/admin/users/${person.name}`, { active: false }),
    }),
  ],
  [
    'the token of a former administrator',
    403,
    (person) => ({
      read: () => allot.as(person, 'GET', '/admin/users'),
      revoke: () => asRoot('PATCH', `/admin/users/${person.name}`, { admin: false }),
    }),
  ],
  [
    'a password that is changed',
    401,
    (person) => ({
      read: () => signedIn(person),
      revoke: () => asRoot('PATCH', `/admin/users/${person.name}`, { password: 'another password' }),
    }),
  ],
  [
    'the password of a user who is deleted',
    401,
    (person) => ({
      read: () => signedIn(person),
      revoke: () => asRoot('DELETE', `/admin/users/${person.name}`),
    }),
  ],
  [
    'the membership that shows a private repository',
    404,
    (person) => ({
      read: () => allot.as(person, 'GET', `/repos/of-${person.name}/secret`),
      revoke: () => asRoot('DELETE', `/orgs/of-${person.name}/members/${person.name}`),
    }),
  ],
]

describe('A request that begins after the revocation was acknowledged is refused to', () => {
  for (const [what, refusal, prepare] of RACES)
    it(what, async () => {
      for (let round = 0; round < ROUNDS; round++) {
        // A new name in each round, because failed logins are counted by name.
        const person = await allot.person(undefined, {
          admin: what.includes('administrator'),
          ...(what.includes('password') ? { password: PASSWORD } : {}),
        })
        if (what.includes('membership')) await withSecret(person)
        const race = prepare(person)
        const { before, after } = await raced(race)
        assert.ok(before.some(({ status }) => status === 200))
        const wrong = after.filter(({ status }) => status !== refusal && status !== 429)
        assert.deepEqual(wrong, [], `round ${round}`)
        if (what.includes('password')) break
      }
    })
})

/** An organization with a private repository, of which the person is a member. */
const withSecret = async ({ name }: Person) => {
  const organization = `of-${name}`
  await asRoot('POST', '/orgs', { username: organization })
  await asRoot('POST', `/orgs/${organization}/repos`, { name: 'secret', private: true })
  assert.equal((await asRoot('PUT', `/orgs/${organization}/members/${name}`)).status, 204)
}

describe('A token', () => {
  it('of a deleted user is not valid for a later user of the same name', async () => {
    const first = await allot.person('recycled')
    await asRoot('DELETE', '/admin/users/recycled')
    await allot.person('recycled')
    assertError(await allot.as(first, 'GET', '/user'), 401)
  })

  it('that is created again with fewer scopes has only these', async () => {
    const person = await allot.person()
    const make = (scopes: string[]) =>
      allot.allot.hosting.tokens.create(person.id, 'same name', scopes).then(({ secret }) => secret)
    const wide = await make(['all'])
    assert.equal((await allot.request('GET', '/user', { token: wide })).status, 200)
    await allot.as(person, 'DELETE', `/users/${person.name}/tokens/same%20name`)
    const narrow = await make(['read:misc'])
    assertError(await allot.request('GET', '/user', { token: wide }), 401)
    assertError(await allot.request('GET', '/user', { token: narrow }), 403)
  })
})
