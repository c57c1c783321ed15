import assert from 'node:assert/strict'
import { it } from 'node:test'
import { temporaryDirectory } from '../support/folder.ts'
import { times } from '../support/long.ts'
import { killAmidDeliveries } from './kills.ts'

it('Deliveries survive kills of the server: none is lost, and their order is kept', async () => {
  const { faults, received } = await killAmidDeliveries({
    kills: times(1, 2),
    deliveries: 60,
    data: temporaryDirectory(),
  })
  assert.deepEqual(faults, [])
  assert.ok(received >= 60)
})
