import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { memory } from '../../drivers/memory/index.ts'
import type { StorageDriver } from '../../lib/index.ts'
import { decodeKey } from '../../lib/records/key-codec.ts'
import { hookLeases, hookQueues } from '../../lib/records/schema/index.ts'
import { Store } from '../../lib/records/store.ts'
import type { ReadTransaction } from '../../lib/storage/index.ts'
import { assertError } from '../support/expectations.ts'
import { hookTo, type Receiver, startReceiver } from '../support/receiver.ts'
import { stopTimers } from '../support/stopped-timers.ts'
import { createPersistentStore } from '../support/store.ts'
import { start } from '../support/test-server.ts'
import { waitFor } from '../support/wait-for.ts'

const webhooks = { allowedHosts: ['127.0.0.1'], timeout: 60_000 }

/** A driver whose next read fails, or the next one that looks for what is due. */
const failingReads = (driver: StorageDriver) => {
  const next = { isRefused: false, isLookRefused: false }
  const failed = (member: keyof typeof next) => {
    if (!next[member]) return
    next[member] = false
    throw new Error('the store is away')
  }
  const refusing = (tx: ReadTransaction): ReadTransaction => ({
    ...tx,
    async *range(range) {
      if (range.start && decodeKey(range.start).slice(0, 3).join(' ') === 'hookQueue o due')
        failed('isLookRefused')
      yield* tx.range(range)
    },
  })
  const read: StorageDriver['read'] = async (body) => {
    failed('isRefused')
    return driver.read((tx) => body(refusing(tx)))
  }
  return { next, driver: { ...driver, read } }
}

/** A store for servers with webhooks, and a receiver that answers as `statusOf` says. */
const scene = async (statusOf: () => number) => {
  const receiver = await startReceiver((_, res) => void res.writeHead(statusOf()).end())
  const { driver } = await createPersistentStore()
  const logged: string[] = []
  const log = { error: (_: object, text: string) => void logged.push(text), info: () => undefined }
  const serve = (served: StorageDriver, root = 'root') =>
    start({ driver: served, repositories: false, webhooks, log }, { root })
  return { receiver, driver, logged, serve }
}

type Server = Awaited<ReturnType<typeof start>>

const hooked = async ({ made, root }: Server, { url }: Receiver): Promise<number> =>
  (await made(root, '/user/hooks', hookTo(`${url}/hook`, 'repository'))).id

const change = ({ as, root }: Server, name: string) => as(root, 'POST', '/user/repos', { name })

/** Lets seconds pass, each with time for what it begins, until the receiver has got so many deliveries. */
const secondsUntil = (tick: (milliseconds: number) => void, { received }: Receiver, count: number) =>
  waitFor(() => {
    tick(1000)
    return received.length >= count
  })

describe('When the store fails', () => {
  it('while a webhook waits for its next attempt, the delivery is sent once the store answers again', async (test) => {
    const tick = stopTimers(test, 'lib/webhooks/sender')
    let refusals = 1
    const { receiver, serve, logged, ...store } = await scene(() => {
      next.isRefused = refusals > 0
      return refusals-- > 0 ? 500 : 200
    })
    const { driver, next } = failingReads(store.driver)
    const allot = await serve(driver)
    await hooked(allot, receiver)
    await change(allot, 'app')
    await secondsUntil(tick, receiver, 2)
    assert.deepEqual(logged, ['a webhook could not be served; it is tried again'])
  })

  it('while a server looks for what was left, the deliveries are sent once the store answers again', async (test) => {
    const tick = stopTimers(test, 'lib/webhooks/sender')
    let status = 500
    const { receiver, serve, logged, ...store } = await scene(() => status)
    const first = await serve(store.driver)
    await hooked(first, receiver)
    await change(first, 'app')
    await receiver.at('/hook', 1)
    await first.stop()
    status = 200
    const { driver, next } = failingReads(store.driver)
    next.isLookRefused = true
    await serve(driver, 'other')
    await secondsUntil(tick, receiver, 2)
    assert.deepEqual(logged, ['a webhook could not be served; it is tried again'])
  })
})

describe('Of two processes over one store', () => {
  /** A store that several processes use, and a receiver that holds its first answer back. */
  const shared = async () => {
    const answers: (() => void)[] = []
    const receiver = await startReceiver((_, res) => {
      if (receiver.received.length === 1) answers.push(() => res.end())
      else res.end()
    })
    const driver = { ...memory(), shared: true, close: async () => {} }
    const options = { repositories: false, webhooks: { ...webhooks, timeout: 1000 } } as const
    const first = await start({ driver, ...options })
    const second = await start({ driver: { ...driver, open: async () => {} }, ...options }, { root: 'other' })
    const holder = () => driver.read(async (tx) => (await hookLeases.get(tx, ['send']))?.holder)
    return { receiver, answer: () => answers.pop()?.(), first, second, holder }
  }

  it('one sends what either of them records, each delivery once and in order, and the other one once it stops', async () => {
    const { receiver, answer, first, second, holder } = await shared()
    await waitFor(async () => (await holder()) !== undefined)
    await hooked(first, receiver)
    const byRoot = { ...second, root: first.root }
    await change(byRoot, 'a')
    await receiver.at('/hook', 1)
    for (const [server, name] of [
      [first, 'b'],
      [byRoot, 'c'],
    ] as const)
      await change(server, name)
    const before = await holder()
    answer()
    await receiver.at('/hook', 3)
    await first.stop()
    await change(byRoot, 'd')
    await receiver.at('/hook', 4)
    assert.notEqual(await holder(), before)
    await second.stop()
    assert.deepEqual(
      [await holder(), receiver.received.map(({ body }) => body.repository.name)],
      [undefined, ['a', 'b', 'c', 'd']],
    )
  })
})

describe('A webhook with more waiting deliveries than are kept', () => {
  it('gets no further events, which is logged once', async () => {
    const { receiver, serve, logged, driver } = await scene(() => 500)
    const allot = await serve(driver)
    const hook = await hooked(allot, receiver)
    await change(allot, 'first')
    await receiver.at('/hook', 1)
    // The number of the last delivery, as after 100,031 events. Each 64th number is compared with the limit.
    await new Store(driver).write((tx) => hookQueues.save(tx, { hook, last: 100_031, nextAt: 0 }))
    for (const name of ['second', 'third']) assert.equal((await change(allot, name)).status, 201)
    for (const again of ['tests', 'deliveries/1/attempts'])
      assertError(
        await allot.as(allot.root, 'POST', `/user/hooks/${hook}/${again}`),
        409,
        /more than 100000 d/,
      )
    assert.equal(logged.length, 1)
    assert.match(logged[0]!, /^too many deliveries of a webhook wait: its events are not recorded/)
    await new Store(driver).write((tx) => hookQueues.save(tx, { hook, last: 100_000, nextAt: 0 }))
    await change(allot, 'fourth')
    await waitFor(
      async () => (await allot.as(allot.root, 'GET', `/user/hooks/${hook}/deliveries/100001`)).status === 200,
    )
    assert.equal(logged.length, 1)
  })

  it('is not logged by a change whose commit failed', async () => {
    const { receiver, serve, logged, driver } = await scene(() => 500)
    let isRefused = false
    const write: StorageDriver['write'] = async (body) => {
      const result = await driver.write(body)
      if (isRefused) throw new Error('the store is away')
      return result
    }
    const allot = await serve({ ...driver, write })
    const hook = await hooked(allot, receiver)
    await change(allot, 'app')
    await receiver.at('/hook', 1)
    await new Store(driver).write((tx) => hookQueues.save(tx, { hook, last: 100_031, nextAt: 0 }))
    const edit = () => allot.as(allot.root, 'PATCH', '/repos/root/app', { description: `${isRefused}` })
    const ofDeliveries = () => logged.filter((text) => text.startsWith('too many deliveries'))
    isRefused = true
    assert.equal((await edit()).status, 500)
    isRefused = false
    assert.deepEqual(ofDeliveries(), [])
    assert.equal((await edit()).status, 200)
    assert.equal(ofDeliveries().length, 1)
  })
})
