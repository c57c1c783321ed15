import assert from 'node:assert/strict'
import { existsSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { level } from '../../drivers/level/index.ts'
import { memory } from '../../drivers/memory/index.ts'
import { type OpenAllot, openAllot } from '../../lib/allot.ts'
import { folderOf } from '../../lib/git/folders.ts'
import { importAllot, type StorageDriver } from '../../lib/index.ts'
import { contentOf, openWith, rawOf } from '../records/raw.ts'
import { assertError } from '../support/expectations.ts'
import { temporaryDirectory } from '../support/folder.ts'
import { start } from '../support/test-server.ts'
import { waitFor } from '../support/wait-for.ts'
import { git, inChunks, pushInto } from './instance.ts'

const folder = temporaryDirectory()

/** Entries that change in every round; others only fill the export. */
const KEYS = 40
const OTHERS = 1000

/** Sets the size of every ledger entry in one transaction. */
const round = (allot: OpenAllot, size: number): Promise<number> =>
  allot.ledger.batch(Array.from({ length: KEYS }, (_, n) => entry(`${n * (OTHERS / KEYS)} live`, size)))

const fill = (allot: OpenAllot): Promise<number> =>
  allot.ledger.batch(Array.from({ length: OTHERS }, (_, n) => entry(`${n} other`, 0)))

const entry = (key: string, size: number) => ({
  ...{ op: 'put' as const, kind: 'artifacts' as const, key, size },
  ...{ repository: 'ann/demo', name: 'x'.repeat(250), run: 1 },
})

const anInstance = async (driver: StorageDriver, directory: string): Promise<OpenAllot> => {
  const allot = await openAllot({ driver, repositories: { directory } })
  const ann = await allot.hosting.accounts.createUser({ name: 'ann' })
  await allot.hosting.repositories.create(ann, ann, { name: 'demo', autoInit: true })
  return allot
}

describe('An export while others write', () => {
  for (const [name, driver] of [
    ['level', level(join(folder, 'level'))],
    ['memory', memory()],
  ] as const)
    it(`is a snapshot, on the driver ${name}`, async () => {
      const allot = await anInstance(driver, join(folder, `${name}-repositories`))
      await fill(allot)
      await round(allot, 1)
      let [rounds, writing] = [1, true]
      const writer = (async () => {
        while (writing) await round(allot, ++rounds)
      })()
      const chunks: Uint8Array[] = []
      const seen = new Set<number>()
      await allot
        .export(async (bytes) => {
          chunks.push(bytes)
          // Waits for at least one round between two chunks.
          const now = rounds
          await waitFor(() => rounds > now)
          seen.add(rounds)
        })
        .finally(() => {
          writing = false
        })
      await writer
      await allot.close()
      assert.ok(seen.size > 5, `only ${seen.size} rounds went by`)

      const copy = memory()
      const directory = join(folder, `${name}-copy`)
      await importAllot({ driver: copy, repositories: { directory } }, inChunks(Buffer.concat(chunks)))
      const moved = await openAllot({ driver: copy, repositories: { directory } })
      const sizeOf = async (n: number) =>
        (await moved.ledger.get({ kind: 'artifacts', key: `${n * (OTHERS / KEYS)} live` }))!.size
      const size = await sizeOf(0)
      for (let n = 0; n < KEYS; n++) assert.equal(await sizeOf(n), size)
      assert.equal((await moved.quota.info('ann')).used.size.assets.artifacts, KEYS * size)
      await moved.close()
    })

  it('contains a repository that is deleted meanwhile, whose git data is removed afterwards', async () => {
    const directory = join(folder, 'deleted')
    const allot = await anInstance(memory(), directory)
    pushInto(folderOf(directory, 1))
    const chunks: Uint8Array[] = []
    let isGone = false
    await allot.export(async (bytes) => {
      chunks.push(bytes)
      if (isGone) return
      assert.ok(await allot.hosting.repositories.remove(1))
      isGone = true
      assert.ok(existsSync(folderOf(directory, 1)))
    })
    assert.ok(!existsSync(folderOf(directory, 1)))
    await allot.close()
    const copied = join(folder, 'deleted-copy')
    await importAllot(
      { driver: memory(), repositories: { directory: copied } },
      inChunks(Buffer.concat(chunks)),
    )
    assert.match(git('-C', folderOf(copied, 1), 'log', '--oneline', 'main'), /more\n.*Initial commit/)
  })

  it('says of how many repositories the data is not on the disk, and so does its import', async () => {
    const directory = join(folder, 'elsewhere')
    const allot = await anInstance(memory(), directory)
    pushInto(folderOf(directory, 1))
    const chunks: Uint8Array[] = []
    const write = async (bytes: Uint8Array) => void chunks.push(bytes)
    assert.equal((await allot.export(write)).missing, 0)
    chunks.length = 0
    // As another server does that shares the store.
    rmSync(folderOf(directory, 1), { recursive: true })
    assert.equal((await allot.export(write)).missing, 1)
    await allot.close()
    const target = { driver: memory(), repositories: { directory: join(folder, 'elsewhere-copy') } }
    assert.equal((await importAllot(target, inChunks(Buffer.concat(chunks)))).missing, 1)
  })

  it('removes deleted repositories when it fails; after a kill, the next start removes them', async () => {
    const directory = join(folder, 'failed')
    const driver = memory()
    const allot = await anInstance(driver, directory)
    const broken = allot.export(async () => {
      await allot.hosting.repositories.remove(1)
      throw new Error('the disk of the backup is full')
    })
    await assert.rejects(broken, /the disk of the backup is full/)
    assert.ok(!existsSync(folderOf(directory, 1)))

    const ann = (await allot.hosting.accounts.byName('ann'))!
    const { id } = await allot.hosting.repositories.create(ann, ann, { name: 'second' })
    await new Promise<void>((resolve) => {
      void allot.export(async () => {
        await allot.hosting.repositories.remove(id)
        resolve()
        // As in a killed process, nothing runs afterwards.
        await new Promise(() => undefined)
      })
    })
    assert.ok(existsSync(folderOf(directory, id)))
    const left = memory()
    await openWith(left, await rawOf(driver))
    const again = await openAllot({ driver: left, repositories: { directory } })
    assert.ok(!existsSync(folderOf(directory, id)))
    await again.close()
  })
})

describe('GET /admin/export', () => {
  it('streams the export to administrators only', async () => {
    const driver = memory()
    const server = await start({ driver })
    const { token } = server.root
    const ann = await server.person('ann', { password: 'a long password' })
    assert.equal((await server.request('GET', '/admin/export')).status, 401)
    assert.equal((await server.request('GET', '/admin/export', { token: ann.token })).status, 403)
    const narrow = await server.scoped(server.root, 'write:user', 'read:admin', 'write:admin')
    const refused = await server.request('GET', '/admin/export', { token: narrow })
    assertError(refused, 403, /\[read:secrets\]/)
    const secrets = { token: await server.scoped(server.root, 'read:secrets') }
    assert.equal((await server.request('GET', '/admin/export', secrets)).status, 200)
    const answer = await server.request('GET', '/admin/export', { token })
    assert.equal(answer.status, 200)
    assert.equal(answer.headers.get('content-type'), 'application/x-ndjson')
    const [first, ...lines] = answer.text.trimEnd().split('\n')
    assert.match(
      first!,
      /^\{"format":"allot-export","version":1,"layout":\d+,"time":"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ"\}$/,
    )
    const { end, lines: count, sha256 } = JSON.parse(lines.pop()!)
    assert.deepEqual([end, count], [true, lines.length])
    assert.match(sha256, /^[0-9a-f]{64}$/)
    const before = await contentOf(driver)
    const copy = memory()
    await importAllot({ driver: copy, repositories: false }, inChunks(Buffer.from(answer.text)))
    await copy.open()
    assert.deepEqual(await contentOf(copy), before)
  })
})
