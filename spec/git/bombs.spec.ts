import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { startProcess, withMemoryLimit } from '../../lib/git/process.ts'
import { temporaryDirectory } from '../support/folder.ts'
import type { Person } from '../support/test-server.ts'
import { aCheckout, attempt, commit, git, urlFor } from './client.ts'
import { type ServedGit, startGit } from './served.ts'

const MIB = 1024 * 1024

let bounded: ServedGit
let allot: ServedGit
before(async () => {
  bounded = await startGit({ git: { maxPushSize: '4 MiB' } })
  allot = await startGit()
})
after(async () => {
  await bounded.stop()
  await allot.stop()
})

/** Creates a repository. @returns functions that push to it and list what the server stores */
const repository = async (server: ServedGit, owner: Person, name: string) => {
  const path = await server.repository(owner, name)
  const url = urlFor(server, path, owner)
  const folder = await server.folderOf(path)
  return {
    push: (checkout: string, ...refs: string[]) => attempt(checkout, ['push', '--quiet', url, ...refs]),
    refs: () => git(folder, 'for-each-ref', '--format=%(refname:short)'),
    objects: () => git(folder, 'count-objects', '-v'),
  }
}

const NOTHING = /^count: 0\n[\s\S]*in-pack: 0\n/

describe('A push with a good compression', () => {
  it('is refused when it unpacks to more than git.maxPushSize, and leaves nothing', async () => {
    const alice = await bounded.person('alice')
    const { push, refs, objects } = await repository(bounded, alice, 'zeros')
    const { code, err } = await push(await aCheckout({ zeros: Buffer.alloc(5 * MIB) }), 'main')
    assert.notEqual(code, 0)
    assert.match(err, /unpacked, this push exceeds maximum allowed size of 4194304 bytes/)
    assert.equal(await refs(), '')
    assert.match(await objects(), NOTHING)
    await bounded.assertCounted('alice')
  })

  it('is refused when the sum of its files exceeds git.maxPushSize', async () => {
    const { push, refs } = await repository(bounded, await bounded.person(), 'many')
    const files = [1, 2, 3, 4, 5].map((one) => [`${one}`, Buffer.alloc(MIB, one)])
    assert.match((await push(await aCheckout(Object.fromEntries(files)), 'main')).err, /unpacked/)
    assert.equal(await refs(), '')
  })

  it('is accepted when only the objects made from its deltas exceed it, which are stored as deltas', async () => {
    const { push, refs } = await repository(bounded, await bounded.person(), 'deltas')
    const text = randomBytes(300_000).toString('hex')
    const checkout = await aCheckout({ text })
    for (let time = 0; time < 12; time++) await commit(checkout, { text: `${text}${time}` })
    assert.equal((await push(checkout, 'main')).err, '')
    assert.equal(await refs(), 'main')
  })

  it('may change and delete references in a repository that is larger than git.maxPushSize', async () => {
    const { push, refs } = await repository(bounded, await bounded.person(), 'grown')
    const checkout = await aCheckout()
    for (const name of ['a', 'b', 'c']) {
      await commit(checkout, { [name]: randomBytes(2 * MIB) })
      assert.equal((await push(checkout, 'main')).err, '')
    }
    assert.equal((await push(checkout, 'main:other')).err, '')
    assert.equal((await push(checkout, ':other')).err, '')
    assert.equal(await refs(), 'main')
  })

  it('is refused when it contains a commit larger than 16 MiB, with any options', async () => {
    const { push, refs } = await repository(allot, await allot.person(), 'commit')
    const checkout = await aCheckout()
    const message = join(temporaryDirectory(), 'message')
    writeFileSync(message, 'y'.repeat(17 * MIB))
    await git(checkout, 'commit', '--quiet', '--allow-empty', '--file', message)
    assert.match((await push(checkout, 'main')).err, /a commit of this push is larger than 16777216 bytes/)
    assert.equal(await refs(), '')
  })
})

describe('The memory of git', () => {
  it('does not grow with the size of a file, in a push and a fetch', async () => {
    const own = await startGit({ git: { maxMemory: '64 MiB' } })
    try {
      const alice = await own.person('alice')
      const { push } = await repository(own, alice, 'large')
      const zeros = Buffer.alloc(150 * MIB)
      assert.equal((await push(await aCheckout({ zeros }), 'main')).err, '')
      const folder = temporaryDirectory()
      await git(folder, 'clone', '--quiet', '--bare', urlFor(own, 'alice/large'), '.')
      assert.equal(await git(folder, 'cat-file', '-s', 'main:zeros'), String(zeros.length))
    } finally {
      await own.stop()
    }
  })

  it('is limited for git and the processes that it starts', {
    skip: process.platform !== 'linux',
  }, async () => {
    const limit = async (bytes: number | undefined) => {
      const args = ['-c', 'alias.limit=!ulimit -d', 'limit']
      const session = await startProcess(args, {
        git: 'git',
        env: { PATH: process.env.PATH },
        idleTimeout: 10_000,
        timeout: 10_000,
        maxMemory: bytes,
        isDetached: false,
      })
      session.stdin.end()
      return Buffer.concat(await session.stdout.toArray()).toString()
    }
    assert.equal(await limit(100 * MIB), '102400\n')
    assert.notEqual(await limit(undefined), '102400\n')
  })

  it('is limited by a shell that does not interpret the arguments', async () => {
    const [command, args] = await withMemoryLimit('git', ['$(exit)', ';exit'], MIB)
    assert.equal(command, '/bin/sh')
    assert.deepEqual(args.slice(2), ['1024', 'git', '$(exit)', ';exit'])
  })
})
