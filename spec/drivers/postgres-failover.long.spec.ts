import assert from 'node:assert/strict'
import { before, describe, test } from 'node:test'
import { postgres } from '../../drivers/postgres/index.ts'
import { type StorageDriver, StorageError } from '../../lib/storage/index.ts'
import { bytes, load, openFor, save, text } from '../driver-spec/fixture.ts'
import { type Cluster, missing, startCluster, startStandby } from '../postgres/cluster.ts'
import { startProxy } from '../postgres/proxy.ts'

let primary: Cluster
let standby: Cluster

const startBoth = async () => {
  primary = await startCluster()
  standby = await startStandby(primary)
}

const at = (...ports: number[]): string =>
  primary.tcp.replace(/@[^/]*/, `@${ports.map((port) => `127.0.0.1:${port}`).join(',')}`)

/** Changes nothing when the key has the value already. */
const ensure = (driver: StorageDriver, key: string, value: string): Promise<'changed' | 'unchanged'> =>
  driver.write(async (tx) => {
    if (text(await tx.get(bytes(key))) === value) return 'unchanged'
    tx.put(bytes(key), bytes(value))
    return 'changed'
  })

const isAway = (error: unknown) => error instanceof StorageError && error.reason === 'away'

describe('A URL with several hosts', { skip: missing }, () => {
  before(startBoth)

  test('connects to the primary at any position of the list', async (t) => {
    const orders = [
      [primary.port, standby.port],
      [standby.port, primary.port],
      [1, standby.port, primary.port],
    ]
    for (const ports of orders) {
      const driver = await openFor(t, postgres(`${at(...ports)}?target_session_attrs=read-write`))
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

  test('with one host, a proxy, reads and confirms nothing on a standby', async (t) => {
    const proxy = await startProxy(primary.port)
    const driver = await openFor(t, postgres(`${at(proxy.port)}?target_session_attrs=read-write`))
    await save(driver, { star: 'set' })
    proxy.redirect(standby.port)
    await assert.rejects(load(driver, 'star'), isAway)
    await assert.rejects(ensure(driver, 'star', 'set'), isAway)
    proxy.redirect(primary.port)
    assert.equal(await load(driver, 'star'), 'set')
    assert.equal(await ensure(driver, 'star', 'set'), 'unchanged')
  })

  test('with one host, a standby, cannot be opened', async () => {
    await assert.rejects(postgres(at(standby.port)).open(), /is a standby and takes no writes/)
  })
})

describe('When the primary falls silent', { skip: missing }, () => {
  const proxies: Awaited<ReturnType<typeof startProxy>>[] = []
  before(async () => {
    await startBoth()
    for (const { port } of [primary, standby]) proxies.push(await startProxy(port))
  })

  test('reads and writes go on at the promoted standby, those that wait for a connection too, and an unknown commit is not repeated', async (t) => {
    const [first, second] = proxies
    const driver = await openFor(t, postgres(at(first!.port, second!.port), { connections: 2 }))
    await save(driver, { before: 'kept' })
    first!.silence()
    const since = performance.now()
    const pending = [
      load(driver, 'before'),
      ensure(driver, 'during', 'set').then(() => load(driver, 'during')),
    ]
    await standby.promote()
    const waiting = [...'abcdefgh'].map((key) => ensure(driver, key, 'set'))
    const reads = [...waiting].map(() => load(driver, 'before'))
    assert.deepEqual(await Promise.all(pending), ['kept', 'set'])
    assert.deepEqual(new Set(await Promise.all(waiting)), new Set(['changed']))
    assert.deepEqual(new Set(await Promise.all(reads)), new Set(['kept']))
    const seconds = (performance.now() - since) / 1000
    // A reply has 5 s, and so has the next connection to the silent host. More on a busy machine.
    assert.ok(seconds < 25, `${seconds} s`)
    assert.equal(await ensure(driver, 'during', 'set'), 'unchanged')
  })
})
