import assert from 'node:assert/strict'
import { createHash, randomBytes } from 'node:crypto'
import { type FileHandle, mkdir, mkdtemp, open, readdir, rm, utimes, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { after, describe, it } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import fc from 'fast-check'
import { type FilePlace, FileStorage } from '../../lib/files/index.ts'

const folders: string[] = []
after(() => Promise.all(folders.map((folder) => rm(folder, { recursive: true, force: true }))))

const aStorage = async () => {
  const directory = await mkdtemp(join(tmpdir(), 'allot-files-'))
  folders.push(directory)
  return { directory, storage: new FileStorage({ directory }) }
}

const filesBelow = async (directory: string): Promise<string[]> =>
  (await readdir(directory, { recursive: true, withFileTypes: true }))
    .filter((one) => one.isFile())
    .map((one) => one.name)

const sha256 = (bytes: Uint8Array | string) => createHash('sha256').update(bytes).digest('hex')
const stream = (...chunks: (string | Uint8Array)[]) => Readable.from(chunks.map((one) => Buffer.from(one)))
const MIB = 1024 * 1024
const place: FilePlace = { area: 'attachments', ownerId: 300, name: 'abcdef' }

describe('A file', () => {
  it('has the bytes that were sent, for any size and any chunks', async () => {
    const { storage } = await aStorage()
    const pieces = fc.array(fc.uint8Array({ maxLength: 5000 }), { maxLength: 20 })
    await fc.assert(
      fc.asyncProperty(pieces, async (chunks) => {
        const whole = Buffer.concat(chunks)
        const expected = { size: whole.length, sha256: sha256(whole), maxSize: whole.length }
        await storage.put(await storage.stage(stream(...chunks), expected), place)
        assert.ok((await buffer(await storage.read(place))).equals(whole))
      }),
      { numRuns: 30 },
    )
  })

  it('has the digest of its bytes, whatever its size, while others arrive', async () => {
    const { directory, storage } = await aStorage()
    const sizes = [0, 1, MIB, 3 * MIB + 5]
    const arrive = async (size: number, index: number) => {
      const content = randomBytes(size)
      const chunks = Array.from({ length: Math.ceil(size / 60_001) }, (_, at) =>
        content.subarray(at * 60_001, (at + 1) * 60_001),
      )
      const name = `abc${index}`
      const arrived = await storage.stage(stream(...chunks))
      await storage.put(arrived, { ...place, name })
      assert.deepEqual([arrived.size, arrived.sha256], [size, sha256(content)])
      assert.ok((await buffer(await storage.read({ ...place, name }))).equals(content))
    }
    await Promise.all(sizes.map(arrive))
    assert.equal((await filesBelow(directory)).length, sizes.length)
  })

  it('keeps few chunks in memory while they arrive faster than they are written, however small they are', async (t) => {
    const { directory, storage } = await aStorage()
    const file = await open(join(directory, 'any'), 'w')
    const prototype = Object.getPrototypeOf(file)
    await file.close()
    const writev = prototype.writev
    let most = 0
    t.mock.method(prototype, 'writev', async function (this: FileHandle, ...given: [Uint8Array[]]) {
      most = Math.max(most, given[0].length)
      await setImmediate()
      return writev.apply(this, given)
    })
    const content = randomBytes(20_000)
    const arrived = await storage.stage(Readable.from(Array.from(content, (byte) => Buffer.of(byte))))
    assert.equal(arrived.sha256, sha256(content))
    assert.ok(most <= 256, `${most} chunks`)
  })

  it('may replace an equal file, and is removed with its empty folders', async () => {
    const { directory, storage } = await aStorage()
    for (let times = 0; times < 2; times++) await storage.put(await storage.stage(stream('a')), place)
    assert.deepEqual(await filesBelow(directory), ['abcdef'])
    await storage.remove(place)
    await storage.remove(place)
    assert.equal(await storage.size(place), undefined)
    await assert.rejects(storage.read(place), { code: 'ENOENT' })
    assert.deepEqual(await readdir(join(directory, 'attachments', '2c')), [])
  })

  it('can be added and removed while others in its folder are', async () => {
    const { storage } = await aStorage()
    const one = async (name: string) => {
      for (let times = 0; times < 20; times++) {
        await storage.put(await storage.stage(stream(name)), { ...place, name })
        await storage.remove({ ...place, name })
      }
    }
    await Promise.all(['ab01', 'ab02', 'ab03', 'ab04'].map(one))
  })

  it('is not removed before the last hold on deletions ends', async () => {
    const { storage } = await aStorage()
    await storage.put(await storage.stage(stream('a')), place)
    const [letGo, letGoToo] = [storage.holdDeletions(), storage.holdDeletions()]
    let removed = 0
    await storage.remove(place, async () => void removed++)
    await letGo()
    assert.deepEqual([await storage.size(place), removed], [1, 0])
    await letGoToo()
    assert.deepEqual([await storage.size(place), removed], [undefined, 1])
  })
})

describe('A deferred removal that fails', () => {
  it('is reported, and keeps neither the others from being done nor the end of the hold from succeeding', async () => {
    const { directory } = await aStorage()
    const failed: unknown[] = []
    const storage = new FileStorage({ directory, onDeletionError: (error) => failed.push(error) })
    const names = ['ab01', 'ab02', 'ab03']
    for (const name of names) await storage.put(await storage.stage(stream('a')), { ...place, name })
    const release = storage.holdDeletions()
    const removed: string[] = []
    const remove = (name: string) =>
      storage.remove({ ...place, name }, async () => {
        if (name === 'ab01') throw new Error('cannot be forgotten')
        removed.push(name)
      })
    for (const name of names) await remove(name)
    await release()
    assert.deepEqual([removed, failed.map(String)], [['ab02', 'ab03'], ['Error: cannot be forgotten']])
  })
})

describe('FileStorage leaves nothing of', () => {
  const wrong = [
    { what: 'a content over the limit', expected: { maxSize: 3 }, error: { code: 'too_large' } },
    {
      what: 'a content whose declared size is over the limit',
      expected: { maxSize: 3, size: 4 },
      error: { code: 'too_large' },
    },
    { what: 'a content with more bytes than expected', expected: { size: 3 }, error: { code: 'invalid' } },
    { what: 'a content with fewer bytes than expected', expected: { size: 5 }, error: { code: 'invalid' } },
    {
      what: 'a content with another hash than expected',
      expected: { sha256: sha256('x') },
      error: { code: 'invalid' },
    },
  ]
  for (const { what, expected, error } of wrong)
    it(what, async () => {
      const { directory, storage } = await aStorage()
      const content = stream('ab', 'cd')
      await assert.rejects(storage.stage(content, expected), error)
      assert.deepEqual(await filesBelow(directory), [])
      assert.equal(content.destroyed && !content.readableEnded, false, 'the stream must not be destroyed')
    })

  it('a large content that is cut off or has another hash', async () => {
    const { directory, storage } = await aStorage()
    const chunks = Array.from({ length: 40 }, (_, index) => Buffer.alloc(65_536, index))
    const cut = Readable.from(
      (async function* () {
        yield* chunks
        throw new Error('gone')
      })(),
    )
    await assert.rejects(storage.stage(cut), /gone/)
    await assert.rejects(storage.stage(stream(...chunks), { sha256: sha256('x') }), { code: 'invalid' })
    assert.deepEqual(await filesBelow(directory), [])
    const arrived = await storage.stage(stream(...chunks))
    assert.equal(arrived.sha256, sha256(Buffer.concat(chunks)))
  })

  for (const name of [
    '',
    '..',
    '../../etc/passwd',
    'a/b/c/d',
    'ABCD',
    'abc',
    '-abc',
    'ab\0cd',
    `${'a'.repeat(101)}`,
  ])
    it(`a file with the name ${JSON.stringify(name.slice(0, 20))}`, async () => {
      const { directory, storage } = await aStorage()
      const arrived = await storage.stage(stream('a'))
      await assert.rejects(storage.put(arrived, { ...place, name }), /not a name for a stored file/)
      await storage.discard(arrived)
      assert.deepEqual(await filesBelow(directory), [])
    })
})

describe('FileStorage', () => {
  it('lists every file whose path is that of a stored file, and nothing else', async () => {
    const { directory, storage } = await aStorage()
    const places: FilePlace[] = [place, { ...place, ownerId: 7 }, { area: 'lfs', ownerId: 300, name: '0123' }]
    for (const one of places) await storage.put(await storage.stage(stream('abc')), one)
    await storage.stage(stream('unfinished'))
    for (const stray of ['lfs', 'lfs/2c/300', 'lfs/2c/301/01']) {
      await mkdir(join(directory, stray), { recursive: true })
      await writeFile(join(directory, stray, 'README'), '')
    }
    const found = []
    for await (const one of storage.all()) found.push(one)
    assert.deepEqual(new Set(found), new Set(places))
  })

  it('removes staged files of killed processes that are old enough', async () => {
    const { directory, storage } = await aStorage()
    const [old] = [await storage.stage(stream('old')), await storage.stage(stream('young'))]
    await utimes(old!.path, 0, 0)
    await storage.recover(3600)
    assert.equal((await filesBelow(directory)).length, 1)
    await storage.recover()
    assert.deepEqual(await filesBelow(directory), [])
  })
})
