import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import { describe, it } from 'node:test'
import { atEnd } from '../support/cleanup.ts'
import { temporaryDirectory } from '../support/folder.ts'
import { allot } from './in-process.ts'
import { allot as allotApart, begin } from './program.ts'

describe('allot serve --workers', () => {
  it('stops at once, and exits with 0, while the first worker is starting', async () => {
    const silent = createServer().listen(0, '127.0.0.1')
    await once(silent, 'listening')
    atEnd(() => silent.close())
    const { port } = silent.address() as AddressInfo
    const url = `postgres://me@127.0.0.1:${port}/store`
    const args = ['--port', '0', '--data', temporaryDirectory(), '--workers', '2', '--storage', url]
    const connected = once(silent, 'connection')
    const child = begin(['serve', ...args])
    const ended = once(child, 'exit')
    const [socket] = await connected
    child.kill('SIGTERM')
    assert.deepEqual(await ended, [0, null])
    socket.destroy()
  })

  it('prints an error of all workers once', async () => {
    const words = ['--workers', '3', '--storage', 'postgres://me:secret@127.0.0.1:1/gone']
    const { code, err } = await allotApart(['serve', '--port', '0', ...words])
    assert.equal(code, 1)
    assert.match(err, /^allot: the database gone at 127\.0\.0\.1:1 cannot be reached: .*\n$/)
  })
})

describe('allot serve --workers without a shared store', () => {
  for (const [storage, words] of [
    [[], /--workers 4: LevelDB belongs to one process; several processes need a shared database/],
    [['--storage', 'level:./x'], /LevelDB belongs to one process/],
    [['--storage', 'memory:'], /a store in memory belongs to one process/],
  ] as const)
    it(`is refused: ${storage.join(' ') || 'LevelDB in the data folder'}`, async () => {
      const { code, err } = await allot([
        'serve',
        '--workers',
        '4',
        '--data',
        temporaryDirectory(),
        ...storage,
      ])
      assert.equal(code, 2)
      assert.match(err, words)
    })

  for (const count of ['0', '-1', 'many', '1.5', '129'])
    it(`refuses ${count} workers`, async () => {
      const { code, err } = await allot(['serve', `--workers=${count}`])
      assert.equal(code, 2)
      assert.match(err, /expected a number from 1 to 128/)
    })
})
