import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { readdirSync, rmSync } from 'node:fs'
import { buffer } from 'node:stream/consumers'
import { describe, it } from 'node:test'
import { FileStorage } from '../../lib/files/index.ts'
import { GitStorage } from '../../lib/git/index.ts'
import { importAllot } from '../../lib/index.ts'
import { aGround, EMPTY, fill, type Ground, LARGE, SMALL } from '../files/ground.ts'
import { once } from '../support/cleanup.ts'
import { exported, inChunks } from './instance.ts'

const filled = once(async () => {
  const from = aGround()
  const allot = await from.open()
  const repository = await fill(allot)
  const bytes = await exported(allot)
  await allot.close()
  from.clear()
  return { bytes, repository }
})

const into = ({ driver, files, repositories }: Ground, bytes: Uint8Array) =>
  importAllot({ driver, files, repositories }, inChunks(bytes))

const filesOnDisk = ({ files: { directory } }: Ground): number => {
  try {
    return readdirSync(directory, { recursive: true, withFileTypes: true }).filter((one) => one.isFile())
      .length
  } catch {
    return 0
  }
}

/** The export with changed lines and a valid last line. */
const changed = (bytes: Buffer, change: (lines: string[]) => string[]): Buffer => {
  const lines = bytes.toString('utf8').trimEnd().split('\n').slice(0, -1)
  const body = change(lines).map((line) => `${line}\n`)
  const sha256 = createHash('sha256').update(body.join('')).digest('hex')
  return Buffer.from(
    `${body.join('')}${JSON.stringify({ end: true, lines: body.length - 1, missing: 0, sha256 })}\n`,
  )
}

const isFile = (line: string) => line.startsWith('{"file":')
const isWhole = (line: string) => isFile(line) && line.includes('"whole"')

describe('Imported files', () => {
  it('have the same bytes and are counted as before', async () => {
    const { bytes, repository } = await filled()
    const ground = aGround()
    await into(ground, bytes)
    const allot = await ground.open()
    assert.deepEqual((await allot.verify()).messages, [])
    for (const { oid, bytes: content } of [LARGE, SMALL, EMPTY]) {
      const [found] = await allot.hosting.lfs.find(repository, [oid])
      assert.ok((await buffer(await allot.hosting.files.read(found!))).equals(content))
    }
    const { size } = (await allot.quota.info('alice')).used
    assert.deepEqual([size.git.LFS, size.assets.packages.all], [200_005, 2])
    assert.equal(size.assets.attachments.releases, 5)
    await allot.close()
    ground.clear()
  })

  const wrong: [what: string, change: (lines: string[]) => string[], error: RegExp][] = [
    [
      'a content that is cut short',
      (lines) => lines.filter((line, at) => !(isFile(line) && !isWhole(line) && !isWhole(lines[at + 1]!))),
      /line \d+: the content must have 200000 bytes, got \d+/,
    ],
    [
      'a content that is another',
      (lines) => lines.map((line) => line.replace(Buffer.from('small').toString('base64'), 'b3RoZXI=')),
      /line \d+: the content must have the SHA-256 [0-9a-f]+, got/,
    ],
    [
      'a content that does not end',
      (lines) => lines.filter((line, at) => !isWhole(line) || lines.slice(at + 1).some(isWhole)),
      /the content of file .* is cut short/,
    ],
    [
      'a content of no record',
      (lines) => [...lines, '{"file":["lfs",9,"abcdef"],"whole":true}'],
      /line \d+: the export has content of file lfs 9 abcdef, but no record/,
    ],
    [
      'a path for a name',
      (lines) => [...lines, '{"file":["lfs",9,"../../etc/passwd"],"whole":true}'],
      /line \d+: .*expected the name of a file/,
    ],
    ['another area', (lines) => [...lines, '{"file":["etc",9,"abcdef"],"whole":true}'], /line \d+:/],
  ]
  for (const [what, change, error] of wrong)
    it(`are refused with ${what}, and nothing is left`, async () => {
      const { bytes } = await filled()
      const ground = aGround()
      await assert.rejects(into(ground, changed(bytes, change)), { message: error, code: 'invalid' })
      assert.equal(filesOnDisk(ground), 0)
      await into(ground, bytes)
      ground.clear()
    })

  it('of an interrupted import leave nothing, and another import starts over', async () => {
    const { bytes } = await filled()
    const ground = aGround()
    async function* broken() {
      yield bytes.subarray(0, bytes.length - 100_000)
      throw new Error('the network is gone')
    }
    const { driver, files, repositories } = ground
    await assert.rejects(importAllot({ driver, files, repositories }, broken()), /the network is gone/)
    await into(ground, bytes)
    const allot = await ground.open()
    assert.deepEqual((await allot.verify()).messages, [])
    await allot.close()
    ground.clear()
  })
})

describe('An export, while another process deletes what it is about to read,', () => {
  it('leaves out the files', async (t) => {
    const ground = aGround()
    const allot = await ground.open()
    await fill(allot)
    const { read } = FileStorage.prototype
    t.mock.method(
      FileStorage.prototype,
      'read',
      function (this: FileStorage, ...args: Parameters<typeof read>) {
        rmSync(ground.files.directory, { recursive: true, force: true })
        return read.apply(this, args)
      },
    )
    const lines = (await exported(allot)).toString('utf8').trimEnd().split('\n')
    assert.ok(!lines.some(isFile))
    assert.ok(JSON.parse(lines.at(-1)!).end)
    await allot.close()
    ground.clear()
  })

  it('names the repository that git can no longer read, and the cause', async (t) => {
    const ground = aGround()
    const allot = await ground.open()
    const alice = await allot.hosting.accounts.createUser({ name: 'alice' })
    const { id } = await allot.hosting.repositories.create(alice, alice, { name: 'demo', autoInit: true })
    const { bundle } = GitStorage.prototype
    t.mock.method(GitStorage.prototype, 'bundle', async function (this: GitStorage, repository: number) {
      const found = await bundle.call(this, repository)
      rmSync(ground.repositories.directory, { recursive: true })
      return found
    })
    await assert.rejects(exported(allot), {
      message: `repository ${id} cannot be exported: another process deleted it meanwhile; start the export again`,
    })
    await allot.close()
    ground.clear()
  })
})
