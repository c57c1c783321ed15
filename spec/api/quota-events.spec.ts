import assert from 'node:assert/strict'
import { afterEach, describe, it } from 'node:test'
import fc from 'fast-check'
import type { AllotOptions, QuotaEvent } from '../../lib/index.ts'
import { start, type TestServer } from '../support/test-server.ts'
import { waitFor } from '../support/wait-for.ts'

let allot: TestServer | undefined
afterEach(() => allot?.stop())

/** A server whose default group has one rule of 100 bytes over everything, and the events that it emits. */
const listening = async (quota: AllotOptions['quota'] = {}, log?: AllotOptions['log']) => {
  const server = await start({ quota: { defaultGroups: ['free'], ...quota }, ...(log ? { log } : {}) })
  allot = server
  const rules = [{ name: 'total', limit: 100, subjects: ['size:all' as const] }]
  await server.allot.quota.groups.create({ name: 'free', rules })
  await server.person('alice')
  await server.person('bob')
  await put(server, 'bob', 'last', LAST.below)
  const told: QuotaEvent[] = []
  const listener = (event: QuotaEvent) => void (event.owner === 'alice' && told.push(event))
  server.allot.on('quota', listener)
  const use = async (size: number, key = 'p') => {
    await put(server, 'alice', key, size)
    await settled(server)
  }
  return { server, told, listener, use }
}

const put = ({ allot }: TestServer, owner: string, key: string, size: number) =>
  allot.ledger.put({ kind: 'packages', key, owner, name: key, size, type: 'npm', version: '1' })

/** Sizes on both sides of the limit, and of no other threshold. */
const LAST = { below: 90, above: 110 }

/**
 * Events follow the response to a write, in the order of the changes: so all have come when that of a last
 * change has.
 */
const settled = async (server: TestServer): Promise<void> => {
  for (const size of [LAST.above, LAST.below]) {
    let isTold = false
    const listener = ({ owner }: QuotaEvent) => {
      isTold ||= owner === 'bob'
    }
    server.allot.on('quota', listener)
    await put(server, 'bob', 'last', size)
    await waitFor(() => isTold)
    server.allot.off('quota', listener)
    assert.ok(isTold, 'the event of a later change came')
  }
}

describe('A quota event', () => {
  it('has been told when the call that caused it returns, so that none waits in memory', async () => {
    const { server, told } = await listening()
    await put(server, 'alice', 'p', 100)
    assert.equal(told.length, 2)
  })
})

const brief = (events: QuotaEvent[]) =>
  events.splice(0).map(({ action, share, reached, before, used }) => {
    assert.equal(action, reached ? (share === 1 ? 'crossed' : 'near') : 'back')
    return [share, reached, before, used]
  })

describe("allot.on('quota')", () => {
  it('emits one event when an owner crosses a threshold', async () => {
    const { told, use } = await listening()
    await use(79)
    assert.deepEqual(brief(told), [])
    await use(80)
    assert.deepEqual(told.splice(0), [
      {
        owner: 'alice',
        action: 'near',
        rule: 'total',
        subjects: ['size:all'],
        limit: 100,
        share: 0.8,
        reached: true,
        before: 79,
        used: 80,
      },
    ])
  })

  it('emits events for a transaction as a whole, and none for one that failed', async () => {
    const { server, told } = await listening()
    const item = (key: string, size: number) =>
      ({
        op: 'put',
        kind: 'packages',
        key,
        owner: 'alice',
        name: key,
        size,
        type: 'npm',
        version: '1',
      }) as const
    await server.allot.ledger.batch([
      item('a', 200),
      item('b', 10),
      { op: 'delete', kind: 'packages', key: 'a' },
    ])
    await assert.rejects(server.allot.ledger.batch([item('c', 200), { ...item('d', 1), owner: 'nobody' }]))
    await settled(server)
    assert.deepEqual(told, [])
    await server.allot.ledger.batch([item('a', 50), item('c', 50)])
    await settled(server)
    assert.deepEqual(brief(told), [
      [0.8, true, 10, 110],
      [1, true, 10, 110],
    ])
  })

  it('emits no events for unlimited rules, and one for a rule in two groups', async () => {
    const { server, told, use } = await listening({ warnAt: 1 })
    await server.allot.quota.rules.create({ name: 'free', limit: -1, subjects: ['size:all'] })
    await server.allot.quota.rules.create({ name: 'none', limit: 0, subjects: ['size:all'] })
    for (const rule of ['free', 'none']) await server.allot.quota.groups.addRule('free', rule)
    await server.allot.quota.groups.create({ name: 'more', rules: ['total'] })
    await server.allot.quota.groups.setFor('alice', ['free', 'more'])
    await use(150)
    assert.deepEqual(brief(told), [[1, true, 0, 150]])
  })

  it('emits nothing after off(), or without a listener', async () => {
    const { server, told, listener, use } = await listening()
    server.allot.off('quota', listener)
    await use(100)
    assert.deepEqual(told, [])
  })

  it('survives a failing listener, and logs the failure', async () => {
    const failures: unknown[] = []
    const log = { error: (fields: object) => void failures.push(fields), info: () => undefined }
    const { server } = await listening({}, log)
    server.allot.on('quota', () => {
      throw new Error('thrown')
    })
    server.allot.on('quota', async () => Promise.reject(new Error('rejected')))
    await put(server, 'alice', 'p', 85)
    server.allot.off('quota', () => undefined)
    await put(server, 'alice', 'p', 86)
    // A busy database has lines of its own in the log.
    const logged = () => JSON.stringify(failures.map((one) => String((one as { err: unknown }).err)))
    await waitFor(() => logged().includes('thrown'))
    assert.match(logged(), /thrown/)
  })

  it('emits every event of concurrent writers, alternately upward and downward', async () => {
    const property = fc.asyncProperty(
      fc.array(fc.nat(160), { minLength: 2, maxLength: 20 }),
      async (sizes) => {
        const { server, told } = await listening()
        await Promise.all(
          sizes.map((size) =>
            server.allot.ledger.put({
              kind: 'packages',
              key: 'p',
              owner: 'alice',
              name: 'p',
              size,
              type: 'npm',
              version: '1',
            }),
          ),
        )
        // Some engines run writes side by side, so that the last one to begin may not be the last one to be
        // written.
        const used = (await server.allot.quota.info('alice')).used.size.assets.packages.all
        await server.stop()
        allot = undefined
        for (const share of [0.8, 1]) {
          const turns = told.filter((event) => event.share === share).map(({ reached }) => reached)
          assert.deepEqual(
            turns,
            turns.map((_, at) => at % 2 === 0),
          )
          assert.equal(turns.at(-1) ?? false, used >= 100 * share)
        }
      },
    )
    await fc.assert(property, { numRuns: 15 })
  })
})
