import assert from 'node:assert/strict'
import { cpSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { output, printed, spawnChild } from '../support/child.ts'
import { folder, json, pack, root, run } from './packed.ts'

/** `npm run spec:pack`: the example with packages of its own, which come from the registry. */
const example = join(root, 'examples/tus-uploads')
const project = join(folder, 'tus-uploads')

/** Uploads a file with the published client, and prints how that ended. */
const CLIENT = `import { Upload } from 'tus-js-client'
const [endpoint, owner, bytes, chunkSize] = process.argv.slice(2)
const upload = new Upload(Buffer.alloc(Number(bytes)), {
  ...{ endpoint, chunkSize: Number(chunkSize), retryDelays: null },
  headers: owner === '' ? {} : { 'X-Forwarded-User': owner },
  metadata: { filename: 'a.bin', owner: 'mallory' },
  onSuccess: () => console.log(upload.url),
  onError: (error) => console.log(error.originalResponse?.getStatus(), error.originalResponse?.getBody()),
})
upload.start()
`

/** Reads what the example has recorded, while its server is stopped. */
const LOOK = `import { createQuota } from 'allot'
const quota = await createQuota({ data: './data' })
for (const owner of ['alice', 'bob', 'mallory'])
  console.log(owner, (await quota.explain(owner, 'size:all')).used)
const entries = await quota.ledger.list({ kind: 'artifacts', prefix: 'tus/' })
console.log(entries.filter(({ name }) => name === 'a.bin').map(({ size }) => size).sort().join(' '))
await quota.close()
`

describe('The example for tus', () => {
  before(async () => {
    const { tarball } = await pack()
    cpSync(example, project, { recursive: true })
    const manifest = json<{ dependencies: Record<string, string> }>(join(project, 'package.json'))
    manifest.dependencies.allot = `file:${tarball}`
    writeFileSync(join(project, 'package.json'), JSON.stringify(manifest))
    await run('npm', ['install', '--no-audit', '--no-fund', 'tus-js-client@4', '@types/node@20'], project)
    writeFileSync(join(project, 'client.mjs'), CLIENT)
    writeFileSync(join(project, 'look.mjs'), LOOK)
  })
  after(() => rmSync(folder, { recursive: true }))

  const startServer = async () => {
    const env = { ...process.env, PORT: '0' }
    const child = spawnChild(process.execPath, ['--import', 'tsx', 'server.ts'], { cwd: project, env })
    const ended = output(child)
    const [uploads] = await printed(child, /http:\S+/)
    const stop = () => {
      child.kill('SIGTERM')
      return ended
    }
    return { uploads, stop }
  }

  it('compiles in strict TypeScript', async () => {
    const strict = [
      '--strict',
      '--target',
      'es2023',
      '--module',
      'nodenext',
      '--types',
      'node',
      '--skipLibCheck',
    ]
    const compiler = join(root, 'node_modules/typescript/bin/tsc')
    await run(process.execPath, [compiler, ...strict, '--noEmit', 'server.ts'], project)
  })

  it('records complete uploads, refuses those that do not fit with 413 and those of unknown size with 411, and forgets deleted ones', async () => {
    const { uploads, stop } = await startServer()
    const upload = async (owner: string, bytes: number, chunkSize = bytes) =>
      (
        await run(process.execPath, ['client.mjs', uploads, owner, `${bytes}`, `${chunkSize}`], project)
      ).trim()
    const first = await upload('alice', 600_000, 100_000)
    assert.match(first, /^http:/)
    assert.match(await upload('alice', 600_000), /^413 over quota/)
    assert.match(await upload('bob', 600_000), /^http:/)
    assert.match(await upload('', 10), /^401 sign in first/)
    const headers = { 'Tus-Resumable': '1.0.0', 'X-Forwarded-User': 'bob', 'Upload-Defer-Length': '1' }
    const deferred = await fetch(uploads, { method: 'POST', headers })
    assert.deepEqual(
      [deferred.status, await deferred.text()],
      [411, 'announce the size with Upload-Length\n'],
    )
    const second = await upload('alice', 448_576)
    assert.match(second, /^http:/)
    assert.match(await upload('alice', 1), /^413 over quota/)
    const remove = async (owner: string) => {
      const headers = { 'Tus-Resumable': '1.0.0', 'X-Forwarded-User': owner }
      return (await fetch(second, { method: 'DELETE', headers })).status
    }
    assert.equal(await remove('bob'), 404)
    assert.equal(await remove('alice'), 204)
    assert.match(await upload('alice', 1), /^http:/)
    const create = async (owner: string, bytes: number) => {
      const headers = { 'Tus-Resumable': '1.0.0', 'X-Forwarded-User': owner, 'Upload-Length': `${bytes}` }
      return (await fetch(uploads, { method: 'POST', headers })).status
    }
    for (const [owner, bytes, fit] of [
      ['carol', 104_857, 10],
      ['dave', 900_000, 1],
    ] as const) {
      const statuses = await Promise.all(Array.from({ length: 50 }, () => create(owner, bytes)))
      assert.equal(statuses.filter((status) => status === 201).length, fit)
    }
    await stop()
    const looked = await run(process.execPath, ['look.mjs'], project)
    assert.match(looked, /^alice 600001\nbob 600000\nmallory 0\n1 600000 600000\n$/)
    assert.ok(readdirSync(join(project, 'uploads')).length >= 3)
  })
})
