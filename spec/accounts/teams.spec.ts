import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { memory } from '../../drivers/memory/index.ts'
import { blankAccount } from '../../lib/accounts/account-records.ts'
import { openAllot } from '../../lib/allot.ts'
import { accounts, memberships, teamMembers } from '../../lib/records/schema/index.ts'
import { Store, takeNumber } from '../../lib/records/store.ts'

const MEMBERS = 120

describe('The deletion of a team', () => {
  it('lets other writes run between those of a large team, whose members all leave the organization', async () => {
    const driver = memory()
    const allot = await openAllot({ driver, repositories: false })
    const { hosting } = allot
    const ann = await hosting.accounts.createUser({ name: 'ann' })
    const acme = await hosting.organizations.create(ann.id, { name: 'acme' })
    const { team } = (await hosting.teams.create(ann, 'acme', { name: 'all' }))!
    await new Store(driver).write(async (tx) => {
      for (let number = 0; number < MEMBERS; number++) {
        const id = await takeNumber(tx, 'account')
        await accounts.save(tx, { ...blankAccount('user', `user-${number}`), id })
        await memberships.save(tx, {
          organization: acme.id,
          member: id,
          owner: false,
          byTeam: true,
          createdAt: 1,
        })
        await teamMembers.save(tx, { account: id, organization: acme.id, team: team!.id, createdAt: 1 })
      }
    })
    const ended: string[] = []
    const removed = hosting.teams.remove(ann, team!.id).finally(() => ended.push('deletion'))
    await hosting.accounts.edit(ann.id, { location: 'there' }).finally(() => ended.push('other write'))
    assert.equal(await removed, true)
    assert.deepEqual(ended, ['other write', 'deletion'])
    const left = await new Store(driver).read((tx) =>
      memberships.list(tx, 'organization', { prefix: [acme.id] }),
    )
    assert.deepEqual(
      left.map(({ member }) => member),
      [ann.id],
    )
    assert.deepEqual((await allot.verify()).messages, [])
    await allot.close()
  })
})
