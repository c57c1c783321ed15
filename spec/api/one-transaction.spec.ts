import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { memory } from '../../drivers/memory/index.ts'
import type { StorageDriver } from '../../lib/index.ts'
import { assertError, assertList, assertNotFound } from '../support/expectations.ts'
import { type Answer, madeBefore, type Person, start } from '../support/test-server.ts'

type Step = () => Promise<unknown>

/**
 * A driver that runs a callback just before the next write, or just after the next read of a range, such as a
 * list.
 */
const interrupted = () => {
  const real = memory()
  const armed: { write?: Step | undefined; read?: Step | undefined } = {}
  const take = async (call: keyof typeof armed) => {
    const step = armed[call]
    armed[call] = undefined
    await step?.()
  }
  const driver: StorageDriver = {
    ...real,
    async write(work) {
      await take('write')
      return real.write(work)
    },
    async read(work) {
      let isList = false
      const found = await real.read((tx) =>
        work({
          get: (key) => tx.get(key),
          getMany: (keys) => tx.getMany(keys),
          range(range) {
            isList = true
            return tx.range(range)
          },
        }),
      )
      if (isList) await take('read')
      return found
    },
  }
  return { driver, armed }
}

const { driver, armed } = interrupted()
const allot = madeBefore(() => start({ driver, repositories: false }))

const asRoot = async (method: string, path: string, body?: unknown) => {
  const answer = await allot.as(allot.root, method, path, body)
  assert.ok(answer.status < 300, `${method} ${path}: ${answer.text}`)
  return answer
}

/** An organization with a repository and two owners. */
const team = async () => {
  const [lost, other] = [await allot.person(), await allot.person()]
  const org = `team-${lost.name}`
  await allot.as(lost, 'POST', '/orgs', { username: org })
  await asRoot('PUT', `/orgs/${org}/members/${other.name}`, { role: 'owner' })
  await allot.as(lost, 'POST', `/orgs/${org}/repos`, { name: 'demo' })
  return { lost, other, org }
}

/** Sends a request, and demotes or removes the member before its write. */
const meanwhile = async (step: Step, ask: () => Promise<Answer>): Promise<Answer> => {
  let happened = false
  armed.write = async () => {
    await step()
    happened = true
  }
  const answer = await ask()
  assert.ok(happened, 'nothing was written')
  return answer
}

interface Team {
  lost: Person
  other: Person
  org: string
}

const OWNERS: [what: string, ask: (team: Team) => Promise<Answer>][] = [
  [
    'change a repository',
    ({ lost, org }) => allot.as(lost, 'PATCH', `/repos/${org}/demo`, { description: 'by lost' }),
  ],
  ['delete a repository', ({ lost, org }) => allot.as(lost, 'DELETE', `/repos/${org}/demo`)],
  [
    'give a repository away',
    ({ lost, org }) => allot.as(lost, 'POST', `/repos/${org}/demo/transfer`, { new_owner: lost.name }),
  ],
  ['delete the organization', ({ lost, org }) => allot.as(lost, 'DELETE', `/orgs/${org}?purge=true`)],
  ['add a member', ({ lost, org }) => allot.as(lost, 'PUT', `/orgs/${org}/members/root`)],
  [
    'take out a member',
    ({ lost, other, org }) => allot.as(lost, 'DELETE', `/orgs/${org}/members/${other.name}`),
  ],
]

describe('A user who loses a right during a request', () => {
  for (const [what, ask] of OWNERS)
    it(`can no longer ${what}`, async () => {
      const made = await team()
      const { lost, other, org } = made
      const demote = () => asRoot('PUT', `/orgs/${org}/members/${lost.name}`, { role: 'member' })
      assertError(await meanwhile(demote, () => ask(made)), 403)
      const { body } = await asRoot('GET', `/repos/${org}/demo`)
      assert.deepEqual([body.description, body.owner.login], ['', org])
      await asRoot('GET', `/orgs/${org}/members/${other.name}`)
      assertNotFound(await allot.as(allot.root, 'GET', `/orgs/${org}/members/root`))
    })

  it('can no longer create a repository in the organization', async () => {
    const { lost, org } = await team()
    const dismiss = () => asRoot('DELETE', `/orgs/${org}/members/${lost.name}`)
    const ask = () => allot.as(lost, 'POST', `/orgs/${org}/repos`, { name: 'late' })
    assertError(await meanwhile(dismiss, ask), 403, /you may not create repositories in/)
    assertList(await asRoot('GET', `/orgs/${org}/repos`), 'name', ['demo'])
  })

  it('can no longer move a repository to the organization, and offers it', async () => {
    const { lost, org } = await team()
    await allot.as(lost, 'POST', '/user/repos', { name: 'gift' })
    const demote = () => asRoot('PUT', `/orgs/${org}/members/${lost.name}`, { role: 'member' })
    const ask = () => allot.as(lost, 'POST', `/repos/${lost.name}/gift/transfer`, { new_owner: org })
    const offered = await meanwhile(demote, ask)
    assert.deepEqual([offered.status, offered.body.owner.login], [201, lost.name])
    assert.equal((await asRoot('GET', `/repos/${lost.name}/gift`)).body.owner.login, lost.name)
  })

  it('changes nothing of the account that has the name by then', async () => {
    const { lost, org } = await team()
    const rename = async () => {
      await asRoot('PATCH', `/repos/${org}/demo`, { name: 'renamed' })
      await asRoot('POST', `/orgs/${org}/repos`, { name: 'demo', private: true })
    }
    const ask = () => allot.as(lost, 'PATCH', `/repos/${org}/demo`, { description: 'by lost' })
    assert.equal((await meanwhile(rename, ask)).status, 200)
    assert.equal((await asRoot('GET', `/repos/${org}/renamed`)).body.description, '')
    assert.equal((await asRoot('GET', `/repos/${org}/demo`)).body.description, 'by lost')
  })
})

describe('A quota group', () => {
  for (const [what, ask] of [
    ['assigned to', (name: string) => allot.as(allot.root, 'PUT', `/admin/quota/groups/late/users/${name}`)],
    [
      'set for',
      (name: string) =>
        allot.as(allot.root, 'POST', `/admin/users/${name}/quota/groups`, { groups: ['late'] }),
    ],
  ] as const)
    it(`is not ${what} an account that is deleted during the request`, async () => {
      await allot.as(allot.root, 'POST', '/admin/quota/groups', { name: 'late' })
      const { name } = await allot.person()
      const answer = await meanwhile(
        () => asRoot('DELETE', `/admin/users/${name}`),
        () => ask(name),
      )
      assertNotFound(answer)
      assertList(await asRoot('GET', '/admin/quota/groups/late/users'), 'login', [])
    })
})

describe('A list of what counts toward quota', () => {
  it('has the names and the total of one snapshot', async () => {
    const person = await allot.person()
    await allot.as(person, 'POST', '/user/repos', { name: 'demo' })
    const put = { kind: 'artifacts', key: person.name, name: 'a', size: 1, run: 1 } as const
    await allot.allot.ledger.put({ ...put, repository: `${person.name}/demo` })
    await allot.as(person, 'GET', '/user')
    let happened = false
    armed.read = async () => {
      await asRoot('DELETE', `/repos/${person.name}/demo`)
      happened = true
    }
    const { body, headers } = await allot.as(person, 'GET', '/user/quota/artifacts')
    assert.ok(happened)
    assert.equal(headers.get('x-total-count'), '1')
    assert.match(body[0].html_url, /\/demo\/actions\/runs\/1$/)
    assertList(await allot.as(person, 'GET', '/user/quota/artifacts'), 'name', [])
  })
})
