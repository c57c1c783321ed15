import assert from 'node:assert/strict'
import { it } from 'node:test'
import { memory } from '../../drivers/memory/index.ts'
import { decodeKey } from '../../lib/records/key-codec.ts'
import { watchTransactions } from '../counted.ts'
import { finishJobs, openFixture } from '../removal/fixture.ts'
import { start } from '../support/test-server.ts'

it('A change of the visibility of an account saves none of its repositories, and takes effect at once', async () => {
  const saved = new Set<unknown>()
  const driver = watchTransactions(memory(), ({ changed }) => {
    for (const [collection, kind, id] of changed.map((key) => decodeKey(key)))
      if (collection === 'repository' && kind === 'r') saved.add(id)
  })
  const allot = await start({ driver, repositories: false })
  const { root } = allot
  await allot.as(root, 'POST', '/orgs', { username: 'team' })
  for (const isPrivate of [true, false])
    await allot.made(root, '/orgs/team/repos', { name: `r${isPrivate}`, private: isPrivate })
  const statusOf = async (name: string) => (await allot.as(undefined, 'GET', `/repos/team/${name}`)).status
  saved.clear()
  for (const [visibility, status] of [
    ['private', 404],
    ['public', 200],
  ] as const) {
    assert.equal((await allot.as(root, 'PATCH', '/orgs/team', { visibility })).status, 200)
    assert.deepEqual([await statusOf('rtrue'), await statusOf('rfalse')], [404, status])
  }
  assert.deepEqual([...saved], [])
})

it('An account does not become visible to more people than many of its forks may be', async () => {
  const fixture = await openFixture(memory(), { maxPerTransaction: 2, batchSize: 1 })
  const { accounts, repositories, forks } = fixture.hosting
  const [ann, ben] = [await accounts.createUser({ name: 'ann' }), await accounts.createUser({ name: 'ben' })]
  for (const { id } of [ann, ben]) await accounts.edit(id, { visibility: 'limited' })
  const own: number[] = []
  for (const name of ['one', 'two', 'three']) {
    const source = await repositories.create(ben, ben, { name })
    const { id } = await repositories.create(ann, ann, { name })
    assert.ok(await forks.setParent(id, source.id))
    own.push(id)
  }
  const publish = () => accounts.edit(ann.id, { visibility: 'public' })
  const privateOnes = async () =>
    (await Promise.all(own.map((id) => repositories.byId(id)))).map((one) => one!.private)
  await assert.rejects(publish(), /^AllotError: more people could see 2 forks of ann than their parents/)
  assert.equal((await accounts.byId(ann.id))!.visibility, 'limited')
  assert.deepEqual(await privateOnes(), [false, false, false])
  for (const id of own.slice(1)) await repositories.edit(id, { private: true })
  assert.equal((await publish())!.visibility, 'public')
  assert.deepEqual(await privateOnes(), [true, true, true])
  await accounts.edit(ben.id, { visibility: 'public' })
  for (const id of own) await repositories.edit(id, { private: false })
  await accounts.edit(ben.id, { visibility: 'private' })
  // As many as one write may change.
  assert.equal((await privateOnes()).filter((isPrivate) => isPrivate).length, 2)
  await finishJobs(fixture)
  assert.deepEqual(await privateOnes(), [true, true, true])
  await fixture.close()
})
