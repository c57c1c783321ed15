import assert from 'node:assert/strict'
import { before, describe, it } from 'node:test'
import { madeBefore, start } from '../support/test-server.ts'

/*
 * What a host can do with organizations in process, where no route has checked what an account is.
 */

const PASSWORD = 'a long password'
const SSH_KEY = `ssh-ed25519 ${Buffer.concat([
  Buffer.from([0, 0, 0, 11]),
  Buffer.from('ssh-ed25519'),
  Buffer.from([0, 0, 0, 32]),
  Buffer.alloc(32, 7),
]).toString('base64')}`

describe('An organization', () => {
  let id: number
  const allot = madeBefore(() => start({ repositories: false }))
  before(async () => {
    id = (await allot.allot.organizations.create(undefined, { name: 'acme' })).id
    await allot.person('taken', { email: 'taken@example.org' })
  })

  const GIVEN: [what: string, give: () => Promise<unknown>, message: RegExp][] = [
    [
      'a password',
      () => allot.allot.accounts.edit(id, { password: PASSWORD }),
      /^an organization has no password$/,
    ],
    ['a token', () => allot.allot.tokens.create(id, 't', ['all']), /^an organization has no tokens$/],
    [
      'an SSH key',
      () => allot.allot.sshKeys.add(id, { title: 'k', key: SSH_KEY }),
      /^an organization has no keys$/,
    ],
    [
      'an email address',
      () => allot.allot.accounts.edit(id, { email: 'acme@example.org' }),
      /^email: an organization has no email address$/,
    ],
    [
      'the address of a user',
      () => allot.allot.accounts.edit(id, () => ({ email: 'taken@example.org' })),
      /^email: an organization has no email address$/,
    ],
    [
      'the rights of an administrator',
      () => allot.allot.accounts.edit(id, { admin: true }),
      /^admin: an organization cannot be an administrator$/,
    ],
    [
      'the same by a function',
      () => allot.allot.accounts.edit(id, () => ({ admin: true, fullName: 'Acme' })),
      /^admin: an organization cannot be an administrator$/,
    ],
    [
      'a refusal to sign in',
      () => allot.allot.accounts.edit(id, { active: false }),
      /^active: an organization does not sign in, so that cannot be turned off$/,
    ],
  ]
  for (const [what, give, message] of GIVEN)
    it(`is not given ${what}, and stays as it is`, async () => {
      const before = await allot.allot.accounts.byId(id)
      await assert.rejects(give, { code: 'invalid', message })
      assert.deepEqual(await allot.allot.accounts.byId(id), before)
    })

  it('is changed with members that say that it has none of these', async () => {
    const after = await allot.allot.accounts.edit(id, { admin: false, active: true, description: 'Tools' })
    assert.equal(after?.description, 'Tools')
  })

  it('is created with the members of an organization only, whatever a host passes', async () => {
    const given = {
      name: 'beta',
      fullName: 'Beta',
      admin: true,
      password: 'x',
      email: 'b@example.org',
      id: 1,
    }
    const made = await allot.allot.organizations.create(undefined, given)
    const { admin, password, email, fullName } = made
    assert.deepEqual([admin, password, email, fullName], [false, null, '', 'Beta'])
    assert.notEqual(made.id, 1)
  })
})

describe('A membership', () => {
  const allot = madeBefore(() => start({ repositories: false }))

  it('is of a user in an organization, and nothing else is saved', async () => {
    const { organizations } = allot.allot
    const [alice, bob] = [await allot.person(), await allot.person()]
    const acme = await organizations.create(alice.id, { name: 'acme' })
    const other = await organizations.create(alice.id, { name: 'other' })
    await assert.rejects(organizations.setMember(alice.id, bob.id, { owner: true }), {
      code: 'invalid',
      message: `${alice.name} is a user, which has no members`,
    })
    const message = 'acme is an organization, and only users can be members'
    await assert.rejects(organizations.setMember(other.id, acme.id), { code: 'invalid', message })
    await assert.rejects(organizations.create(acme.id, { name: 'third' }), { code: 'invalid', message })
    assert.equal(await allot.allot.accounts.byName('third'), undefined)
    assert.equal((await organizations.of({ id: 0, admin: true }, acme.id, { offset: 0, limit: 9 })).total, 0)
    assert.equal(await organizations.isOwner(alice.id, bob.id), false)
  })
})
