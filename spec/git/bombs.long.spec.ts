import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { newCommit, newObject, newTree } from '../../lib/git/objects/pack.ts'
import { startProcess, withMemoryLimit } from '../../lib/git/process.ts'
import { smallSizeIn } from '../../lib/git/push-check.ts'
import { temporaryDirectory } from '../support/folder.ts'
import { madeBefore, type Person } from '../support/test-server.ts'
import { aCheckout, attempt, commit, git, urlFor } from './client.ts'
import { copies, craftedPack, type Entry } from './crafted-pack.ts'
import { type ServedGit, startGit } from './served.ts'
import { pktLine } from './slow-push.ts'

const MIB = 1024 * 1024

const bounded = madeBefore(() => startGit({ git: { maxPushSize: '4 MiB' } }))

/**
 * Creates a repository.
 * @returns functions that push to it and list what the server stores
 */
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

describe('A push that unpacks to far more than it sends', () => {
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
    for (let time = 0; time < 8; time++) await commit(checkout, { text: `${text}${time}` })
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
})

describe('A small push', () => {
  const base = randomBytes(20_000)
  const blob = (content: Buffer): Entry => ({ type: 3, content })
  const toId = (content: Buffer, to: Buffer): Entry => ({ type: 7, content, base: to })

  /** What the server says of the objects of a checkout with these files. */
  const sizeOf = async (files: Record<string, string | Buffer>, limit?: number, isPacked = false) => {
    const checkout = await aCheckout(files)
    if (isPacked) await git(checkout, 'repack', '-a', '-d', '--quiet')
    return smallSizeIn(join(checkout, '.git', 'objects'), limit).catch(() => undefined)
  }
  const many = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, at) => [at, `${at}`]))

  it('is checked by the server itself, within its limits', async () => {
    const size = (await sizeOf({ base }))!
    assert.ok(size > base.length && size < base.length + 1000)
    assert.equal(await sizeOf({ base }, size), size)
    assert.ok(await sizeOf(many(254)))
  })

  it('is checked by the hook when it is packed or exceeds one of them', async () => {
    assert.equal(await sizeOf({ base }, undefined, true), undefined)
    assert.equal(await sizeOf({ base }, base.length), undefined)
    assert.equal(await sizeOf({ zeros: Buffer.alloc(MIB + 1) }), undefined)
    assert.equal(await sizeOf(many(255)), undefined)
  })

  it('is refused when a delta makes more than git.maxPushSize, and leaves nothing', async () => {
    const owner = await bounded.person()
    const { refs, objects: stored } = await repository(bounded, owner, 'delta-bomb')
    const file = (name: string, content: Buffer) => ({
      mode: '100644',
      name,
      id: newObject('blob', content).id,
    })
    const tree = newTree([file('base', base), file('bomb', Buffer.concat(Array(300).fill(base)))])
    const author = { name: 'Ada', email: 'ada@example.test', time: 0, offset: 0 }
    const made = newCommit({ tree: tree.id, parents: [], author, committer: author, message: 'bomb' })
    const nodes: Entry[] = [
      { type: 1, content: made.content },
      { type: 2, content: tree.content },
    ]
    const pack = craftedPack([...nodes, blob(base), toId(copies(base, 300), base)])
    const command = `${'0'.repeat(40)} ${made.id} refs/heads/main\0 report-status side-band-64k`
    const headers = {
      authorization: `token ${owner.token}`,
      'content-type': 'application/x-git-receive-pack-request',
    }
    const body = Buffer.concat([Buffer.from(`${pktLine(command)}0000`), pack])
    const url = `${urlFor(bounded, `${owner.name}/delta-bomb`)}/git-receive-pack`
    const answer = await (await fetch(url, { method: 'POST', headers, body })).text()
    assert.match(answer, /unpacked, this push exceeds maximum allowed size of 4194304 bytes/)
    assert.equal(await refs(), '')
    assert.match(await stored(), NOTHING)
  })
})

describe('The memory of git', () => {
  it('does not grow with the size of a file, in a push and a fetch', async () => {
    const own = await startGit({ git: { maxMemory: '64 MiB' } })
    const alice = await own.person('alice')
    const { push } = await repository(own, alice, 'large')
    const zeros = Buffer.alloc(150 * MIB)
    assert.equal((await push(await aCheckout({ zeros }), 'main')).err, '')
    const folder = temporaryDirectory()
    await git(folder, 'clone', '--quiet', '--bare', urlFor(own, 'alice/large'), '.')
    assert.equal(await git(folder, 'cat-file', '-s', 'main:zeros'), String(zeros.length))
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
    const [command, args] = withMemoryLimit('git', ['$(exit)', ';exit'], MIB)
    assert.equal(command, '/bin/sh')
    assert.deepEqual(args.slice(2), ['1024', 'git', '$(exit)', ';exit'])
  })
})

describe('The messages of git', () => {
  const messages = async (script: string): Promise<string> => {
    const args = ['-c', `alias.late=!${script}`, 'late']
    const child = await startProcess(args, {
      git: 'git',
      env: { PATH: process.env.PATH },
      isDetached: true,
    })
    child.stdin.end()
    child.stdout.resume()
    const { code, stderr } = await child.ended
    assert.equal(code, 3)
    return stderr
  }

  it('are read to their end, also after git has ended', async (test) => {
    // The time for that never ends here.
    test.mock.method(AbortSignal, 'timeout', () => new AbortController().signal)
    const later = 'while kill -0 $PPID 2>/dev/null; do sleep 0.01; done; echo late >&2'
    assert.equal(await messages(`echo soon >&2; (${later}) & exit 3`), 'soon\nlate')
  })

  it('are not waited for longer than a second', async () => {
    assert.equal(await messages('echo soon >&2; sleep 3 & exit 3'), 'soon')
  })
})
