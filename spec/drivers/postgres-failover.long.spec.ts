import assert from 'node:assert/strict'
import { before, describe, type TestContext, test } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import { type PostgresOptions, postgres } from '../../drivers/postgres/index.ts'
import { type StorageDriver, StorageError } from '../../lib/storage/index.ts'
import { bytes, load, save, text } from '../driver-spec/fixture.ts'
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

const opened = async (t: TestContext, url: string, options?: PostgresOptions): Promise<StorageDriver> => {
  const driver = postgres(url, options)
  t.after(() => driver.close())
  await driver.open()
  return driver
}

/** Changes nothing when the key has the value already. */
const ensure = (driver: StorageDriver, key: string, value: string): Promise<'changed' | 'unchanged'> =>
  driver.write(async (tx) => {
    if (text(await tx.get(bytes(key))) === value) return 'unchanged'
    tx.put(bytes(key), bytes(value))
    return 'changed'
  })

const isAway = (error: unknown) => error instanceof StorageError && error.reason === 'away'

const engines = [
  ['optimistic', false],
  ['plain', true],
] as const

describe('A URL with several hosts', { skip: missing }, () => {
  before(startBoth)

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

  for (const [engine, plain] of engines)
    test(`with one host, a proxy: the ${engine} engine reads and confirms nothing on a standby`, async (t) => {
      const proxy = await startProxy(primary.port)
      const driver = await opened(t, `${at(proxy.port)}?target_session_attrs=read-write`, { plain })
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

describe('When a standby is promoted while the former primary goes on', { skip: missing }, () => {
  before(startBoth)

  test('processes that have not noticed it read and confirm nothing there, and do not return to it', async (t) => {
    const proxy = await startProxy(primary.port)
    const url = at(primary.port, standby.port)
    const idle = await Promise.all(engines.map(([, plain]) => opened(t, url, { plain })))
    const behindProxy = await opened(t, at(proxy.port), {})
    const drivers = [...idle, behindProxy]
    await save(idle[0]!, { star: 'set', token: 'valid' })
    for (const driver of drivers) assert.equal(await load(driver, 'token'), 'valid')
    await standby.promote()
    const other = await opened(t, at(standby.port))
    // A server is read for 0.1 s after it has proven that it is the primary.
    await setTimeout(100)
    await save(other, { star: 'none', token: 'revoked' })

    const found = await Promise.all(
      idle.flatMap((driver) => [load(driver, 'token'), ensure(driver, 'star', 'set')]),
    )
    assert.deepEqual([found[0], found[2]], ['revoked', 'revoked'])
    assert.ok(found[1] === 'changed' || found[3] === 'changed', 'the star is set on the new primary')
    // A proxy that still leads to the former primary: it cannot prove that it is the primary.
    await assert.rejects(load(behindProxy, 'token'), /has not confirmed in time that it is still the primary/)
    await standby.stop('immediate')
    for (const driver of idle) await assert.rejects(load(driver, 'token'), /reached at a former primary/)
  })
})

describe('When the primary falls silent', { skip: missing }, () => {
  const proxies: Awaited<ReturnType<typeof startProxy>>[] = []
  before(async () => {
    await startBoth()
    for (const { port } of [primary, standby]) proxies.push(await startProxy(port))
  })

  test('reads and writes in flight go on at the promoted standby within 5 seconds, each write once', async (t) => {
    const [first, second] = proxies
    const url = at(first!.port, second!.port)
    const drivers = await Promise.all(engines.map(([, plain]) => opened(t, url, { plain })))
    for (const [index, driver] of drivers.entries()) await save(driver, { [`before ${index}`]: 'kept' })
    first!.silence()
    const pending = drivers.flatMap((driver, index) => [
      load(driver, `before ${index}`),
      ensure(driver, `during ${index}`, 'set').then(() => load(driver, `during ${index}`)),
    ])
    await standby.promote()
    const since = performance.now()
    const found = await Promise.all(pending)
    const seconds = (performance.now() - since) / 1000
    assert.deepEqual(found, ['kept', 'set', 'kept', 'set'])
    // Without a limit of the driver they would wait for minutes. Connections to the standby take a while on
    // a busy machine.
    assert.ok(seconds < 20, `${seconds} s`)
    for (const [index, driver] of drivers.entries())
      assert.equal(await ensure(driver, `during ${index}`, 'set'), 'unchanged')
  })
})
