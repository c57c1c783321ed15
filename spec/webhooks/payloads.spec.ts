import assert from 'node:assert/strict'
import { it } from 'node:test'
import { memory } from '../../drivers/memory/index.ts'
import { decodeKey } from '../../lib/records/key-codec.ts'
import { entries } from '../../lib/records/layout.ts'
import { type Delivery, deliveries, hookPayloads, hookStorage } from '../../lib/records/schema/index.ts'
import { Store } from '../../lib/records/store.ts'
import type { StorageDriver } from '../../lib/storage/index.ts'
import { addPayload, MAX_KEPT, makeRoom, removeDelivery, withAnswer } from '../../lib/webhooks/kept.ts'
import { hookTo, startReceiver, TO_RECEIVERS } from '../support/receiver.ts'
import { createSpecStore } from '../support/store.ts'
import { start } from '../support/test-server.ts'
import { waitFor } from '../support/wait-for.ts'

/** Bytes of the records, indexes and counters of webhooks. */
const bytesOfWebhooks = (driver: StorageDriver): Promise<number> =>
  driver.read(async (tx) => {
    let bytes = 0
    for await (const [key, value] of entries(tx))
      if (/^(?:hook|delivery)/.test(String(decodeKey(key)[0]))) bytes += key.length + value.length
    return bytes
  })

it('Webhooks that send the same share one payload in the store, until the last of them is deleted', async () => {
  const made = await createSpecStore()
  const receiver = await startReceiver()
  const allot = await start(TO_RECEIVERS, { store: async () => made })
  const alice = await allot.person('alice')
  await allot.as(alice, 'POST', '/user/repos', { name: 'app' })
  await allot.as(alice, 'POST', '/repos/alice/app/issues', { title: 'one' })
  const body = hookTo(`${receiver.url}/all`, 'issue_comment')
  const hooks: string[] = []
  for (const place of ['/user/hooks', '/repos/alice/app/hooks'])
    for (let count = 0; count < 20; count++)
      hooks.push(`${place}/${(await allot.as(alice, 'POST', place, body)).body.id}`)
  const before = await bytesOfWebhooks(made.driver)
  const text = 'x'.repeat(64 * 1024)
  await allot.as(alice, 'POST', '/repos/alice/app/issues/1/comments', { body: text })
  const received = await receiver.at('/all', 40)
  assert.ok(received.every(({ body: payload }) => payload.comment.body === text))
  const grown = (await bytesOfWebhooks(made.driver)) - before
  assert.ok(grown < 3 * 64 * 1024, `${grown} bytes for 40 deliveries of 64 KiB`)

  const last = hooks.pop()!
  for (const hook of hooks) await allot.as(alice, 'DELETE', hook)
  const { request } = (await allot.as(alice, 'GET', `${last}/deliveries/1`)).body
  assert.equal(request.payload.comment.body, text)
  await allot.as(alice, 'DELETE', last)
  assert.ok((await bytesOfWebhooks(made.driver)) < 64 * 1024)
})

it('The payloads of one user are bounded: the oldest finished deliveries lose theirs, waiting ones keep theirs', async () => {
  const driver = memory()
  await driver.open()
  const store = new Store(driver)
  const payload = (id: string, creator = 1) => ({
    id,
    creator,
    text: JSON.stringify({ id: id.padEnd(1000) }),
  })
  const delivery = (number: number, finishedAt: number | null, creator = 1): Delivery => ({
    ...{
      hook: creator,
      number,
      uuid: '',
      event: 'ping',
      action: '',
      creator,
      payload: `${creator}-${number}`,
    },
    ...{ repeats: null, state: finishedAt === null ? 'waiting' : 'delivered', attempts: 0, nextAt: 0 },
    ...{ createdAt: 0, finishedAt, duration: null, status: null, answer: '', error: '' },
  })
  const all = [delivery(1, null), delivery(2, 20), delivery(3, 10), delivery(4, 30), delivery(1, 1, 2)]
  await store.write(async (tx) => {
    for (const one of all) {
      await addPayload(tx, payload(one.payload!, one.creator))
      await deliveries.save(tx, one)
    }
  })
  const { bytes } = (await store.read((tx) => hookStorage.get(tx, [1])))!
  /** Says how many of the first user's payloads are left after room is made while so much is kept. */
  const leftWhen = async (kept: number) => {
    const isDone = await store.write(async (tx) => {
      await hookStorage.save(tx, { creator: 1, bytes: kept })
      return makeRoom(tx, payload('new'))
    })
    const left: number[] = []
    for (const { number, payload: id } of all.filter(({ creator }) => creator === 1))
      if ((await store.read((tx) => hookPayloads.get(tx, [id!]))) !== undefined) left.push(number)
    return [isDone, left]
  }
  const size = bytes / 4
  assert.deepEqual(await leftWhen(MAX_KEPT - size), [true, [1, 2, 3, 4]])
  assert.deepEqual(await leftWhen(MAX_KEPT - size + 1), [true, [1, 2, 4]])
  assert.deepEqual(await leftWhen(MAX_KEPT + size), [true, [1]])
  assert.deepEqual(await leftWhen(MAX_KEPT), [false, [1]])
  assert.equal((await store.read((tx) => deliveries.get(tx, [1, 3])))!.payload, null)
  const answerWhen = (kept: number) =>
    store.write(async (tx) => {
      await hookStorage.save(tx, { creator: 1, bytes: kept })
      return (await withAnswer(tx, delivery(1, null), { ...delivery(1, null), answer: 'done' })).answer
    })
  assert.deepEqual([await answerWhen(MAX_KEPT - 4), await answerWhen(MAX_KEPT - 3)], ['done', ''])
  assert.notEqual(await store.read((tx) => hookPayloads.get(tx, ['2-1'])), undefined)
  await store.write((tx) => removeDelivery(tx, delivery(1, 1, 2)))
  assert.deepEqual(
    [
      await store.read((tx) => hookPayloads.get(tx, ['2-1'])),
      await store.read((tx) => hookStorage.get(tx, [2])),
    ],
    [undefined, undefined],
  )
})

it('The answers of receivers count like payloads, and those of the oldest finished deliveries go for new ones', async () => {
  const made = await createSpecStore()
  const store = new Store(made.driver)
  const receiver = await startReceiver((_, res) => void res.end('y'.repeat(5000)))
  const allot = await start(TO_RECEIVERS, { store: async () => made })
  const alice = await allot.person('alice')
  await allot.as(alice, 'POST', '/user/repos', { name: 'app' })
  const { id } = await allot.made(alice, '/repos/alice/app/hooks', hookTo(`${receiver.url}/`, 'issues'))
  const delivered = async (number: number) => {
    await allot.as(alice, 'POST', '/repos/alice/app/issues', { title: 'one' })
    const read = () => store.read((tx) => deliveries.get(tx, [id, number]))
    await waitFor(async () => (await read())?.state === 'delivered')
    return (await read())!.answer.length
  }
  const storage = () => store.read((tx) => hookStorage.get(tx, [alice.id]))
  const bytesOfPayloads = () => receiver.received.reduce((bytes, { text }) => bytes + text.length, 0)

  assert.equal(await delivered(1), 4096)
  assert.equal((await storage())?.bytes, bytesOfPayloads() + 4096)
  assert.equal(await delivered(2), 4096)
  assert.deepEqual((await allot.allot.verify()).messages, [])

  const before = (await storage())!.bytes
  const save = (bytes: number) => store.write((tx) => hookStorage.save(tx, { creator: alice.id, bytes }))
  await save(MAX_KEPT)
  await delivered(3)
  const now = (await storage())!.bytes
  assert.ok(now <= MAX_KEPT)
  const all = await store.read((tx) => deliveries.list(tx, 'hook', { prefix: [id] }))
  assert.deepEqual(
    all.map(({ answer }) => answer.length),
    [0, 4096, 4096],
  )
  await save(now - MAX_KEPT + before)
})
