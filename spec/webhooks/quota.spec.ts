import assert from 'node:assert/strict'
import { before, describe, it } from 'node:test'
import fc from 'fast-check'
import type { Subject } from '../../lib/index.ts'
import { times } from '../support/long.ts'
import { hookTo, type Received, type Receiver, startReceiver, TO_RECEIVERS } from '../support/receiver.ts'
import { type Person, start, type TestServer } from '../support/test-server.ts'
import { type Change, quotaEventsOf, type Rule } from './quota-model.ts'

let allot: TestServer
let receiver: Receiver
before(async () => {
  receiver = await startReceiver()
  allot = await start(TO_RECEIVERS)
})

let made = 0

/**
 * Creates a webhook.
 * @returns what it got: everything that is recorded for it by now
 */
const deliveriesTo = async (who: Person, place: string, events = ['quota']) => {
  const path = `/${++made}`
  const { id } = await allot.made(who, place, hookTo(receiver.url + path, ...events))
  return async (): Promise<Received[]> => {
    const list = await allot.as(who, 'GET', `${place}/${id}/deliveries?limit=1`)
    return receiver.at(path, Number(list.headers.get('x-total-count')))
  }
}

/** Gives an owner a group of its own with these rules. */
const limit = async (owner: string, rules: readonly Rule[]) => {
  const name = `group ${++made}`
  await allot.allot.quota.groups.create({ name, rules: [...rules] })
  await allot.allot.quota.groups.setFor(owner, [name])
}

const total = (bytes: number): Rule[] => [{ name: `total ${++made}`, limit: bytes, subjects: ['size:all'] }]

/** The body of an entry, or of its removal. */
const entry = (owner: string, { kind, key, size }: Change) => {
  const named = { kind, key: `${owner} ${key}` }
  const item = { ...named, owner, name: key, size: size ?? 0 }
  if (size === null) return { op: 'delete' as const, ...named }
  return kind === 'packages'
    ? { op: 'put' as const, ...item, kind, type: 'npm', version: '1' }
    : { op: 'put' as const, ...item, kind }
}

/** Makes the changes in one transaction. */
const apply = (owner: string, changes: readonly Change[]) =>
  allot.allot.ledger.batch(changes.map((change) => entry(owner, change)))

const use = (owner: string, size: number | null) => apply(owner, [{ kind: 'packages', key: 'p', size }])

const brief = (received: readonly Received[]) =>
  received.map(({ body }) => [body.action, body.share, body.before, body.used])

describe('The event quota', () => {
  it('is sent to the owner and the instance when usage crosses a threshold, in the order of the changes', async () => {
    const alice = await allot.person('alice')
    await limit('alice', total(100))
    const [own, all] = [
      await deliveriesTo(alice, '/user/hooks'),
      await deliveriesTo(allot.root, '/admin/hooks', ['*']),
    ]
    for (const size of [79, 80, 99, 100, 500, 90, 0, 100, 79]) await use('alice', size)
    const expected = [
      ['near', 0.8, 79, 80],
      ['crossed', 1, 99, 100],
      ['back', 1, 500, 90],
      ['back', 0.8, 90, 0],
      ['near', 0.8, 0, 100],
      ['crossed', 1, 0, 100],
      ['back', 1, 100, 79],
      ['back', 0.8, 100, 79],
    ]
    assert.deepEqual(brief(await own()), expected)
    assert.deepEqual(brief(await all()), expected)
    const [{ body, headers }] = (await own()) as [Received]
    const { owner, ...rest } = body
    assert.deepEqual([owner.login, headers['x-gitea-event']], ['alice', 'quota'])
    const measured = { limit: 100, share: 0.8, reached: true, before: 79, used: 80 }
    assert.deepEqual(rest, { action: 'near', ...measured, subjects: ['size:all'] })
    assert.match((await all())[0]!.body.rule, /^total/, 'administrators get the rule')
  })

  it('of an organization is sent to its webhooks, and not to those of its repositories or its members', async () => {
    const bob = await allot.person('bob')
    await allot.as(bob, 'POST', '/orgs', { username: 'acme' })
    await allot.as(bob, 'POST', '/orgs/acme/repos', { name: 'app' })
    await limit('acme', total(1000))
    const places = ['/orgs/acme/hooks', '/repos/acme/app/hooks', '/user/hooks']
    const [own, ofRepository, ofMember] = await Promise.all(
      places.map((place) => deliveriesTo(bob, place, ['*'])),
    )
    const quotaOf = (received: readonly Received[]) => received.filter(({ body }) => 'share' in body)
    const artifact = { repository: 'acme/app', name: 'log', size: 2000, run: 1 }
    await allot.as(allot.root, 'PUT', '/admin/ledger/artifacts/of-acme', artifact)
    assert.deepEqual(brief(await own!()), [
      ['near', 0.8, 0, 2000],
      ['crossed', 1, 0, 2000],
    ])
    assert.equal((await own!())[0]!.body.owner.login, 'acme')
    assert.deepEqual(quotaOf(await ofRepository!()), [])
    await allot.as(bob, 'POST', '/repos/acme/app/transfer', { new_owner: 'bob' })
    assert.deepEqual(brief(quotaOf(await own!())).slice(2), [
      ['back', 1, 2000, 0],
      ['back', 0.8, 2000, 0],
    ])
    assert.deepEqual(quotaOf(await ofMember!()), [])
  })

  it('tells nothing of a change that is refused, of rules that change, and of an owner that is deleted', async () => {
    const carl = await allot.person('carl')
    const all = await deliveriesTo(allot.root, '/admin/hooks')
    await limit('carl', total(100))
    await use('carl', 50)
    const { ledger, quota } = allot.allot
    const refused = [
      entry('carl', { kind: 'packages', key: 'q', size: 100 }),
      entry('nobody', { kind: 'packages', key: 'r', size: 1 }),
    ]
    await assert.rejects(ledger.batch(refused))
    await limit('carl', total(20))
    await quota.groups.setFor('carl', [])
    assert.deepEqual(await all(), [])
    await limit('carl', total(20))
    await use('carl', 10)
    assert.deepEqual(brief(await all()), [
      ['back', 1, 50, 10],
      ['back', 0.8, 50, 10],
    ])
    await use('carl', 100)
    assert.equal((await all()).length, 4)
    await allot.allot.accounts.remove(carl.id, { purge: true })
    assert.equal((await all()).length, 4)
  })

  it('is not sent to webhooks that are inactive or chose other events', async () => {
    const dora = await allot.person('dora')
    await limit('dora', total(100))
    const other = await deliveriesTo(dora, '/user/hooks', ['push', 'package'])
    const active = await deliveriesTo(dora, '/user/hooks')
    const [first] = (await allot.as(dora, 'GET', '/user/hooks')).body.slice(-1)
    await allot.as(dora, 'PATCH', `/user/hooks/${first.id}`, { active: false })
    await use('dora', 200)
    assert.deepEqual([...(await other()), ...(await active())], [])
  })

  it('is sent for each quota event of random changes and random rules, and for nothing else', async () => {
    const subject = fc.constantFrom<Subject>(
      ...(['size:all', 'size:assets:all', 'size:assets:artifacts', 'size:assets:packages:all'] as const),
    )
    const subjects = fc.array(subject, { minLength: 1, maxLength: 3 })
    const rule = fc.record({ limit: fc.constantFrom(-1, 0, 1, 50, 99, 100, 250), subjects })
    const change = fc.record({
      kind: fc.constantFrom('packages' as const, 'artifacts' as const),
      key: fc.constantFrom('a', 'b'),
      size: fc.oneof({ weight: 1, arbitrary: fc.constant(null) }, { weight: 4, arbitrary: fc.nat(150) }),
    })
    const writes = fc.array(fc.array(change, { minLength: 1, maxLength: 4 }), { maxLength: 8 })
    const property = fc.asyncProperty(
      fc.array(rule, { minLength: 1, maxLength: 3 }),
      writes,
      async (rules, transactions) => {
        const who = await allot.person(`random-${++made}`)
        const named = rules.map((one) => ({ ...one, name: `rule ${++made}` }))
        await limit(who.name, named)
        const own = await deliveriesTo(who, '/user/hooks')
        for (const changes of transactions) await apply(who.name, changes)
        const got = (await own()).map(({ body: { owner: _, ...event } }) => event)
        assert.deepEqual(got, quotaEventsOf(named, transactions))
      },
    )
    await fc.assert(property, { numRuns: times(15, 40) })
  })
})
