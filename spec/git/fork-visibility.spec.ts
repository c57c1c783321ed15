import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { assertError } from '../support/expectations.ts'
import { type Person, peopleBefore, startBefore } from '../support/test-server.ts'
import { waitFor } from '../support/wait-for.ts'

const allot = startBefore()
const [stranger] = peopleBefore(allot, 'stranger')

const change: typeof allot.done = (...sent) => allot.done(...sent)

const setVisibility = (account: Person, visibility: string) =>
  change(allot.root, 'PATCH', `/admin/users/${account.name}`, { visibility })

/** A repository, its fork, and a fork of the fork, each of another user. */
const aChain = async () => {
  const owners = [await allot.person(), await allot.person(), await allot.person()] as const
  const [first, second, third] = owners
  await change(first, 'POST', '/user/repos', { name: 'app', auto_init: true })
  await change(second, 'POST', `/repos/${first.name}/app/forks`, {})
  await change(third, 'POST', `/repos/${second.name}/app/forks`, {})
  return { owners, paths: owners.map(({ name }) => `/repos/${name}/app`) }
}

const statusOf = async (who: Person | undefined, path: string) => (await allot.as(who, 'GET', path)).status

/** Whether nobody who cannot read the first of the repositories can read another one of them. */
const isHidden = async (paths: readonly string[], readers: readonly (Person | undefined)[]) => {
  const statuses = await Promise.all(readers.flatMap((who) => paths.map((path) => statusOf(who, path))))
  return statuses.every((status) => status === 404)
}

const NARROWING: [what: string, readers: 'all' | 'anonymous', narrow: (owner: Person) => Promise<unknown>][] =
  [
    [
      'it becomes private',
      'all',
      (owner) => change(owner, 'PATCH', `/repos/${owner.name}/app`, { private: true }),
    ],
    ['its owner becomes private', 'all', (owner) => setVisibility(owner, 'private')],
    ['its owner becomes limited', 'anonymous', (owner) => setVisibility(owner, 'limited')],
    [
      'it is transferred to a limited organization',
      'anonymous',
      async (owner) => {
        const username = `limited-${owner.name}`
        await change(owner, 'POST', '/orgs', { username, visibility: 'limited' })
        await change(owner, 'POST', `/repos/${owner.name}/app/transfer`, { new_owner: username })
      },
    ],
  ]

describe('The forks of a repository, and their forks', () => {
  for (const [what, readers, narrow] of NARROWING)
    it(`become private when ${what}`, async () => {
      const { owners, paths } = await aChain()
      await narrow(owners[0])
      await waitFor(() => isHidden(paths, readers === 'all' ? [undefined, stranger] : [undefined]))
      for (const [index, owner] of owners.slice(1).entries()) {
        const fork = await change(owner, 'GET', paths[index + 1]!)
        assert.equal(fork.private, true)
        const { body } = await allot.as(owner, 'GET', '/user/quota')
        assert.deepEqual([body.used.size.repos.public, body.used.size.repos.private > 0], [0, true])
      }
    })

  it('stay private when it becomes public again, and their owners can make them public, from the first on', async () => {
    const { owners, paths } = await aChain()
    const [first, second, third] = owners
    await change(first, 'PATCH', paths[0]!, { private: true })
    await waitFor(() => isHidden(paths, [undefined]))
    const refused = /^private: a fork is never visible to more people than its parent$/
    assertError(await allot.as(second, 'PATCH', paths[1]!, { private: false }), 422, refused)
    await change(first, 'PATCH', paths[0]!, { private: false })
    assert.equal(await statusOf(undefined, paths[1]!), 404)
    assertError(await allot.as(third, 'PATCH', paths[2]!, { private: false }), 422, refused)
    await change(second, 'PATCH', paths[1]!, { private: false })
    await change(third, 'PATCH', paths[2]!, { private: false })
    assert.equal(await statusOf(undefined, paths[2]!), 200)
  })

  it('are free of it when it is deleted', async () => {
    const { owners, paths } = await aChain()
    await change(owners[0], 'PATCH', paths[0]!, { private: true })
    await change(owners[0], 'DELETE', paths[0]!)
    await change(owners[1], 'PATCH', paths[1]!, { private: false })
    assert.equal(await statusOf(undefined, paths[1]!), 200)
  })
})

describe('A fork of a repository of a limited account', () => {
  /** The fork is visible to every signed-in user, as its parent is. */
  const limitedFork = async () => {
    const [source, owner] = [await allot.person(), await allot.person()]
    for (const one of [source, owner]) await setVisibility(one, 'limited')
    await change(source, 'POST', '/user/repos', { name: 'app', auto_init: true })
    const fork = await change(owner, 'POST', `/repos/${source.name}/app/forks`, {})
    assert.equal(fork.private, false)
    assert.equal(await statusOf(stranger, `/repos/${fork.full_name}`), 200)
    return { owner, path: `/repos/${fork.full_name}` }
  }

  it('becomes private when its owner becomes public', async () => {
    const { owner, path } = await limitedFork()
    await setVisibility(owner, 'public')
    assert.equal(await statusOf(undefined, path), 404)
    assert.equal((await change(owner, 'GET', path)).private, true)
  })

  it('becomes private when it is transferred to a public account, in the same write', async () => {
    const { owner, path } = await limitedFork()
    const username = `open-${owner.name}`
    await change(owner, 'POST', '/orgs', { username })
    const moved = await change(owner, 'POST', `${path}/transfer`, { new_owner: username })
    assert.equal(moved.private, true)
    assert.equal(await statusOf(undefined, `/repos/${username}/app`), 404)
  })
})
