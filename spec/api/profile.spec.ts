import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { assertError, assertList, assertNoContent, assertNotFound } from '../support/expectations.ts'
import { startBefore } from '../support/test-server.ts'

const allot = startBefore({ repositories: false })

describe('The settings of a user', () => {
  const INITIAL = {
    ...{ full_name: '', website: '', description: '', location: '', language: '' },
    ...{ theme: 'gitea-auto', diff_view_style: '', hide_email: false, hide_activity: false },
  }

  it('are those of the profile and what clients keep, and PATCH changes the given ones', async () => {
    const alice = await allot.person()
    assert.deepEqual((await allot.as(alice, 'GET', '/user/settings')).body, INITIAL)
    const edit = { full_name: 'Alice', language: 'de-DE', hide_email: true }
    const edited = await allot.as(alice, 'PATCH', '/user/settings', edit)
    assert.deepEqual([edited.status, edited.body], [200, { ...INITIAL, ...edit }])
    await allot.as(alice, 'PATCH', '/user/settings', { theme: 'dark', website: 'https://x.test' })
    const after = { ...INITIAL, ...edit, theme: 'dark', website: 'https://x.test' }
    assert.deepEqual((await allot.as(alice, 'GET', '/user/settings')).body, after)
    assert.equal((await allot.as(undefined, 'GET', `/users/${alice.name}`)).body.full_name, 'Alice')
  })

  const BAD: [member: string, value: unknown][] = [
    ['full_name', 'x'.repeat(101)],
    ['location', 'x'.repeat(51)],
    ['language', 'x'.repeat(51)],
    ['hide_email', 'yes'],
    ['website', 7],
  ]
  for (const [member, value] of BAD)
    it(`are refused with 422 for ${member} = ${JSON.stringify(value).slice(0, 12)}`, async () => {
      const body = { [member]: value }
      assertError(
        await allot.as(allot.root, 'PATCH', '/user/settings', body),
        422,
        new RegExp(`^${member}: `),
      )
    })
})

describe('The topics of a repository', () => {
  const topicsOf = async (path: string) =>
    (await allot.as(undefined, 'GET', `/repos/${path}/topics`)).body.topics

  it('are set together or one by one by those who administer it, in lower case and in order', async () => {
    const [alice, bob] = [await allot.person(), await allot.person()]
    await allot.as(alice, 'POST', '/user/repos', { name: 'app' })
    const path = `${alice.name}/app`
    assertNoContent(await allot.as(alice, 'PUT', `/repos/${path}/topics`, { topics: ['Git', 'disk', 'git'] }))
    assertNoContent(await allot.as(alice, 'PUT', `/repos/${path}/topics/ARCHIVE`))
    assert.deepEqual(await topicsOf(path), ['archive', 'disk', 'git'])
    assert.deepEqual((await allot.as(bob, 'GET', `/repos/${path}`)).body.topics, ['archive', 'disk', 'git'])
    assertNoContent(await allot.as(alice, 'DELETE', `/repos/${path}/topics/Disk`))
    assertNotFound(await allot.as(alice, 'DELETE', `/repos/${path}/topics/disk`))
    for (const [method, end, body] of [
      ['PUT', '', { topics: [] }],
      ['PUT', '/x', undefined],
      ['DELETE', '/git', undefined],
    ] as const)
      assertError(await allot.as(bob, method, `/repos/${path}/topics${end}`, body), 403)
    assert.deepEqual(await topicsOf(path), ['archive', 'git'])
    assertNotFound(await allot.as(bob, 'PUT', `/repos/${alice.name}/none/topics/x`))
    assertNotFound(await allot.as(bob, 'PUT', `/repos/${alice.name}/none/topics`, { topics: [] }))
  })

  it('and its description are found by a search that asks for them, and a topic only as a whole', async () => {
    const alice = await allot.person()
    for (const name of ['one', 'two', 'kestrel'])
      await allot.as(alice, 'POST', '/user/repos', { name, description: name === 'two' ? 'A Kestrel' : '' })
    await allot.as(alice, 'PUT', `/repos/${alice.name}/one/topics/kestrel`)
    const found = async (query: string) =>
      (await allot.as(alice, 'GET', `/repos/search?${query}`)).body.data.map(
        (one: { name: string }) => one.name,
      )
    assert.deepEqual(await found('q=kestrel'), ['kestrel'])
    assert.deepEqual(await found('q=kestrel&includeDesc=true'), ['kestrel', 'one', 'two'])
    assert.deepEqual(await found('q=Kestrel&topic=true'), ['one'])
    assert.deepEqual(await found('q=kestre&topic=true'), [])
    assert.deepEqual(await found('q=kestre,one&includeDesc=true'), ['kestrel', 'one', 'two'])
  })

  const BAD = ['', '-x', 'x'.repeat(36), 'two words', 'käse']
  for (const topic of BAD)
    it(`are refused with 422: ${JSON.stringify(topic).slice(0, 20)}`, async () => {
      await allot.as(allot.root, 'POST', '/user/repos', { name: 'checked' })
      const path = '/repos/root/checked/topics'
      assertError(await allot.as(allot.root, 'PUT', path, { topics: ['good', topic] }), 422, /^topics: /)
      if (topic !== '')
        assertError(
          await allot.as(allot.root, 'PUT', `${path}/${encodeURIComponent(topic)}`),
          422,
          /^topics: /,
        )
      assert.deepEqual(await topicsOf('root/checked'), [])
    })

  it('are at most 25', async () => {
    await allot.as(allot.root, 'POST', '/user/repos', { name: 'many' })
    const topics = Array.from({ length: 26 }, (_, index) => `t${index}`)
    assertError(await allot.as(allot.root, 'PUT', '/repos/root/many/topics', { topics }), 422, /25/)
  })
})

describe('A repository', () => {
  it('is found by its id by those who can read it', async () => {
    const [alice, bob] = [await allot.person(), await allot.person()]
    const made = (await allot.as(alice, 'POST', '/user/repos', { name: 'secret', private: true })).body
    assert.deepEqual((await allot.as(alice, 'GET', `/repositories/${made.id}`)).body, made)
    for (const id of [made.id, 999_999, -1]) assertNotFound(await allot.as(bob, 'GET', `/repositories/${id}`))
  })

  it('lists its stargazers and subscribers, without those whom the viewer cannot see', async () => {
    const [alice, bob, shy] = [await allot.person(), await allot.person(), await allot.person()]
    await allot.as(alice, 'POST', '/user/repos', { name: 'seen' })
    const path = `${alice.name}/seen`
    for (const person of [alice, bob, shy]) {
      await allot.as(person, 'PUT', `/user/starred/${path}`)
      await allot.as(person, 'PUT', `/repos/${path}/subscription`)
    }
    await allot.as(allot.root, 'PATCH', `/admin/users/${shy.name}`, { visibility: 'private' })
    for (const list of ['stargazers', 'subscribers']) {
      assertList(await allot.as(bob, 'GET', `/repos/${path}/${list}`), 'login', [alice.name, bob.name])
      assertList(
        await allot.as(allot.root, 'GET', `/repos/${path}/${list}`),
        'login',
        [alice, bob, shy].map(({ name }) => name),
      )
      assertList(await allot.as(bob, 'GET', `/repos/${path}/${list}?limit=1&page=2`), 'login', [bob.name], 2)
      assertNotFound(await allot.as(bob, 'GET', `/repos/${alice.name}/none/${list}`))
    }
  })
})
