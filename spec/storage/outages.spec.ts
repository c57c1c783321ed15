import assert from 'node:assert/strict'
import { it } from 'node:test'
import { level } from '../../drivers/level/index.ts'
import { memory } from '../../drivers/memory/index.ts'
import { openStore } from '../../lib/engine.ts'
import { StorageError } from '../../lib/storage/index.ts'
import { withFaults } from '../driver-spec/fault-injection.ts'
import { assertError } from '../support/expectations.ts'
import { temporaryDirectory } from '../support/folder.ts'
import { start } from '../support/test-server.ts'

for (const shared of [false, true])
  it(`An outage of a host's own database, ${shared ? 'shared with' : 'without'} other processes, has one line in the log when it begins and one when it ends`, async () => {
    let isAway = false
    const driver = withFaults({ ...memory(), name: 'cluster', shared }, async () => {
      if (isAway) throw new StorageError('away', 'the cluster cannot be reached')
    })
    const lines: string[] = []
    const logged = (_: object, message: string) => void lines.push(message)
    const allot = await start({ driver, repositories: false, log: { error: logged, info: logged } })
    lines.length = 0
    for (let outage = 0; outage < 2; outage++) {
      isAway = true
      for (const [method, path] of [
        ['GET', '/user/settings'],
        ['PATCH', '/user/settings'],
        ['GET', '/users/search'],
      ] as const)
        assertError(await allot.as(allot.root, method, path), 503, /^the cluster cannot be reached$/)
      isAway = false
      assert.equal((await allot.as(allot.root, 'GET', '/user/settings')).status, 200)
    }
    await allot.stop()
    const pair = ['the cluster cannot be reached: requests get 503 until it is back', 'the database is back']
    assert.deepEqual(lines, [...pair, ...pair])
  })

it('A store in memory, and one in a folder, are used as they are: neither can be away', async (test) => {
  for (const driver of [memory(), level(temporaryDirectory())]) {
    const log = { error: () => undefined, info: () => undefined }
    const { store } = await openStore(driver, log, { owners: 'either', settings: undefined, isServer: false })
    test.after(() => driver.close())
    assert.equal(store.driver, driver)
  }
})
