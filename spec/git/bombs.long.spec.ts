import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { buffer } from 'node:stream/consumers'
import { describe, it } from 'node:test'
import { newCommit, newObject, newTree } from '../../lib/git/objects/pack.ts'
import { startProcess, withMemoryLimit } from '../../lib/git/process.ts'
import { isSmallPush } from '../../lib/git/small-pack.ts'
import { spawnChild } from '../support/child.ts'
import { temporaryDirectory } from '../support/folder.ts'
import { madeBefore, type Person } from '../support/test-server.ts'
import { aCheckout, attempt, commit, git, urlFor } from './client.ts'
import { copies, craftedPack, type Entry } from './crafted-pack.ts'
import { type ServedGit, startGit } from './served.ts'
import { packOf, pktLine } from './slow-push.ts'

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
  const objects = (count: number) => Array.from({ length: count }, (_, at) => blob(Buffer.from(`${at}`)))
  const ordinary = craftedPack([blob(base), blob(Buffer.alloc(1000))])
  /** The base of each delta is a file. */
  const ofFile = async () => ({ type: 3, content: Buffer.alloc(0) })
  const toId = (content: Buffer, to: Buffer): Entry => ({ type: 7, content, base: to })

  it('needs no process for the check of its sizes, when it is what git sends', async () => {
    const names = Array.from({ length: 40 }, (_, at) => [`file-${at}`, `${at}`])
    const text = randomBytes(10_000).toString('hex')
    const checkout = await aCheckout({ ...Object.fromEntries(names), text, empty: '' })
    const types: Readonly<Record<string, number>> = { commit: 1, tree: 2, blob: 3 }
    const bases: string[] = []
    const inCheckout = async (id: string) => {
      const type = await git(checkout, 'cat-file', '-t', id)
      bases.push(type)
      const { stdout } = spawnChild('git', ['cat-file', type, id], { cwd: checkout })
      return { type: types[type]!, content: await buffer(stdout) }
    }
    const first = await git(checkout, 'rev-parse', 'HEAD')
    await commit(checkout, { text: `${await git(checkout, 'show', 'HEAD:text')}more` })
    await git(checkout, 'tag', '-a', '-m', 'tag', 'v1')
    const ids = { whole: ['v1'], thin: ['v1', `^${first}`] }
    for (const option of ['--delta-base-offset', '--no-reuse-delta'])
      for (const [kind, names] of Object.entries(ids))
        assert.equal(
          await isSmallPush(await packOf(checkout, names, ['--thin', option]), undefined, inCheckout),
          true,
          `${kind} ${option}`,
        )
    assert.deepEqual([...new Set(bases)].sort(), ['blob', 'tree'])
  })

  for (const [name, pack, limit, isSmall] of [
    ['has no pack', Buffer.alloc(0), undefined, true],
    ['is as large as the limit', ordinary, 21_000, true],
    ['is larger than the limit', ordinary, 20_999, false],
    ['has a delta within the limit', craftedPack([blob(base), toId(copies(base, 1), base)]), 40_100, true],
    ['has a delta that makes more', craftedPack([blob(base), toId(copies(base, 2), base)]), 40_100, false],
    [
      'has a delta that makes more than 1 MiB',
      craftedPack([blob(base), toId(copies(base, 60), base)]),
      undefined,
      false,
    ],
    ['unpacks to more than 1 MiB', craftedPack([blob(Buffer.alloc(1024 * 1024 + 1))]), undefined, false],
    ['has as many objects as are checked', craftedPack(objects(256)), undefined, true],
    ['has more objects', craftedPack(objects(257)), undefined, false],
    ['is cut off', ordinary.subarray(0, -30), undefined, false],
    ['is followed by more', Buffer.concat([ordinary, Buffer.alloc(1)]), undefined, false],
    ['says that an object is smaller', craftedPack([{ ...blob(base), size: 10 }]), undefined, false],
    ['says that an object is larger', craftedPack([{ ...blob(base), size: 30_000 }]), undefined, false],
    ['is not a pack', Buffer.from('neither'), undefined, false],
    ['has not arrived', undefined, undefined, false],
  ] as const)
    it(`that ${name} ${isSmall ? 'passes' : 'is checked by the hook'}`, async () => {
      assert.equal(await isSmallPush(pack, limit, ofFile), isSmall)
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
