import assert from 'node:assert/strict'
import { chownSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { before, describe, type TestContext, test } from 'node:test'
import { type PostgresOptions, postgres } from '../../drivers/postgres/index.ts'
import { StorageError } from '../../lib/storage/index.ts'
import { load, openFor, save } from '../driver-spec/fixture.ts'
import { type Cluster, startCluster, unprivileged } from '../postgres/cluster.ts'
import { run } from '../support/child.ts'
import { temporaryDirectory } from '../support/folder.ts'
import { lacks } from '../support/requirements.mjs'

let folder: string
let cluster: Cluster

/** A self-signed certificate for 127.0.0.1. */
const certificate = async (name: string): Promise<{ cert: string; key: string }> => {
  const [cert, key] = [join(folder, `${name}.pem`), join(folder, `${name}.key`)]
  const subject = ['-subj', '/CN=127.0.0.1', '-addext', 'subjectAltName=IP:127.0.0.1']
  const words = ['req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-days', '1', ...subject]
  await run('openssl', [...words, '-keyout', key, '-out', cert])
  const { uid, gid } = unprivileged()
  for (const file of [folder, cert, key]) if (uid !== undefined) chownSync(file, uid, gid!)
  return { cert, key }
}

const url = (query: string) => `${cluster.tcp}?${query}`

const works = async (t: TestContext, given: string, options?: PostgresOptions): Promise<void> => {
  const driver = await openFor(t, postgres(given, options))
  await save(driver, { key: 'value' })
  assert.equal(await load(driver, 'key'), 'value')
}

describe('PostgreSQL over TLS', { skip: lacks('PostgreSQL', 'openssl') }, () => {
  let own: string
  let foreign: string
  before(async () => {
    folder = temporaryDirectory()
    const { cert, key } = await certificate('own')
    own = cert
    foreign = (await certificate('foreign')).cert
    cluster = await startCluster({ settings: ['ssl=on', `ssl_cert_file=${cert}`, `ssl_key_file=${key}`] })
  })

  test('connects with the certificate that the URL names', (t) =>
    works(t, url(`sslmode=verify-full&sslrootcert=${own}`)))

  test('connects with the certificate of the options', (t) =>
    works(t, cluster.tcp, { tls: { ca: readFileSync(own) } }))

  for (const [what, query] of [
    ['another certificate', () => `sslmode=verify-full&sslrootcert=${foreign}`],
    ['no certificate', () => 'sslmode=verify-full'],
  ] as const)
    test(`is refused when ${what} is trusted`, async () => {
      const driver = postgres(url(query()))
      await assert.rejects(driver.open(), (error: StorageError) => {
        assert.ok(error instanceof StorageError)
        assert.match(error.message, /certificate/)
        return true
      })
    })

  test('encrypts every connection', async (t) => {
    await openFor(t, postgres(url(`sslmode=verify-full&sslrootcert=${own}`)))
    const { default: pg } = await import('pg')
    const client = new pg.Client({ connectionString: cluster.url })
    await client.connect()
    const { rows } = await client.query(
      `SELECT ssl FROM pg_stat_ssl JOIN pg_stat_activity USING (pid) WHERE application_name = 'allot'`,
    )
    await client.end()
    assert.ok(rows.length > 0 && rows.every(({ ssl }) => ssl === true))
  })
})
