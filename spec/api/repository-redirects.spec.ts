import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { attempt, git, helperFor } from '../git/client.ts'
import { assertNotFound } from '../support/expectations.ts'
import { temporaryDirectory } from '../support/folder.ts'
import { type Person, startBefore } from '../support/test-server.ts'

const allot = startBefore()

const make = async (owner: Person, name: string, more = {}): Promise<number> =>
  (await allot.as(owner, 'POST', '/user/repos', { name, ...more })).body.id

const rename = async (owner: Person, from: string, to: string): Promise<void> => {
  const { status } = await allot.as(owner, 'PATCH', `/repos/${owner.name}/${from}`, { name: to })
  assert.equal(status, 200)
}

const assertMoved = async (
  viewer: Person | undefined,
  method: string,
  path: string,
  status: number,
  to: string,
): Promise<void> => {
  const answer = await allot.as(viewer, method, path)
  assert.equal(answer.status, status, `${method} ${path}`)
  assert.equal(answer.headers.get('location'), `${allot.api}${to}`)
  assert.equal(answer.text, '')
}

describe('The former name of a repository', () => {
  it('answers 301 with the path of the new name, for the repository and everything below it', async () => {
    const alice = await allot.person()
    await make(alice, 'before')
    await rename(alice, 'before', 'after')
    const [from, to] = [`${alice.name}/before`, `${alice.name}/after`]
    // Several times, since a response may come from a cache.
    for (let times = 0; times < 3; times++)
      for (const viewer of [undefined, alice])
        await assertMoved(viewer, 'GET', `/repos/${from}`, 301, `/repos/${to}`)
    await assertMoved(undefined, 'GET', `/repos/${alice.name}/BEFORE`, 301, `/repos/${to}`)
    await assertMoved(alice, 'HEAD', `/repos/${from}`, 301, `/repos/${to}`)
    await assertMoved(alice, 'GET', `/repos/${from}/subscription`, 301, `/repos/${to}/subscription`)
    const query = '?state=all&limit=2'
    await assertMoved(alice, 'GET', `/repos/${from}/issues${query}`, 301, `/repos/${to}/issues${query}`)
  })

  it('answers 301 at doubled slashes, which the router takes for one', async () => {
    const alice = await allot.person()
    await make(alice, 'before')
    await rename(alice, 'before', 'after')
    const to = `/repos/${alice.name}/after`
    for (const path of [`//repos/${alice.name}/before`, `/repos///${alice.name}//before`])
      await assertMoved(undefined, 'GET', path, 301, to)
    await assertMoved(alice, 'GET', `//repos/${alice.name}/before//issues`, 301, `${to}/issues`)
  })

  it('is not deleted by its former name', async () => {
    const alice = await allot.person()
    await make(alice, 'before')
    await rename(alice, 'before', 'after')
    assertNotFound(await allot.as(alice, 'DELETE', `/repos/${alice.name}/before`))
    assert.equal((await allot.as(alice, 'GET', `/repos/${alice.name}/after`)).status, 200)
  })

  it('answers 308 to other methods than GET, which clients then repeat unchanged', async () => {
    const alice = await allot.person()
    await make(alice, 'before')
    await rename(alice, 'before', 'after')
    const [from, to] = [`${alice.name}/before`, `${alice.name}/after`]
    await assertMoved(alice, 'PUT', `/user/starred/${from}`, 308, `/user/starred/${to}`)
    await assertMoved(alice, 'PUT', `/repos/${from}/subscription`, 308, `/repos/${to}/subscription`)
    const followed = await fetch(`${allot.api}/user/starred/${from}`, {
      method: 'PUT',
      headers: { authorization: `token ${alice.token}` },
    })
    assert.equal(followed.status, 204)
    assert.equal((await allot.as(alice, 'GET', `/user/starred/${to}`)).status, 204)
  })

  it('leads to the newest name after several changes, and to the new owner after a transfer', async () => {
    const alice = await allot.person()
    await allot.as(alice, 'POST', '/orgs', { username: `${alice.name}-org` })
    await make(alice, 'one')
    await rename(alice, 'one', 'two')
    await rename(alice, 'two', 'three')
    const moved = await allot.as(alice, 'POST', `/repos/${alice.name}/three/transfer`, {
      new_owner: `${alice.name}-org`,
    })
    assert.equal(moved.status, 202)
    for (const name of ['one', 'two', 'three'])
      await assertMoved(
        undefined,
        'GET',
        `/repos/${alice.name}/${name}`,
        301,
        `/repos/${alice.name}-org/three`,
      )
  })

  it('ends when the repository is deleted', async () => {
    const alice = await allot.person()
    await make(alice, 'before')
    await rename(alice, 'before', 'after')
    await allot.as(alice, 'DELETE', `/repos/${alice.name}/after`)
    assertNotFound(await allot.as(alice, 'GET', `/repos/${alice.name}/before`))
  })

  it('leads on for a collaborator who cannot see its owner, also from a former name of the owner', async () => {
    const [alice, bob] = [await allot.person(), await allot.person()]
    await make(alice, 'before')
    await rename(alice, 'before', 'after')
    await allot.as(alice, 'PUT', `/repos/${alice.name}/after/collaborators/${bob.name}`)
    await allot.as(allot.root, 'PATCH', `/admin/users/${alice.name}`, { visibility: 'private' })
    assertNotFound(await allot.as(bob, 'GET', `/users/${alice.name}`))
    await assertMoved(bob, 'GET', `/repos/${alice.name}/before`, 301, `/repos/${alice.name}/after`)
    const { accounts } = allot.allot
    await accounts.rename(alice.id, `${alice.name}-x`)
    for (const name of ['before', 'after'])
      await assertMoved(bob, 'GET', `/repos/${alice.name}/${name}`, 301, `/repos/${alice.name}-x/after`)
    assertNotFound(await allot.as(bob, 'GET', `/users/${alice.name}`))
  })

  it('is removed with its owner', async () => {
    const alice = await allot.person()
    await allot.as(alice, 'POST', '/orgs', { username: `${alice.name}-org` })
    await make(alice, 'gone')
    await allot.as(alice, 'POST', `/repos/${alice.name}/gone/transfer`, { new_owner: `${alice.name}-org` })
    await allot.as(allot.root, 'PUT', `/orgs/${alice.name}-org/members/root`, { role: 'owner' })
    const deleted = await allot.as(allot.root, 'DELETE', `/admin/users/${alice.name}`)
    assert.equal(deleted.status, 204)
    assertNotFound(await allot.as(allot.root, 'GET', `/repos/${alice.name}/gone`))
  })

  it('exists for the latest fifty names of a repository', async () => {
    const alice = await allot.person()
    await make(alice, 'n0')
    for (let index = 1; index <= 52; index++) await rename(alice, `n${index - 1}`, `n${index}`)
    assertNotFound(await allot.as(alice, 'GET', `/repos/${alice.name}/n0`))
    await assertMoved(alice, 'GET', `/repos/${alice.name}/n51`, 301, `/repos/${alice.name}/n52`)
  })

  it('never exists beside a repository of that name, in a random series of changes', async () => {
    const name = fc.constantFrom('a', 'b', 'c')
    const operation = fc.oneof(
      fc.record({ kind: fc.constant('make' as const), name }),
      fc.record({ kind: fc.constant('rename' as const), name, to: name }),
      fc.record({ kind: fc.constant('delete' as const), name }),
    )
    await fc.assert(
      fc.asyncProperty(fc.array(operation, { maxLength: 12 }), async (operations) => {
        const owner = await allot.person()
        const [names, former] = [new Map<string, number>(), new Map<string, number>()]
        for (const one of operations) {
          const id = names.get(one.name)
          if (one.kind === 'make' && id === undefined) {
            names.set(one.name, await make(owner, one.name))
            former.delete(one.name)
          } else if (one.kind === 'rename' && id !== undefined && !names.has(one.to)) {
            await rename(owner, one.name, one.to)
            names.delete(one.name)
            names.set(one.to, id)
            former.set(one.name, id)
            former.delete(one.to)
          } else if (one.kind === 'delete' && id !== undefined) {
            await allot.as(owner, 'DELETE', `/repos/${owner.name}/${one.name}`)
            names.delete(one.name)
            for (const [key, target] of former) if (target === id) former.delete(key)
          }
        }
        for (const key of ['a', 'b', 'c']) {
          const answer = await allot.as(owner, 'GET', `/repos/${owner.name}/${key}`)
          const expected = names.has(key) ? 200 : former.has(key) ? 301 : 404
          assert.equal(answer.status, expected, key)
          const target = [...names].find(([, id]) => id === former.get(key))?.[0]
          if (expected === 301)
            assert.equal(answer.headers.get('location'), `${allot.api}/repos/${owner.name}/${target}`)
        }
      }),
      { numRuns: 25 },
    )
  })
})

describe('git at the former name of a repository', () => {
  it('clones without credentials and pushes with them', async () => {
    const alice = await allot.person()
    await make(alice, 'before', { auto_init: true })
    await rename(alice, 'before', 'after')
    const folder = temporaryDirectory()
    await git(folder, 'clone', '-q', `${allot.base}/${alice.name}/before.git`, 'open')
    const url = new URL(`${allot.base}/${alice.name}/before.git`)
    url.username = alice.name
    url.password = alice.token
    await git(folder, 'clone', '-q', url.href, 'own')
    await git(`${folder}/own`, 'commit', '-q', '--allow-empty', '-m', 'second')
    await git(`${folder}/own`, 'push', '-q')
    await git(`${folder}/open`, 'pull', '-q')
    assert.equal(await git(`${folder}/open`, 'log', '-1', '--format=%s'), 'second')
  })

  /** Ways in which the repository `before` of a person gets another name or owner. */
  const moves: Record<string, (owner: Person) => Promise<unknown>> = {
    'its repository is renamed': (owner) => rename(owner, 'before', 'after'),
    'its repository is transferred': async (owner) => {
      await allot.as(owner, 'POST', '/orgs', { username: `${owner.name}-org` })
      const to = { new_owner: `${owner.name}-org` }
      return allot.as(owner, 'POST', `/repos/${owner.name}/before/transfer`, to)
    },
    'its owner is renamed': (owner) => allot.allot.accounts.rename(owner.id, `${owner.name}-x`),
  }
  for (const [what, move] of Object.entries(moves))
    for (const isPrivate of [false, true])
      it(`clones, fetches and pushes with a credential helper when ${what}, private: ${isPrivate}`, async () => {
        const alice = await allot.person()
        await make(alice, 'before', { auto_init: true, private: isPrivate })
        const login = ['config', 'credential.helper', helperFor({ name: 'token', token: alice.token })]
        const url = `${allot.base}/${alice.name}/before.git`
        const folder = temporaryDirectory()
        const clone = async (name: string) => {
          await git(folder, '-c', `credential.helper=${login[2]}`, 'clone', '-q', url, name)
          await git(`${folder}/${name}`, ...login)
          return `${folder}/${name}`
        }
        const old = await clone('old')
        await move(alice)
        const other = await clone('new')
        await git(old, 'commit', '-q', '--allow-empty', '-m', 'second')
        await git(old, 'push', '-q')
        await git(other, 'pull', '-q')
        assert.equal(await git(other, 'log', '-1', '--format=%s'), 'second')
      })

  it('is asked for credentials when the repository is private', async () => {
    const alice = await allot.person()
    await make(alice, 'before', { auto_init: true, private: true })
    await rename(alice, 'before', 'after')
    const { code } = await attempt(temporaryDirectory(), [
      'ls-remote',
      `${allot.base}/${alice.name}/before.git`,
    ])
    assert.notEqual(code, 0)
    const answer = await fetch(`${allot.base}/${alice.name}/before.git/info/refs?service=git-upload-pack`, {
      redirect: 'manual',
    })
    assert.equal(answer.status, 401)
  })
})

describe('The former name of an account', () => {
  const renameAccount = async (from: string, to: string): Promise<void> => {
    const { accounts } = allot.allot
    await accounts.rename((await accounts.byName(from))!.id, to)
  }
  let number = 0
  /** A user who has another name now, with the former one. */
  const renamed = async (): Promise<Person & { former: string }> => {
    const person = await allot.person()
    const name = `new-name-${++number}`
    await make(person, 'demo', { auto_init: true })
    await renameAccount(person.name, name)
    return { ...person, name, former: person.name }
  }

  it('answers 301 with the path of the new name, for users and organizations and what is below them', async () => {
    const { former, name, ...person } = await renamed()
    const user = { ...person, name }
    await allot.as(user, 'POST', '/orgs', { username: `${name}-org` })
    await renameAccount(`${name}-org`, `${name}-club`)
    for (let times = 0; times < 2; times++)
      for (const viewer of [undefined, user]) {
        await assertMoved(viewer, 'GET', `/users/${former}`, 301, `/users/${name}`)
        await assertMoved(viewer, 'GET', `//users//${former}`, 301, `/users/${name}`)
        await assertMoved(
          viewer,
          'GET',
          `/users/${former}/repos?limit=2`,
          301,
          `/users/${name}/repos?limit=2`,
        )
        await assertMoved(viewer, 'GET', `/orgs/${name}-ORG`, 301, `/orgs/${name}-club`)
        await assertMoved(viewer, 'GET', `/repos/${former}/demo/tags`, 301, `/repos/${name}/demo/tags`)
      }
    await assertMoved(user, 'PATCH', `/orgs/${name}-org`, 308, `/orgs/${name}-club`)
    await assertMoved(user, 'PUT', `/user/following/${former}`, 308, `/user/following/${name}`)
    assertNotFound(await allot.as(user, 'GET', `/repos/${former}/other`))
    assertNotFound(await allot.as(user, 'GET', `/repos/${name}/demo/issues/7`))
    const folder = temporaryDirectory()
    await git(folder, 'clone', '-q', `${allot.base}/${former}/demo.git`, 'demo')
  })

  it('is 404 for administrators and for the deletion of an account, which changes nothing', async () => {
    const { former, ...user } = await renamed()
    await allot.as(user, 'POST', '/orgs', { username: `${user.name}-org` })
    await renameAccount(`${user.name}-org`, `${user.name}-club`)
    for (const [viewer, method, path] of [
      [allot.root, 'DELETE', `/admin/users/${former}?purge=true`],
      [allot.root, 'PATCH', `/admin/users/${former}`],
      [allot.root, 'GET', `/admin/users/${former}/quota`],
      [user, 'DELETE', `/orgs/${user.name}-org`],
    ] as const)
      assertNotFound(await allot.as(viewer, method, path, method === 'PATCH' ? { active: false } : undefined))
    for (const path of [`/users/${user.name}`, `/orgs/${user.name}-club`])
      assert.equal((await allot.as(user, 'GET', path)).status, 200)
  })

  it('leads to the newest name, also of a repository that was renamed before its owner', async () => {
    const { former, ...person } = await renamed()
    await rename(person, 'demo', 'show')
    await renameAccount(person.name, `${person.name}-x`)
    for (const name of [former, person.name]) {
      await assertMoved(undefined, 'GET', `/users/${name}`, 301, `/users/${person.name}-x`)
      for (const repository of ['demo', 'show'])
        await assertMoved(
          undefined,
          'GET',
          `/repos/${name}/${repository}`,
          301,
          `/repos/${person.name}-x/show`,
        )
    }
  })

  it('ends when another account or the same one takes the name', async () => {
    const [first, second] = [await renamed(), await renamed()]
    const taken = await allot.person(first.former)
    assert.equal((await allot.as(taken, 'GET', `/users/${first.former}`)).body.login, taken.name)
    assertNotFound(await allot.as(taken, 'GET', `/repos/${first.former}/demo`))
    await allot.as(allot.root, 'DELETE', `/admin/users/${first.former}`)
    assertNotFound(await allot.as(first, 'GET', `/users/${first.former}`))
    await renameAccount(second.name, second.former)
    assert.equal((await allot.as(undefined, 'GET', `/users/${second.former}`)).status, 200)
    await assertMoved(undefined, 'GET', `/users/${second.name}`, 301, `/users/${second.former}`)
  })

  it('exists for fifty names of an account, the latest one among them, also after a change of case', async () => {
    const { name, former } = await renamed()
    const names = [former, name, ...Array.from({ length: 51 }, (_, index) => `${name}-${index}`)]
    for (let index = 2; index < names.length; index++) await renameAccount(names[index - 1]!, names[index]!)
    const newest = names.pop()!
    const statuses = new Map<string, number>()
    for (const one of names) statuses.set(one, (await allot.as(undefined, 'GET', `/users/${one}`)).status)
    assert.equal([...statuses.values()].filter((status) => status === 301).length, 50)
    await assertMoved(undefined, 'GET', `/users/${names.at(-1)}`, 301, `/users/${newest}`)
    await renameAccount(newest, newest.toUpperCase())
    for (const [one, status] of statuses)
      assert.equal((await allot.as(undefined, 'GET', `/users/${one}`)).status, status, one)
  })
})

describe('A host that renames an account', () => {
  const idOf = async (name: string): Promise<number> => (await allot.allot.accounts.byName(name))!.id

  it('is refused a malformed, reserved or taken name, and the account keeps its own', async () => {
    const { name } = await allot.person()
    const { name: other } = await allot.person()
    const refused = [
      ['a..b', /^name: only letters/],
      ['admin', /^name: admin is reserved/],
      [other.toUpperCase(), /^name: \S+ is already taken/],
    ] as const
    for (const [wanted, message] of refused)
      await assert.rejects(
        async () => allot.allot.accounts.rename(await idOf(name), wanted),
        (error: Error) => message.test(error.message),
        wanted,
      )
    assert.equal((await allot.as(undefined, 'GET', `/users/${name}`)).body.login, name)
  })

  it('does not rename it, nor makes it an organization, by editing other members', async () => {
    const { name } = await allot.person()
    const whole = { name: 'a..b', kind: 'organization', id: 999_999, fullName: 'Changed' }
    await allot.allot.accounts.edit(await idOf(name), whole)
    const { status, body } = await allot.as(undefined, 'GET', `/users/${name}`)
    assert.equal(status, 200)
    assert.deepEqual([body.login, body.full_name], [name, 'Changed'])
    const created = await allot.allot.accounts.createUser({ ...whole, name: `${name}2` })
    assert.deepEqual([created.kind, created.id === whole.id], ['user', false])
  })

  it('can change its case alone, and gets undefined for an account that does not exist', async () => {
    const { name } = await allot.person()
    const renamed = await allot.allot.accounts.rename(await idOf(name), name.toUpperCase())
    assert.equal(renamed?.name, name.toUpperCase())
    assert.equal((await allot.as(undefined, 'GET', `/users/${name}`)).body.login, name.toUpperCase())
    assert.equal(await allot.allot.accounts.rename(999_999, 'unused'), undefined)
  })
})
