import assert from 'node:assert/strict'
import { it } from 'node:test'
import { startReceiver } from '../support/receiver.ts'
import { stopTimers } from '../support/stopped-timers.ts'
import { start } from '../support/test-server.ts'
import { waitFor } from '../support/wait-for.ts'

it('A delivery that failed is tried again after its pause, although the clock is set back by an hour meanwhile', async (test) => {
  let answers = 0
  const receiver = await startReceiver((_, res) => void res.writeHead(answers++ < 2 ? 500 : 200).end())
  const allot = await start({ repositories: false, webhooks: { allowedHosts: ['127.0.0.1'] } })
  const created = await allot.as(allot.root, 'POST', '/user/hooks', {
    type: 'gitea',
    config: { url: `${receiver.url}/clock`, content_type: 'json' },
    events: ['issues'],
    active: true,
  })
  const hook = `/user/hooks/${created.body.id}`
  const delivery = async () => (await allot.as(allot.root, 'GET', `${hook}/deliveries/1`)).body
  test.mock.timers.enable({ apis: ['Date'], now: Date.now() })
  const passTimers = stopTimers(test, 'lib/webhooks/')
  const tick = (milliseconds: number) => {
    test.mock.timers.tick(milliseconds)
    passTimers(milliseconds)
  }
  await allot.as(allot.root, 'POST', `${hook}/tests`)
  await waitFor(async () => (await delivery()).attempts === 1)
  const { now } = Date
  test.mock.method(Date, 'now', () => now() - 3600_000)
  tick(1000)
  await waitFor(async () => (await delivery()).attempts === 2)
  tick(2000)
  await waitFor(async () => (await delivery()).status === 'delivered')
  const { status, attempts } = await delivery()
  assert.deepEqual([status, attempts], ['delivered', 3])
})
