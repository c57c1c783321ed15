import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import pg from 'pg'
import { type PostgresOptions, postgres } from '../../drivers/postgres/index.ts'
import { StorageError } from '../../lib/storage/index.ts'
import { openFor } from '../driver-spec/fixture.ts'
import { type Candidate, driverSpec } from '../driver-spec.ts'
import { missing } from '../postgres/cluster.ts'
import { emptyStore } from '../postgres/empty-store.ts'
import { onPostgres } from '../support/store.ts'
import { waitFor } from '../support/wait-for.ts'

/** Partitions as in docs/scale.md. The keys of the suite lie on both sides of each bound and on it. */
const partition = async (url: string): Promise<void> => {
  const client = new pg.Client({ connectionString: url })
  const schema = new URL(url).searchParams.get('schema')!
  await client.connect()
  const made = `CREATE SCHEMA ${schema};
    CREATE TABLE ${schema}.allot_entry (key bytea PRIMARY KEY, value bytea NOT NULL) PARTITION BY RANGE (key)`
  const bounds = ['MINVALUE', "'c'", "'k'", "'k3'", "'\\xff'", 'MAXVALUE']
  const parts = bounds.slice(1).map(
    (end, at) => `CREATE TABLE ${schema}.part_${at} PARTITION OF ${schema}.allot_entry
      FOR VALUES FROM (${bounds[at]}) TO (${end})`,
  )
  for (const text of [made, ...parts]) await client.query(text)
  await client.end()
}

/** URL of an empty store, which goes when the tests of the file have ended. */
const newStore = async (): Promise<string> => (await emptyStore()).url

/** Ends the one connection that holds the lock of a store, as an administrator of the database can. */
const cutLock = async (url: string): Promise<void> => {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  const cut = `SELECT pg_terminate_backend(pid) FROM pg_locks WHERE locktype = 'advisory' AND objsubid = 2
    AND classid = '${new URL(url).searchParams.get('schema')}.allot_entry'::regclass`
  assert.equal((await client.query(cut)).rowCount, 1)
  await client.end()
}

const candidate = (
  name: string,
  options: PostgresOptions,
  prepare?: (url: string) => Promise<void>,
): Candidate => ({
  name,
  durable: true,
  shared: true,
  async create() {
    const { url, drop } = await emptyStore()
    await prepare?.(url)
    const made = [postgres(url, options)]
    return {
      driver: made[0]!,
      async reopen() {
        made.push(postgres(url, options))
        return made.at(-1)!
      },
      recipe: {
        module: import.meta.resolve('../../drivers/postgres/index.ts'),
        name: 'postgres',
        parameters: [url],
      },
      async dispose() {
        await Promise.all(made.map((driver) => driver.close()))
        await drop()
      },
    }
  },
})

describe('An exclusive driver', { skip: missing }, () => {
  const refusedWith = (reason: string) => (error: unknown) =>
    error instanceof StorageError && error.reason === reason

  test('is refused while others use the store', async (t) => {
    const url = await newStore()
    const [one, other] = [await openFor(t, postgres(url)), await openFor(t, postgres(url))]
    await assert.rejects(postgres(url, { exclusive: true }).open(), refusedWith('locked'))
    await one.close()
    await assert.rejects(postgres(url, { exclusive: true }).open(), refusedWith('locked'))
    await other.close()
    await openFor(t, postgres(url, { exclusive: true }))
  })

  test('keeps others from opening its store, and not from opening one in another schema', async (t) => {
    const [url, elsewhere] = [await newStore(), await newStore()]
    const driver = await openFor(t, postgres(url, { exclusive: true }))
    await assert.rejects(postgres(url).open(), refusedWith('busy'))
    await openFor(t, postgres(elsewhere))
    await driver.close()
    await openFor(t, postgres(url))
  })

  test('is refused by a process whose connections were cut since it opened the store', async (t) => {
    const url = await newStore()
    const driver = await openFor(t, postgres(url))
    await cutLock(url)
    await driver.read(async (tx) => tx.get(Buffer.from('key')))
    await assert.rejects(postgres(url, { exclusive: true }).open(), refusedWith('locked'))
  })
})

describe('An exclusive driver that was cut off from its lock', { skip: missing }, () => {
  test('neither reads nor writes once it knows, also before another process opens the store', async (t) => {
    const url = await newStore()
    const driver = await openFor(t, postgres(url, { exclusive: true }))
    await driver.write(async (tx) => tx.put(Buffer.from('key'), Buffer.from('own')))
    await cutLock(url)
    const isRefused = async (work: Promise<unknown>) =>
      (await work.catch((error: unknown) => error)) instanceof StorageError
    // Other connections serve reads until the driver has been told that the one with the lock has ended.
    await waitFor(() => isRefused(driver.read(async (tx) => tx.get(Buffer.from('key')))))
    const late = driver.write(async (tx) => tx.put(Buffer.from('key'), Buffer.from('late')))
    assert.ok(await isRefused(late))
    const other = await openFor(t, postgres(url))
    const value = await other.read(async (tx) => tx.get(Buffer.from('key')))
    assert.equal(Buffer.from(value!).toString(), 'own')
  })
})

describe('A driver', { skip: missing }, () => {
  test('commits many waiting writes in transactions of about 2,000 keys', async (t) => {
    const url = await newStore()
    const driver = await openFor(t, postgres(url))
    const [writes, keys] = [500, 20]
    await Promise.all(
      Array.from({ length: writes }, (_, write) =>
        driver.write(async (tx) => {
          for (let key = 0; key < keys; key++) tx.put(Buffer.from(`${write}/${key}`), Buffer.from('x'))
        }),
      ),
    )
    const client = new pg.Client({ connectionString: url })
    await client.connect()
    t.after(() => client.end())
    const table = `${new URL(url).searchParams.get('schema')}.allot_entry`
    const { rows } = await client.query(`SELECT count(*)::int AS keys FROM ${table} GROUP BY xmin`)
    const sizes: number[] = rows.map((row) => row.keys)
    assert.ok(sizes.reduce((sum, size) => sum + size, 0) >= writes * keys)
    // A batch is full when it has more than 2,000 keys, so the last write may exceed it.
    assert.ok(Math.max(...sizes) <= 2000 + keys, `${sizes}`)
  })
})

describe('A read with the name of one before', { skip: missing }, () => {
  const [values, size, step] = [400, 50_000, 50]
  const keys = Array.from({ length: values }, (_, at) => Buffer.from(`key ${at}`))

  test('holds no more than the body does that reads large values in steps', async (t) => {
    const driver = await openFor(t, postgres(await newStore()))
    await driver.write(async (tx) => {
      for (const key of keys) tx.put(key, Buffer.alloc(size))
    })
    const results: number[] = []
    const client = pg.Client.prototype as unknown as { query: (...given: unknown[]) => Promise<unknown> }
    t.mock.method(client, 'query', noting(client.query, results))
    for (let time = 0; time < 3; time++)
      await driver.read(async (tx) => {
        for (let at = 0; at < values; at += step) await tx.getMany(keys.slice(at, at + step))
      }, 'name')
    assert.ok(results.length > 0 && Math.max(...results) <= step + 20, `${results}`)
  })

  test('takes no more memory for what is remembered than 16 MiB, whatever is read', async (t) => {
    setFlagsFromString('--expose-gc')
    const collectGarbage = runInNewContext('gc') as () => void
    const driver = await openFor(t, postgres(await newStore()))
    const heldBytes = () => {
      collectGarbage()
      const { heapUsed, external } = process.memoryUsage()
      return heapUsed + external
    }
    const before = heldBytes()
    for (let at = 0; at < 150; at++)
      await driver.read(async (tx) => {
        await tx.getMany(Array.from({ length: 400 }, (_, key) => longKey(at, key)))
      }, `${at}`)
    // Node frees some of the memory of what has ended later.
    await waitFor(() => heldBytes() - before < 32 * 1024 * 1024)
  })
})

/** In Node's pool of memory, beside much that is not kept. */
const longKey = (read: number, key: number): Buffer => {
  Buffer.allocUnsafe(3000)
  return Buffer.from(`${read}/${key}/${'x'.repeat(1000)}`)
}

/** Notes how many rows each statement has found. */
const noting = (query: (...given: unknown[]) => Promise<unknown>, counts: number[]) =>
  async function (this: unknown, ...given: unknown[]) {
    const result = (await query.apply(this, given)) as { rows?: unknown[] }
    counts.push(result.rows?.length ?? 0)
    return result
  }

describe('The driver on PostgreSQL', { skip: missing }, () => {
  driverSpec(candidate('postgres', {}))
  // The other configurations run in `npm run spec:postgres`.
  if (!onPostgres) return
  driverSpec(candidate('postgres with a partitioned table', {}, partition))
  driverSpec(candidate('postgres with two connections', { connections: 2 }))
})
