import assert from 'node:assert/strict'
import { after, before, describe, type TestContext, test } from 'node:test'
import { postgres } from '../../drivers/postgres/index.ts'
import { type StorageDriver, StorageError } from '../../lib/storage/index.ts'
import { load, save } from '../driver-spec/fixture.ts'
import { type Cluster, missing, startCluster, startStandby } from '../postgres/cluster.ts'

let primary: Cluster
let standby: Cluster

const at = (...ports: number[]): string =>
  primary.tcp.replace(/@[^/]*/, `@${ports.map((port) => `127.0.0.1:${port}`).join(',')}`)

const opened = async (t: TestContext, url: string): Promise<StorageDriver> => {
  const driver = postgres(url)
  t.after(() => driver.close())
  await driver.open()
  return driver
}

describe('A URL with several hosts', { skip: missing }, () => {
  before(async () => {
    primary = await startCluster()
    standby = await startStandby(primary)
  })
  after(async () => {
    await standby.dispose()
    await primary.dispose()
  })

  test('connects to the primary at any position of the list', async (t) => {
    const orders = [
      [primary.port, standby.port],
      [standby.port, primary.port],
      [1, standby.port, primary.port],
    ]
    for (const ports of orders) {
      const driver = await opened(t, `${at(...ports)}?target_session_attrs=read-write`)
      await save(driver, { key: `${ports}` })
      assert.equal(await load(driver, 'key'), `${ports}`)
    }
  })

  test('without a primary cannot be opened, and the error names all hosts', async () => {
    const driver = postgres(at(1, standby.port))
    await assert.rejects(driver.open(), (error: StorageError) => {
      assert.equal(error.reason, 'away')
      assert.match(error.message, /127\.0\.0\.1:1,127\.0\.0\.1:\d+ /)
      return true
    })
  })

  test('with an invalid host or parameter is refused, and the error does not repeat the password', () => {
    const wrong = [
      'postgres://a:secret@one:5432,two:x/d',
      'postgres://a:secret@one/d?target_session_attrs=any',
    ]
    for (const url of wrong)
      assert.throws(
        () => postgres(url),
        (error: Error) => error instanceof StorageError && !/secret/.test(error.message),
      )
  })
})
