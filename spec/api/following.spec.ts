import { describe, it } from 'node:test'
import { assertError, assertList, assertNoContent, assertNotFound } from '../support/expectations.ts'
import { type Person, startBefore } from '../support/test-server.ts'

const allot = startBefore()

const as = (person: Person | undefined, method: string, path: string) =>
  allot.request(method, path, person ? { token: person.token } : {})

describe('/user/following/{username}', () => {
  it('PUT follows, GET answers 204 while the viewer follows, and DELETE ends it; each may be repeated', async () => {
    const [alice, bob] = [await allot.person(), await allot.person()]
    const path = `/user/following/${bob.name}`
    assertNotFound(await as(alice, 'GET', path))
    for (const _ of [1, 2]) assertNoContent(await as(alice, 'PUT', path))
    assertNoContent(await as(alice, 'GET', path))
    assertList(await as(alice, 'GET', '/user/following'), 'login', [bob.name])
    assertList(await as(bob, 'GET', '/user/followers'), 'login', [alice.name])
    for (const _ of [1, 2]) assertNoContent(await as(alice, 'DELETE', path))
    assertNotFound(await as(alice, 'GET', path))
    assertList(await as(alice, 'GET', '/user/following'), 'login', [])
  })

  it('compares names without case', async () => {
    const [alice, bob] = [await allot.person(), await allot.person('MixedCase')]
    assertNoContent(await as(alice, 'PUT', '/user/following/mIXEDcASE'))
    assertList(await as(bob, 'GET', '/user/followers'), 'login', [alice.name])
  })

  it('accepts the name of an organization', async () => {
    const alice = await allot.person()
    await allot.allot.hosting.organizations.create(alice.id, { name: 'followed-org' })
    assertNoContent(await as(alice, 'PUT', '/user/following/followed-org'))
    assertList(await as(alice, 'GET', '/user/following'), 'login', ['followed-org'])
  })

  it("to the caller's own account is refused", async () => {
    const alice = await allot.person()
    assertError(await as(alice, 'PUT', `/user/following/${alice.name}`), 422, /you cannot follow yourself/)
    assertNotFound(await as(alice, 'GET', `/user/following/${alice.name}`))
  })

  for (const method of ['GET', 'PUT', 'DELETE'])
    for (const name of ['nobody-here', '__proto__', '%00', 'a%2Fb', '..%2Froot', 'x'.repeat(300)])
      it(`${method} answers 404 for the user ${name.slice(0, 20)}, who does not exist`, async () => {
        assertNotFound(await as(await allot.person(), method, `/user/following/${name}`))
      })

  it('answers 400 for a name with a broken percent-encoding', async () => {
    assertError(await as(allot.root, 'GET', '/user/following/%zz'), 400, /encoded/)
  })
})

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
  it('are in no list and no total that a viewer without access gets', async () => {
    const [alice, shy, member] = [await allot.person(), await allot.person(), await allot.person()]
    await as(shy, 'PUT', `/user/following/${alice.name}`)
    await as(member, 'PUT', `/user/following/${alice.name}`)
    await allot.allot.hosting.accounts.edit(shy.id, { visibility: 'private' })
    await allot.allot.hosting.accounts.edit(member.id, { visibility: 'limited' })
    const path = `/users/${alice.name}/followers`
    assertList(await as(undefined, 'GET', path), 'login', [])
    assertList(await as(alice, 'GET', path), 'login', [member.name])
    assertList(await as(shy, 'GET', path), 'login', [shy.name, member.name])
    assertList(await as(allot.root, 'GET', path), 'login', [shy.name, member.name])
    assertNotFound(await as(alice, 'GET', `/users/${shy.name}/following`))
    assertNotFound(await as(alice, 'PUT', `/user/following/${shy.name}`))
    assertNotFound(await as(undefined, 'GET', `/users/${member.name}`))
  })

  it('can be unfollowed by a user who followed them before', async () => {
    const [alice, shy] = [await allot.person(), await allot.person()]
    await as(alice, 'PUT', `/user/following/${shy.name}`)
    await allot.allot.hosting.accounts.edit(shy.id, { visibility: 'private' })
    assertList(await as(alice, 'GET', '/user/following'), 'login', [])
    assertNoContent(await as(alice, 'DELETE', `/user/following/${shy.name}`))
    assertNotFound(await as(alice, 'DELETE', `/user/following/${shy.name}`))
  })
})
