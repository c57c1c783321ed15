import { describe, it } from 'node:test'
import { assertError, assertList, assertNoContent, assertNotFound } from '../support/expectations.ts'
import { type Person, startBefore } from '../support/test-server.ts'

const allot = startBefore()

const as = (person: Person | undefined, method: string, path: string) =>
  allot.request(method, path, person ? { token: person.token } : {})

describe('GET /users/:username/followers and /users/{username}/following/:target', () => {
  it('accept a name with and without the colon', async () => {
    const [alice, bob] = [await allot.person(), await allot.person()]
    await as(alice, 'PUT', `/user/following/${bob.name}`)
    for (const name of [bob.name, `:${bob.name}`, `%3A${bob.name}`]) {
      assertList(await as(undefined, 'GET', `/users/${name}/followers`), 'login', [alice.name])
      assertNoContent(await as(undefined, 'GET', `/users/${alice.name}/following/${name}`))
    }
    assertList(await as(undefined, 'GET', `/users/${alice.name}/following`), 'login', [bob.name])
    assertNotFound(await as(undefined, 'GET', `/users/${bob.name}/following/:${alice.name}`))
    assertNotFound(await as(undefined, 'GET', '/users/:nobody-here/followers'))
    assertNotFound(await as(undefined, 'GET', `/users/${bob.name}/following/:nobody-here`))
    assertNotFound(await as(undefined, 'GET', '/users/nobody-here/following'))
  })

  it('take the placeholder itself for the caller, and answer 401 to it without credentials', async () => {
    const [alice, bob] = [await allot.person(), await allot.person()]
    await as(alice, 'PUT', `/user/following/${bob.name}`)
    assertList(await as(bob, 'GET', '/users/:username/followers'), 'login', [alice.name])
    assertNoContent(await as(bob, 'GET', `/users/${alice.name}/following/:target`))
    assertNotFound(await as(alice, 'GET', `/users/${bob.name}/following/:target`))
    assertError(await as(undefined, 'GET', '/users/:username/followers'), 401)
    assertError(await as(undefined, 'GET', `/users/${alice.name}/following/:target`), 401)
  })
})

describe('Private and limited accounts', () => {
  it('can be unfollowed by a user who followed them before', async () => {
    const [alice, shy] = [await allot.person(), await allot.person()]
    await as(alice, 'PUT', `/user/following/${shy.name}`)
    await allot.allot.hosting.accounts.edit(shy.id, { visibility: 'private' })
    assertList(await as(alice, 'GET', '/user/following'), 'login', [])
    assertNoContent(await as(alice, 'DELETE', `/user/following/${shy.name}`))
    assertNotFound(await as(alice, 'DELETE', `/user/following/${shy.name}`))
  })
})
