import assert from 'node:assert/strict'
import { it } from 'node:test'
import { memory } from '../../drivers/memory/index.ts'
import { deliveries, type Hook, hooks } from '../../lib/records/schema/index.ts'
import { Store } from '../../lib/records/store.ts'
import { HostListeners } from '../../lib/webhooks/host-listeners.ts'
import { MAX_PAYLOAD, Outbox } from '../../lib/webhooks/outbox.ts'

const hook: Hook = {
  ...{ id: 1, scope: 'instance', target: 0, creator: 0, type: 'gitea', url: 'https://example.test/' },
  ...{ contentType: 'json', secret: '', authorization: '', events: ['push'], branchFilter: '', active: true },
  ...{ scopes: ['all'], baseUrl: '', createdAt: 0, updatedAt: 0 },
}

it('An event whose payload is too large is not recorded, and is reported', async () => {
  const driver = memory()
  await driver.open()
  const store = new Store(driver)
  let text = ''
  const reported: unknown[] = []
  const outbox = new Outbox({
    isOn: true,
    present: async () => ({ text }),
    listeners: new HostListeners([], () => undefined),
    onFull: () => undefined,
    onTooLarge: (event, characters) => void reported.push({ event, characters }),
  })
  const record = () => store.write((tx) => outbox.test(tx, hook, { event: 'ping', hook }))
  await store.write((tx) => hooks.save(tx, hook))
  const around = JSON.stringify({ text }).length
  text = 'x'.repeat(MAX_PAYLOAD - around)
  await record()
  assert.deepEqual(reported, [])
  text += 'x'
  await record()
  assert.deepEqual(reported, [{ event: 'ping', characters: MAX_PAYLOAD + 1 }])
  assert.equal((await store.read((tx) => deliveries.list(tx, 'waiting', { prefix: [1] }))).length, 1)
})
