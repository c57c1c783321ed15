import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Lifecycle } from '../../lib/storage/index.ts'

test('a resource that is opened while it is renewed is acquired once', async () => {
  let held = 0
  const lifecycle = new Lifecycle(
    async () => {
      assert.equal(held, 0, 'only one can be held')
      return ++held
    },
    async () => void held--,
  )
  await lifecycle.open()
  lifecycle.renew()
  await lifecycle.open()
  assert.equal(await lifecycle.use(async (resource) => resource), 1)
  await lifecycle.close()
  assert.equal(held, 0)
})
