import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { before, describe, type TestContext, test } from 'node:test'
import pg from 'pg'
import { postgres } from '../../drivers/postgres/index.ts'
import { openAllot } from '../../lib/allot.ts'
import { storedLayout } from '../../lib/records/layout.ts'
import { type StorageDriver, StorageError, type StorageReason } from '../../lib/storage/index.ts'
import { bytes, load, openFor, save, signal, text } from '../driver-spec/fixture.ts'
import { type Cluster, missing, startCluster } from '../postgres/cluster.ts'
import { type Cut, startProxy } from '../postgres/proxy.ts'
import { start } from '../support/test-server.ts'
import { waitFor } from '../support/wait-for.ts'

const storageError =
  (reason: StorageReason, message: RegExp) =>
  (error: unknown): boolean =>
    error instanceof StorageError && error.reason === reason && message.test(error.message)

let cluster: Cluster
let made = 0

/** A URL with a new schema. */
const address = (given: { port?: number; password?: string; database?: string } = {}): string => {
  const url = new URL(cluster.tcp)
  if (given.port !== undefined) url.port = String(given.port)
  if (given.password !== undefined) url.password = given.password
  if (given.database !== undefined) url.pathname = given.database
  url.searchParams.set('schema', `trouble_${++made}`)
  return url.href
}

const pause = (time: number) => new Promise((resolve) => setTimeout(resolve, time))

/** Runs statements in the schema of a URL, and returns the rows of the last one. */
const runSql = async (url: string, ...statements: string[]) => {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    await client.query(`SET search_path = ${new URL(url).searchParams.get('schema')}`)
    let rows: { count: number }[] = []
    for (const statement of statements) rows = (await client.query(statement)).rows
    return rows
  } finally {
    await client.end()
  }
}

/** Lets no statement change entries until the returned function is called. */
const lockEntries = async (t: TestContext, url: string): Promise<() => Promise<unknown>> => {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  t.after(() => client.end())
  await client.query(
    `BEGIN; LOCK TABLE ${new URL(url).searchParams.get('schema')}.allot_entry IN EXCLUSIVE MODE`,
  )
  return () => client.query('COMMIT')
}

const increment = (driver: StorageDriver): Promise<void> =>
  driver.write(async (tx) => {
    const count = Number(text(await tx.get(bytes('count'))) ?? 0)
    tx.put(bytes('count'), bytes(`${count + 1}`))
  })

describe('When PostgreSQL fails', { skip: missing }, () => {
  before(async () => {
    cluster = await startCluster()
  })

  const SECRET = 'not the password'
  const asReader = () => address().replace(/allot:[^@]*/, `reader:${encodeURIComponent(SECRET)}`)
  const wrong: [what: string, url: () => string, message: RegExp][] = [
    ['a wrong password', () => address({ password: SECRET }), /refuses these credentials/],
    ['an unknown database', () => address({ database: 'nowhere' }), /nowhere .*has no such database/],
    ['a closed port', () => address({ port: 1 }), /127\.0\.0\.1:1 cannot be reached: .*ECONNREFUSED/],
    [
      'an unknown host',
      () => address().replace('127.0.0.1', 'host.invalid'),
      /host\.invalid:\d+ cannot be reached/,
    ],
    ['TLS that the server does not speak', () => `${address()}&sslmode=require`, /does not support SSL/],
    ['a user who may not create tables', asReader, /does not grant this user the privileges/],
  ]
  for (const [what, url, message] of wrong)
    test(`a store with ${what} is not opened, and one line without the password says why`, async () => {
      const client = new pg.Client({ connectionString: cluster.url })
      await client.connect()
      await client.query(`DROP ROLE IF EXISTS reader; CREATE ROLE reader LOGIN PASSWORD '${SECRET}'`)
      await client.end()
      const driver = postgres(url())
      await assert.rejects(driver.open(), (error: StorageError) => {
        assert.ok(error instanceof StorageError)
        assert.match(error.message, message)
        assert.doesNotMatch(error.message, /\n|not the password|of the specs/)
        return true
      })
      await assert.rejects(load(driver, 'key'), storageError('closed', /not open/))
    })

  test('a store of a newer version is not opened, and one line names both layouts', async (t) => {
    const url = address()
    const driver = await openFor(t, postgres(url))
    await driver.write(async (tx) => storedLayout.set(tx, 999))
    await assert.rejects(openAllot({ driver: postgres(url), repositories: false }), (error: Error) => {
      assert.match(
        error.message,
        /^the store has layout 999, but this version of Allot reads layouts 1 to \d+: [^\n]*$/,
      )
      return true
    })
  })

  const cuts: { cut: Cut; title: string; isWritten: boolean | undefined }[] = [
    { cut: 'before', title: 'before the changes reach the database', isWritten: false },
    { cut: 'after', title: 'after the changes were sent', isWritten: undefined },
    { cut: 'late', title: 'and the changes arrive later', isWritten: undefined },
  ]
  for (const { cut, title, isWritten } of cuts)
    test(`the connection breaks ${title}: the write is whole or absent, and the error says that this is not known`, async (t) => {
      const proxy = await startProxy(cluster.port)
      const driver = await openFor(t, postgres(address({ port: proxy.port })))
      for (let round = 1; round <= 5; round++) {
        await increment(driver)
        const before = Number(await load(driver, 'count'))
        const happened = proxy.cutNext('allot_change', cut)
        await assert.rejects(increment(driver), storageError('away', /not known whether/))
        await happened
        await proxy.settled()
        const found = Number(await load(driver, 'count')) - before
        assert.ok(isWritten === undefined ? found === 0 || found === 1 : found === Number(isWritten))
      }
    })

  test('the end of a read that fails concerns neither the read nor what uses the connection next', async (t) => {
    const proxy = await startProxy(cluster.port)
    const driver = await openFor(t, postgres(address({ port: proxy.port }), { connections: 1 }))
    await save(driver, { key: 'value' })
    for (const next of [() => load(driver, 'key'), () => save(driver, { key: 'value' })]) {
      proxy.replaceNext('COMMIT', 'NOTHIN')
      assert.equal(await load(driver, 'key'), 'value')
      await next()
      assert.equal(await load(driver, 'key'), 'value')
    }
  })

  test('calls fail as unavailable while it is stopped, and work after its start', async (t) => {
    const driver = await openFor(t, postgres(address()))
    await save(driver, { key: 'value' })
    await cluster.stop('immediate')
    const away = storageError('away', /^the (database cannot be reached|connections to the database break)/)
    // A pooled connection that has not noticed the stop breaks during the commit.
    const unknown = storageError('away', /^the database (cannot be reached|went away during a commit)/)
    await assert.rejects(save(driver, { key: 'other' }), (error) => away(error) || unknown(error))
    await assert.rejects(load(driver, 'key'), away)
    await cluster.start()
    assert.equal(await load(driver, 'key'), 'value')
    await save(driver, { key: 'other' })
    assert.equal(await load(driver, 'key'), 'other')
  })

  test('a write is refused in time, and is not sent afterwards unless its outcome is unknown', async (t) => {
    const url = address()
    const driver = await openFor(t, postgres(url, { writeTimeout: 3000 }))
    await save(driver, { key: 'value', other: 'value' })
    const unlock = await lockEntries(t, url)
    const sent = save(driver, { key: 'sent' })
    await Promise.all([
      assert.rejects(sent, storageError('away', /not known/)),
      pause(100).then(() =>
        assert.rejects(save(driver, { other: 'late' }), storageError('busy', /nothing was written/)),
      ),
    ])
    await unlock()
    await save(driver, { last: 'value' })
    assert.deepEqual([await load(driver, 'key'), await load(driver, 'other')], ['sent', 'value'])
  })

  test('a call fails as busy when all connections stay in use', async (t) => {
    const driver = await openFor(t, postgres(address(), { connections: 1, connectTimeout: 4000 }))
    const [begun, release] = [signal(), signal()]
    const held = driver.read(async (tx) => {
      await tx.get(bytes('key'))
      begun.happen()
      await release.happened
    })
    await begun.happened
    await assert.rejects(load(driver, 'key'), storageError('busy', /in use for too long/))
    release.happen()
    await held
    assert.equal(await load(driver, 'key'), undefined)
  })

  test('a write whose body does not end in time is refused as not written, and those beside it are written', async (t) => {
    const driver = await openFor(t, postgres(address(), { writeTimeout: 3000 }))
    await increment(driver)
    const release = signal()
    const slow = driver.write(async (tx) => {
      tx.put(bytes('slow'), bytes('value'))
      await release.happened
    })
    await assert.rejects(slow, storageError('busy', /nothing was written/))
    const other = increment(driver)
    release.happen()
    await other
    assert.deepEqual([await load(driver, 'count'), await load(driver, 'slow')], ['2', undefined])
  })

  for (const [what, code] of [
    ['fails', 'P0001'],
    ['conflicts each time', '40001'],
  ])
    test(`a write that ${what} does so alone: those that share its batch are written`, async (t) => {
      const url = address()
      const driver = await openFor(t, postgres(url, { retries: 12 }))
      await runSql(
        url,
        `CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
          IF NEW.key = 'bad' THEN RAISE EXCEPTION 'refused' USING ERRCODE = '${code}'; END IF;
          RETURN NEW;
        END $$;
        CREATE TRIGGER refuse BEFORE INSERT ON allot_entry FOR EACH ROW EXECUTE FUNCTION refuse()`,
      )
      const keys = [...Array.from({ length: 60 }, (_, at) => `good ${at}`), 'bad', 'last']
      const outcomes = await Promise.allSettled(keys.map((key) => save(driver, { [key]: 'x' })))
      const failed = keys.filter((_, at) => outcomes[at]!.status === 'rejected')
      assert.deepEqual(failed, ['bad'])
    })

  test('large writes that wait together run a bounded number of times each', async (t) => {
    const driver = await openFor(t, postgres(address()))
    const [writes, keys] = [30, 2500]
    let runs = 0
    const large = (write: number) =>
      driver.write(async (tx) => {
        runs++
        await tx.get(bytes(`${write}`))
        for (let key = 0; key < keys; key++) tx.put(bytes(`${write}/${key}`), bytes('x'))
      })
    await Promise.all(Array.from({ length: writes }, (_, write) => large(write)))
    assert.ok(runs <= 3 * writes, `${runs} runs`)
  })

  test('a commit whose wait for a synchronous standby an operator cancels is not acknowledged', async (t) => {
    const url = address()
    // The role hides warnings, which tell of it.
    await runSql(url, "ALTER ROLE allot SET client_min_messages = 'error'")
    const driver = await openFor(t, postgres(url))
    const standbys = (names: string) =>
      runSql(url, `ALTER SYSTEM SET synchronous_standby_names = '${names}'`, 'SELECT pg_reload_conf()')
    await standbys('nobody')
    t.after(async () => {
      await standbys('')
      await runSql(url, 'ALTER ROLE allot RESET client_min_messages')
    })
    // The server applies the setting a moment later: writes succeed until then.
    const writeUntilRefused = async () => {
      for (;;) await save(driver, { key: 'value' })
    }
    const canceled = assert.rejects(writeUntilRefused(), storageError('away', /not known whether/))
    await waitFor(async () => {
      const [{ count } = { count: 0 }] = await runSql(
        url,
        `SELECT count(pg_cancel_backend(pid))::int FROM pg_stat_activity
          WHERE application_name = 'allot' AND wait_event = 'SyncRep'`,
      )
      return count > 0
    })
    await canceled
  })

  test('what asks whether a connection is alive still does so within a minute while it is idle', async (t) => {
    const driver = await openFor(t, postgres(address(), { exclusive: true }))
    await load(driver, 'key')
    // Columns of proc(5): addresses in hexadecimal, and the kind of the timer with its time in jiffies.
    const remote = `0100007F:${cluster.port.toString(16).toUpperCase().padStart(4, '0')}`
    await waitFor(async () => {
      const timers = (await readFile('/proc/self/net/tcp', 'utf8'))
        .split('\n')
        .map((line) => line.trim().split(/\s+/))
        .filter(([, , to, state]) => to === remote && state === '01')
        .map((fields) => fields[5]!.split(':'))
      const isKeepAlive = timers.every(([kind, time]) => kind === '02' && Number.parseInt(time!, 16) <= 6000)
      return timers.length > 0 && isKeepAlive
    })
  })

  test('the API answers 503 with Retry-After, and the log has a line when the database goes and when it is back', async (t) => {
    const lines: { level: string; message: string; fields: Record<string, unknown> }[] = []
    const logged = (level: string) => (fields: object, message: string) =>
      void lines.push({ level, message, fields: { ...fields } })
    const log = { error: logged('error'), info: logged('info') }
    const running = await start({ driver: postgres(address()), repositories: false, log })
    t.after(() => running.stop())
    assert.equal((await running.as(running.root, 'GET', '/user')).status, 200)
    lines.length = 0
    await cluster.stop('immediate')
    const requests = Array.from({ length: 10 }, () => [
      ['GET', '/user'],
      ['PUT', '/user/following/root'],
    ]).flat()
    for (const [method, path] of requests) {
      const { status, headers, body } = await running.as(running.root, method!, path!)
      assert.equal(status, 503)
      assert.equal(headers.get('retry-after'), '1')
      assert.equal(body.message, 'the database cannot be reached')
    }
    await cluster.start()
    assert.equal((await running.as(running.root, 'GET', '/user')).status, 200)
    const [away, back] = lines
    assert.equal(lines.length, 2, JSON.stringify(lines))
    assert.equal(away!.message, 'the database cannot be reached: requests get 503 until it is back')
    // Which one depends on the moment: it refuses connections, says that it shuts down, or ends them.
    assert.match(String(away!.fields.reasons), /\S/)
    assert.doesNotMatch(JSON.stringify(lines), /stack|of the specs/)
    assert.equal(back!.message, 'the database is back')
    assert.ok(Number(back!.fields.seconds) > 0 && Number(back!.fields.failed) >= requests.length)
  })

  test('a write fails as busy at once when 5,000 others wait', async (t) => {
    const url = address()
    const driver = await openFor(t, postgres(url, { writeTimeout: 120_000 }))
    await save(driver, { key: 'value' })
    const unlock = await lockEntries(t, url)
    const writes = Array.from({ length: 5000 }, (_, index) => save(driver, { key: `${index}` }))
    const waiting = Promise.allSettled(writes)
    await assert.rejects(save(driver, { key: 'late' }), storageError('busy', /too many writes wait/))
    await unlock()
    await waiting
    await save(driver, { key: 'free' })
    assert.equal(await load(driver, 'key'), 'free')
  })

  test('writes whose time is over take no place among the 5,000 that may wait', async (t) => {
    const release = signal()
    t.after(release.happen)
    const driver = await openFor(t, postgres(address(), { writeTimeout: 2000 }))
    const begun = signal()
    const held = driver.write(() => {
      begun.happen()
      return release.happened
    })
    await begun.happened
    const late = Array.from({ length: 5000 }, (_, index) => save(driver, { key: `${index}` }))
    await Promise.allSettled([held, ...late])
    await assert.rejects(save(driver, { key: 'next' }), storageError('busy', /nothing was written/))
  })

  test('a statement that exceeds its time limit fails as busy and writes nothing', async (t) => {
    const url = address()
    const driver = await openFor(t, postgres(url, { statementTimeout: 2000 }))
    await save(driver, { key: 'value' })
    const other = new pg.Client({ connectionString: url })
    await other.connect()
    t.after(() => other.end())
    await other.query(
      `BEGIN; SELECT * FROM ${new URL(url).searchParams.get('schema')}.allot_entry FOR UPDATE`,
    )
    await assert.rejects(save(driver, { key: 'late' }), storageError('busy', /did not answer in time/))
    assert.equal(await load(driver, 'key'), 'value')
    await other.query('COMMIT')
    assert.equal(await load(driver, 'key'), 'value')
    await save(driver, { key: 'free' })
    assert.equal(await load(driver, 'key'), 'free')
  })
})
