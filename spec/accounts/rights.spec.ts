import assert from 'node:assert/strict'
import { after, it } from 'node:test'
import { memory } from '../../drivers/memory/index.ts'
import { canRead, canSee, permissionOn, type Viewer } from '../../lib/accounts/access.ts'
import { openAllot } from '../../lib/allot.ts'
import { Store } from '../../lib/records/store.ts'
import { times } from '../support/long.ts'
import { seededRandom } from '../support/seed.ts'
import { LEVELS, type Model, newModel, PARTS, permission, reads, sees } from './rights-model.ts'

const driver = memory()
const allot = await openAllot({ driver, repositories: false })
after(() => allot.close())
const { accounts, organizations, repositories, hosting } = allot
const { teams, teamRepositories, collaborators, transfers } = hosting
const store = new Store(driver)

const random = seededRandom()
const below = (count: number) => Math.floor(random() * count)
const pick = <T>(list: readonly T[]): T => list[below(list.length)]!
const VISIBILITIES = ['public', 'limited', 'private'] as const
/** Scopes of credentials; undefined: every scope. */
const SCOPES = [
  undefined,
  undefined,
  [],
  ['read:repository'],
  ['write:issue'],
  ['read:issue', 'write:repository'],
  ['all'],
]

const model: Model = newModel()
const root = (await accounts.createUser({ name: 'root', admin: true })).id
const byAdmin = { id: root, username: 'root', admin: true }
const addAccount = (id: number, name: string, kind: 'user' | 'organization', admin = false) =>
  model.accounts.set(id, { id, name, kind, admin, active: true, visibility: 'public' })
addAccount(root, 'root', 'user', true)
for (const name of ['ann', 'ben', 'cat', 'dan'])
  addAccount((await accounts.createUser({ name })).id, name, 'user')
const users = [...model.accounts.keys()].filter((id) => id !== root)
for (const name of ['acme', 'guild']) {
  const { id } = await organizations.create(users[0], { name })
  addAccount(id, name, 'organization')
  model.members.push({ organization: id, member: users[0]!, owner: true, byTeam: false })
  for (const team of ['one', 'two']) {
    const found = await teams.create(byAdmin, name, { name: team })
    const granted = { level: 'read', units: [], allRepositories: false } as const
    const members = { members: new Set<number>(), repositories: new Set<number>() }
    model.teams.push({ id: found!.team!.id, organization: id, ...granted, ...members })
  }
}
const groups = [...model.accounts.keys()].filter((id) => model.accounts.get(id)!.kind === 'organization')
for (const [index, owner] of [...groups, ...groups, ...users.slice(0, 2)].entries()) {
  const name = `r${index}`
  const account = (await accounts.byId(owner))!
  const { id } = await repositories.create(account, account, { name })
  model.repositories.push({ id, name, owner, private: false, shared: new Map() })
}

const nameOf = (id: number) => model.accounts.get(id)!.name
const pathOf = ({ owner, name }: Model['repositories'][0]) => ({ owner: nameOf(owner), name })

const membership = (organization: number, member: number) =>
  model.members.find((one) => one.organization === organization && one.member === member)
const owns = (user: number, account: number) => user === account || membership(account, user)?.owner === true
const teamsOf = (organization: number, member: number) =>
  model.teams.filter((one) => one.organization === organization && one.members.has(member))

const leave = (organization: number, member: number): void => {
  for (const team of teamsOf(organization, member)) team.members.delete(member)
  model.members.splice(model.members.indexOf(membership(organization, member)!), 1)
}

/** Who is in an organization by teams alone leaves it with the last one. */
const leaveWithoutTeam = (organization: number, member: number): void => {
  const { owner, byTeam } = membership(organization, member)!
  if (byTeam && !owner && teamsOf(organization, member).length === 0) leave(organization, member)
}

const moved = (repository: Model['repositories'][0], owner: number): void => {
  repository.owner = owner
  repository.offer = undefined
  repository.shared.delete(owner)
  for (const team of model.teams) team.repositories.delete(repository.id)
}

/** Changes, each in the store and in the model. */
const CHANGES: readonly (() => Promise<unknown>)[] = [
  async () => {
    const [account, visibility] = [pick([...model.accounts.values()]), pick(VISIBILITIES)]
    await accounts.edit(account.id, { visibility })
    account.visibility = visibility
  },
  async () => {
    const repository = pick(model.repositories)
    repository.private = !repository.private
    await repositories.edit(repository.id, { private: repository.private })
  },
  async () => {
    const account = model.accounts.get(pick(users))!
    account.active = !account.active
    await accounts.edit(account.id, { active: account.active })
  },
  async () => {
    const [organization, member, owner] = [pick(groups), pick(users), random() < 0.4]
    await organizations.setMember(organization, member, { owner, viewer: byAdmin })
    const before = membership(organization, member)
    if (before === undefined) model.members.push({ organization, member, owner, byTeam: false })
    else Object.assign(before, { owner, byTeam: false })
  },
  async () => {
    const [organization, member] = [pick(groups), pick(users)]
    const isMember = membership(organization, member) !== undefined
    assert.equal(await organizations.removeMember(organization, member, { viewer: byAdmin }), isMember)
    if (isMember) leave(organization, member)
  },
  // The team of the owners has the id of its organization.
  async () => {
    const [organization, member] = [pick(groups), pick(users)]
    await teams.addMember(byAdmin, organization, nameOf(member))
    const before = membership(organization, member)
    if (before === undefined) model.members.push({ organization, member, owner: true, byTeam: true })
    else before.owner = true
  },
  async () => {
    const [organization, member] = [pick(groups), pick(users)]
    const before = membership(organization, member)
    const isOwner = before?.owner === true
    assert.equal(await teams.removeMember(byAdmin, organization, nameOf(member)), isOwner)
    if (!isOwner) return
    Object.assign(before, { owner: false, byTeam: true })
    leaveWithoutTeam(organization, member)
  },
  async () => {
    const [team, member] = [pick(model.teams), pick(users)]
    const { organization } = team
    await teams.addMember(byAdmin, team.id, nameOf(member))
    team.members.add(member)
    if (membership(organization, member) === undefined)
      model.members.push({ organization, member, owner: false, byTeam: true })
  },
  async () => {
    const [team, member] = [pick(model.teams), pick(users)]
    const isMember = team.members.delete(member)
    assert.equal(await teams.removeMember(byAdmin, team.id, nameOf(member)), isMember)
    if (isMember) leaveWithoutTeam(team.organization, member)
  },
  async () => {
    const team = pick(model.teams)
    const units = (['repo.code', 'repo.issues', 'repo.releases'] as const).flatMap((unit) =>
      random() < 0.5 ? [{ unit, level: pick(['read', 'write'] as const) }] : [],
    )
    const edit = { level: random() < 0.1 ? 'admin' : 'read', units, allRepositories: random() < 0.3 } as const
    await teams.edit(byAdmin, team.id, () => edit)
    Object.assign(team, edit)
  },
  async () => {
    const [team, repository] = [pick(model.teams), pick(model.repositories)]
    if (team.allRepositories) return
    const isOfTeam = repository.owner === team.organization
    assert.equal(await teamRepositories.set(byAdmin, team.id, pathOf(repository), true), isOfTeam)
    if (isOfTeam) team.repositories.add(repository.id)
  },
  async () => {
    const [team, repository] = [pick(model.teams), pick(model.repositories)]
    if (team.allRepositories) return
    const isOfTeam = team.repositories.delete(repository.id)
    assert.equal(await teamRepositories.set(byAdmin, team.id, pathOf(repository), false), isOfTeam)
  },
  async () => {
    const [repository, user, level] = [pick(model.repositories), pick(users), pick(LEVELS)]
    if (user === repository.owner) return
    await collaborators.set(byAdmin, pathOf(repository), nameOf(user), level)
    repository.shared.set(user, level)
  },
  async () => {
    const [repository, user] = [pick(model.repositories), pick(users)]
    const isShared = repository.shared.delete(user)
    assert.equal(await collaborators.remove(byAdmin, pathOf(repository), nameOf(user)), isShared)
  },
  async () => {
    const [repository, owner] = [pick(model.repositories), pick([...users, ...groups])]
    if (owner === repository.owner) return
    await repositories.transfer(repository.id, owner)
    moved(repository, owner)
  },
  async () => {
    const [repository, recipient] = [pick(model.repositories), pick([...users, ...groups])]
    const doer = users.find((user) => owns(user, repository.owner))
    if (doer === undefined || owns(doer, recipient)) return
    const begun = transfers.begin({ id: doer, admin: false }, pathOf(repository), nameOf(recipient))
    if (!sees(model, doer, recipient)) return assert.equal(await begun, undefined)
    const { offer } = repository
    const isOffered = offer && owns(offer.doer, repository.owner) && model.accounts.get(offer.doer)!.active
    if (isOffered) return assert.rejects(begun, { code: 'conflict' })
    assert.equal((await begun)?.isOffered, true)
    repository.offer = { doer, recipient }
  },
  async () => {
    const [repository, user, isAccepted] = [pick(model.repositories), pick(users), random() < 0.5]
    const { offer } = repository
    if (offer === undefined || !owns(user, offer.recipient)) return
    const isOffered = owns(offer.doer, repository.owner) && model.accounts.get(offer.doer)!.active
    const viewer = { id: user, admin: false }
    const answer = isAccepted ? transfers.accept : transfers.reject
    const found = await answer.call(transfers, viewer, pathOf(repository))
    assert.equal(found !== undefined, isOffered)
    if (isOffered && isAccepted) moved(repository, offer.recipient)
    else if (isOffered) repository.offer = undefined
  },
]

/** Compares what one viewer sees and may do with the model. */
const compare = async (): Promise<void> => {
  const id = pick([...users, root, 0])
  const scopes = pick(SCOPES)
  const given = scopes && new Set(scopes)
  const viewer: Viewer = id === 0 ? null : { id, admin: id === root, scopes: given }
  const owner = pick([...users, ...groups])
  const shown = await store.read(async (tx) => {
    const found: unknown[] = []
    for (const account of model.accounts.values())
      found.push([account.name, await canSee(tx, viewer, (await accounts.byId(account.id))!)])
    for (const { id } of model.repositories) {
      const repository = (await repositories.byId(id))!
      for (const part of PARTS) found.push([id, part, await canRead(tx, viewer, repository, part)])
      for (const part of PARTS.slice(1) as ('code' | 'issues' | 'releases')[])
        found.push([id, part, await permissionOn(tx, viewer, repository, part)])
    }
    return found
  })
  const expected: unknown[] = []
  for (const account of model.accounts.values()) expected.push([account.name, sees(model, id, account.id)])
  for (const one of model.repositories) {
    for (const part of PARTS) expected.push([one.id, part, reads(model, { id, scopes: given }, one, part)])
    for (const part of PARTS.slice(1)) expected.push([one.id, part, permission(model, id, one, part)])
  }
  assert.deepEqual(shown, expected)
  const { items, total } = await repositories.list(viewer, owner, 'alphabetically', { offset: 0, limit: 50 })
  const own = model.repositories.filter((one) => one.owner === owner)
  // Lists leave out what is only offered.
  const visible = own.filter((one) =>
    reads(model, { id, scopes: given }, { ...one, offer: undefined }, 'repository'),
  )
  assert.deepEqual(
    [items.map(({ id }) => id).sort(), total],
    [visible.map((one) => one.id).sort(), visible.length],
  )
}

it('What accounts see and may do agrees with a model, however rights are given and taken', async () => {
  for (let step = 0; step < times(1000, 10_000); step++) {
    await pick(CHANGES)()
    await compare()
  }
})
