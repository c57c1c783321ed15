import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { peopleBefore, startBefore } from '../support/test-server.ts'

const allot = startBefore()
const [alice] = peopleBefore(allot, 'alice')

/** Members of records that no edit declares, as in the body of a request that a host passes on. */
const others = {
  id: 999,
  owner: 999,
  author: 999,
  creator: 999,
  repository: 999,
  number: 999,
  admin: true,
  size: 999,
}

/** The members of a record that are in `others`. */
const guarded = (record: object | undefined) =>
  Object.fromEntries(Object.entries(record ?? assert.fail()).filter(([name]) => name in others))

describe('An edit saves no member that it does not declare', () => {
  it('of a repository', async () => {
    const { repositories } = allot.allot
    const account = (await allot.allot.accounts.byName('alice'))!
    const made = await repositories.create(account, account, { name: 'app' })
    const edited = await repositories.edit(made.id, { ...others, description: 'new' })
    assert.deepEqual([guarded(edited), edited?.description], [guarded(made), 'new'])
  })

  it('of an issue', async () => {
    const { issues } = allot.allot
    const viewer = { id: alice.id, admin: false }
    const path = { owner: 'alice', name: 'app' }
    const made = await issues.create(viewer, path, { title: 'It fails' })
    const edited = await issues.edit(viewer, path, 1, { ...others, title: 'It works' })
    assert.deepEqual([guarded(edited?.issue), edited?.issue.title], [guarded(made?.issue), 'It works'])
  })

  it('of a release', async () => {
    const { releases } = allot.allot
    const viewer = { id: alice.id, admin: false }
    const path = { owner: 'alice', name: 'app' }
    const made = await releases.create(viewer, path, { tag: 'v1' })
    const { release } = made ?? assert.fail()
    const edited = await releases.edit(viewer, path, release.id, { ...others, name: 'First' })
    assert.deepEqual([guarded(edited?.release), edited?.release.name], [guarded(release), 'First'])
  })

  it('of a user, and of a new organization', async () => {
    const { accounts, organizations } = allot.allot
    const made = await accounts.byName('alice')
    const edited = await accounts.edit(alice.id, { ...others, admin: undefined, fullName: 'Alice' })
    assert.deepEqual([guarded(edited), edited?.fullName], [guarded(made), 'Alice'])
    const acme = await organizations.create(alice.id, { ...others, name: 'acme' })
    assert.deepEqual(guarded(acme), { id: acme.id, admin: false })
    assert.notEqual(acme.id, others.id)
  })
})
