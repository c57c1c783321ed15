import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { memory } from '../../drivers/memory/index.ts'
import type { Collection } from '../../lib/records/collection.ts'
import {
  collaborators,
  memberships,
  teamMembers,
  teamRepositories,
  teams,
} from '../../lib/records/schema/index.ts'
import { Store, type WriteContext } from '../../lib/records/store.ts'
import { assertError } from '../support/expectations.ts'
import { madeBefore, type Person, peopleBefore, start } from '../support/test-server.ts'

/** Ids of accounts, teams and repositories that do not exist: the records only fill the limits. */
const FIRST_ID = 1_000_000

const isFilled = (record: object): boolean =>
  Object.values(record).some((value) => value >= FIRST_ID && value < FIRST_ID + 1000)

const removeFilled = async (tx: WriteContext): Promise<void> => {
  for (const collection of [
    collaborators,
    memberships,
    teamMembers,
    teamRepositories,
    teams,
  ] as unknown as Collection<object>[]) {
    const filled: object[] = []
    for await (const record of collection.all(tx)) if (isFilled(record)) filled.push(record)
    for (const record of filled) await collection.remove(tx, collection.options.id(record))
  }
}

describe('What others can add', () => {
  const driver = memory()
  let team: { id: number }
  let app: { id: number }
  let acme: { id: number }
  const made = (path: string, body: object) => allot.made(owner, path, body)
  const fill = (count: number, save: (tx: WriteContext, id: number) => Promise<unknown>) =>
    new Store(driver).write(async (tx) => {
      for (let id = FIRST_ID; id < FIRST_ID + count; id++) await save(tx, id)
    })
  const allot = madeBefore(() => start({ driver, repositories: false }))
  const [owner, user] = peopleBefore(allot, 'owner', 'zoe')
  before(async () => {
    acme = await made('/orgs', { username: 'acme' })
    app = await made('/orgs/acme/repos', { name: 'app' })
    team = await made('/orgs/acme/teams', { name: 'devs', permission: 'write' })
  })
  // The check at the stop would find records of what does not exist.
  after(async () => {
    await new Store(driver).write((tx) => removeFilled(tx))
    await allot.stop()
  })

  it('is at most 100 offers of repositories, without those that have ended', async () => {
    const [maker, other] = [await allot.person('maker'), await allot.person('other')]
    const offer = async (by: Person, name: string) => {
      assert.equal((await allot.as(by, 'POST', '/user/repos', { name })).status, 201)
      return allot.as(by, 'POST', `/repos/${by.name}/${name}/transfer`, { new_owner: 'zoe' })
    }
    for (let index = 0; index < 100; index++) assert.equal((await offer(maker, `r${index}`)).status, 201)
    assertError(await offer(other, 'one'), 409, /zoe already has 100 offers/)
    await allot.as(allot.root, 'PATCH', '/admin/users/maker', { active: false })
    assert.equal((await offer(other, 'two')).status, 201)
    await allot.as(allot.root, 'PATCH', '/admin/users/maker', { active: true })
    assert.equal((await allot.as(maker, 'GET', '/repos/maker/r0')).body.repo_transfer, null)
  })

  it('is at most 1,000 collaborators of a repository', async () => {
    const { id: repository } = await made('/user/repos', { name: 'full' })
    await fill(1000, (tx, account) =>
      collaborators.save(tx, { repository, account, level: 'read', createdAt: 0 }),
    )
    assertError(
      await allot.as(owner, 'PUT', '/repos/owner/full/collaborators/zoe'),
      409,
      /1000 collaborators/,
    )
  })

  it('is at most 1,000 repositories of a team', async () => {
    const assigned = { team: team.id, organization: acme.id, createdAt: 0 }
    await fill(1000, (tx, repository) => teamRepositories.save(tx, { ...assigned, repository }))
    const refused = /at most 1000 repositories/
    assertError(await allot.as(owner, 'PUT', `/teams/${team.id}/repos/acme/app`), 409, refused)
    assertError(await allot.as(owner, 'PUT', '/repos/acme/app/teams/devs'), 409, refused)
    assert.ok(app.id > 0)
  })

  it('is at most 100 teams of a user, but for administrators', async () => {
    const member = { account: user.id, organization: FIRST_ID, createdAt: 0 }
    await fill(100, (tx, id) => teamMembers.save(tx, { ...member, team: id }))
    const path = `/teams/${team.id}/members/zoe`
    assertError(await allot.as(owner, 'PUT', path), 409, /already in 100 teams/)
    assert.equal((await allot.as(allot.root, 'PUT', path)).status, 204)
  })

  it('is at most 500 organizations of a user who creates more, but for administrators', async () => {
    const creator = await allot.person('creator')
    await fill(500, (tx, organization) =>
      memberships.save(tx, { organization, member: creator.id, owner: false, createdAt: 0 }),
    )
    const body = { username: 'one-more' }
    assertError(await allot.as(creator, 'POST', '/orgs', body), 422, /you are in 500 organizations/)
    assert.equal((await allot.as(allot.root, 'POST', '/admin/users/creator/orgs', body)).status, 201)
  })

  it('is at most 500 teams of an organization', async () => {
    const blank = { organization: acme.id, description: '', level: 'read' as const, units: [], createdAt: 0 }
    await fill(500, (tx, id) =>
      teams.save(tx, { ...blank, id, name: `team${id}`, allRepositories: false, canCreate: false }),
    )
    assertError(await allot.as(owner, 'POST', '/orgs/acme/teams', { name: 'more' }), 422, /500 teams/)
  })
})
