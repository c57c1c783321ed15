import assert from 'node:assert/strict'
import { AllotError } from '../../lib/errors.ts'
import type { LedgerKind } from '../../lib/records/schema/index.ts'
import type { NamedEntry } from '../../lib/repositories/ledger/ledger-checks.ts'
import type { RepositoryRelation } from '../../lib/repositories/relations.ts'
import type { RemovalFixture } from './fixture.ts'
import {
  canRead,
  canSee,
  type Entry,
  forgetAccount,
  forgetRepository,
  type Model,
  type Step,
} from './model.ts'

const PEOPLE = ['ann', 'ben', 'cat']

export const makeAccount = async (fixture: RemovalFixture, model: Model, name: string): Promise<void> => {
  const { hosting } = fixture
  if (model.accounts.has(name)) return
  const organization = name === 'guild'
  if (organization) await makeAccount(fixture, model, 'ann')
  const { id } = organization
    ? await hosting.organizations.create(model.accounts.get('ann')!.id, { name })
    : await hosting.accounts.createUser({ name })
  model.accounts.set(name, { id, visibility: 'public', organization })
  const [guild, ben] = [model.accounts.get('guild'), model.accounts.get('ben')]
  if (guild && ben && (name === 'guild' || name === 'ben'))
    await hosting.organizations.setMember(guild.id, ben.id)
}

/** Does a step to both. Accounts that are gone are made again by the first step that names them. */
export const play = async (fixture: RemovalFixture, model: Model, one: Step): Promise<void> => {
  const { hosting } = fixture
  for (const named of ['owner', 'name', 'person', 'followed'] as const)
    if (named in one && one.do !== 'purge') {
      const name = (one as Record<string, unknown>)[named] as string
      if ([...PEOPLE, 'guild'].includes(name)) await makeAccount(fixture, model, name)
    }
  const idOf = (name: string) => model.accounts.get(name)!.id
  const viewer = (name: string) => ({ id: idOf(name), admin: false })
  const ids = [...model.repositories.keys()]
  const id = 'which' in one && ids.length > 0 ? ids[one.which % ids.length]! : 0
  const repo = model.repositories.get(id)

  switch (one.do) {
    case 'create': {
      await makeAccount(fixture, model, 'ann')
      const taken = [...model.repositories.values()].some(
        (it) => it.owner === one.owner && it.name === one.name,
      )
      const [owner, creator] = [
        await hosting.accounts.byName(one.owner),
        await hosting.accounts.byName('ann'),
      ]
      const making = hosting.repositories.create(owner!, creator!, { name: one.name, private: one.private })
      if (taken) return void (await assert.rejects(making, AllotError))
      const made = await making
      const { owner: _, ...facts } = { ...one, size: 0, stars: new Set<string>(), watches: new Set(['ann']) }
      model.repositories.set(made.id, { ...facts, owner: one.owner })
      return
    }
    case 'own':
      return putAll(fixture, model, one.keys, (key) => ({
        ...{ kind: 'packages', key, size: one.size, on: undefined },
        place: one.owner,
      }))
    case 'take':
      for (const key of one.keys)
        assert.equal(
          await hosting.ledger.delete({ kind: one.kind, key }),
          model.entries.delete(`${one.kind} ${key}`),
        )
      return
    case 'follow':
    case 'unfollow': {
      const person = one.do === 'follow' ? PEOPLE : [one.person]
      for (const follower of person.filter((it) => model.accounts.has(it) && it !== one.followed)) {
        const before = model.follows.has(`${follower} ${one.followed}`)
        const done: boolean = await hosting.relations.follows[one.do](viewer(follower), one.followed)
        const seen = canSee(model, follower, one.followed)
        assert.equal(done, seen || (one.do === 'unfollow' && before))
        if (one.do === 'unfollow') model.follows.delete(`${follower} ${one.followed}`)
        else if (seen) model.follows.add(`${follower} ${one.followed}`)
      }
      return
    }
    case 'show':
      await hosting.accounts.edit(idOf(one.name), { visibility: one.visibility })
      model.accounts.get(one.name)!.visibility = one.visibility
      return
    case 'purge': {
      const account = model.accounts.get(one.name)
      if (account === undefined) return
      // Ann is the guild's founder and only owner, so the guild goes with her.
      if (one.name === 'ann' && model.accounts.has('guild')) {
        await assert.rejects(hosting.accounts.remove(account.id), AllotError)
        forgetAccount(model, 'guild')
      }
      assert.equal(await hosting.accounts.remove(account.id, { purge: true }), true)
      forgetAccount(model, one.name)
      return
    }
    case 'step':
      await fixture.jobRunner.round()
      return
    case 'restart':
      return
  }
  if (repo === undefined) return
  switch (one.do) {
    case 'put':
      return putAll(fixture, model, one.keys, (key) => ({
        ...{ kind: one.kind, key, size: one.size, place: id },
        on: one.kind === 'attachments' ? (one.on as 'issue') : undefined,
      }))
    case 'delete':
      assert.equal(await hosting.repositories.remove(id), true)
      assert.equal(await hosting.repositories.remove(id), false)
      return forgetRepository(model, id)
    case 'transfer': {
      const taken = [...model.repositories].some(
        ([other, it]) => other !== id && it.owner === one.owner && it.name === repo.name,
      )
      const migration = hosting.repositories.transfer(id, idOf(one.owner))
      if (taken) return void (await assert.rejects(migration, AllotError))
      await migration
      repo.owner = one.owner
      return
    }
    case 'hide':
      await hosting.repositories.edit(id, { private: one.private })
      repo.private = one.private
      return
    case 'rename': {
      const to = repo.name === 'r1' ? 'other' : 'r1'
      const taken = [...model.repositories.values()].some((it) => it.owner === repo.owner && it.name === to)
      const renaming = hosting.repositories.edit(id, { name: to })
      if (taken) return void (await assert.rejects(renaming, AllotError))
      await renaming
      repo.name = to
      return
    }
    case 'resize':
      await hosting.repositories.resize(id, one.size)
      repo.size = one.size
      return
    case 'relate':
      for (const person of PEOPLE.filter((it) => model.accounts.has(it))) {
        const relation: RepositoryRelation = hosting.relations[one.relation as 'stars']
        const done: unknown = await relation[one.set ? 'set' : 'clear'](viewer(person), repo)
        assert.equal(done !== undefined, canRead(model, person, repo))
        if (done !== undefined) repo[one.relation as 'stars'][one.set ? 'add' : 'delete'](person)
      }
  }
}

const putAll = async (
  { hosting }: RemovalFixture,
  model: Model,
  keys: readonly string[],
  entryOf: (key: string) => Entry,
): Promise<void> => {
  for (const entry of keys.map(entryOf)) {
    const at = `${entry.kind} ${entry.key}`
    const { replaced } = await hosting.ledger.put(namedEntry(model, entry))
    assert.equal(replaced, model.entries.has(at))
    model.entries.set(at, entry)
  }
}

/** An entry as it is put and read; its name is its key. */
export const namedEntry = (model: Model, { kind, key, size, on, place }: Entry): NamedEntry => {
  const repo = typeof place === 'number' ? model.repositories.get(place)! : undefined
  return {
    ...{ kind, key },
    ...(repo === undefined ? { owner: place as string } : { repository: `${repo.owner}/${repo.name}` }),
    ...{ name: key, size },
    ...details(kind, on),
  }
}

const details = (kind: LedgerKind, on: Entry['on']) => {
  if (kind === 'attachments') return { on, index: 1 }
  if (kind === 'artifacts') return { run: 1 }
  return kind === 'packages' ? { type: 'generic', version: '1' } : {}
}
