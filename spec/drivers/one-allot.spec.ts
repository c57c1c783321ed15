import assert from 'node:assert/strict'
import { Readable } from 'node:stream'
import { it } from 'node:test'
import { memory } from '../../drivers/memory/index.ts'
import { createAllot, createQuota, importAllot } from '../../lib/index.ts'
import { temporaryDirectory } from '../support/folder.ts'

it('A driver that is not shared is open in one Allot at a time', async () => {
  const driver = memory()
  const options = { driver, repositories: false, files: { directory: temporaryDirectory() } } as const
  const first = await createAllot(options)
  const refused = {
    code: 'unavailable',
    reason: 'locked',
    message: /^another Allot of this process has this driver open/,
  }
  await assert.rejects(createAllot(options), refused)
  await assert.rejects(createQuota({ driver }), refused)
  await assert.rejects(importAllot(options, Readable.from([])), refused)
  await first.quota.rules.create({ name: 'small', limit: 1, subjects: ['size:all'] })
  await first.close()
  const second = await createAllot(options)
  assert.equal((await second.quota.rules.get('small'))?.limit, 1)
  await second.close()
})

it('A driver stays open when an Allot that has closed it before closes again', async () => {
  const driver = memory()
  const first = await createQuota({ driver })
  await first.close()
  const second = await createQuota({ driver })
  await first.close()
  assert.equal(await second.isOver('tenant', 'size:all'), false)
  await second.close()
})

it('A driver that is shared closes with the last Allot that has it open', async () => {
  const driver = { ...memory(), shared: true }
  const [first, second] = [await createQuota({ driver }), await createQuota({ driver })]
  await first.close()
  await assert.rejects(first.isOver('tenant', 'size:all'), { reason: 'closed' })
  assert.equal(await second.isOver('tenant', 'size:all'), false)
  await second.close()
  await assert.rejects(
    driver.read(async () => undefined),
    { reason: 'closed' },
  )
})
