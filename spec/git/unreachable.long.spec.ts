import assert from 'node:assert/strict'
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { before, describe, it } from 'node:test'
import { gzipSync } from 'node:zlib'
import { temporaryDirectory } from '../support/folder.ts'
import { isLong } from '../support/long.ts'
import type { Person } from '../support/test-server.ts'
import { aCheckout, attempt, commit, git, urlFor } from './client.ts'
import { type ServedGit, startGit } from './served.ts'

let allot: ServedGit
let alice: Person
let folder: string
/** Objects of deleted or moved branches and tags, and reachable ones that are not tips. */
const gone: Record<string, string> = {}
const kept: Record<string, string> = {}
const url = (who?: Person) => urlFor(allot, 'alice/demo', who)
/** Of the protocol, the current one first. In version 1, fetches are those of version 0. */
const VERSIONS = isLong ? [2, 0, 1] : [2, 0]

before(async () => {
  allot = await startGit()
  alice = await allot.person('alice')
  await allot.repository(alice, 'demo')
  folder = await allot.folderOf('alice/demo')
  const checkout = await aCheckout({ a: 'one\n', old: 'old\n' })
  const name = (rev: string) => git(checkout, 'rev-parse', rev)
  const push = (...refs: string[]) => git(checkout, 'push', '--quiet', url(alice), ...refs)
  kept.commit = await name('HEAD')
  kept.blob = await name('HEAD:old')
  kept.tree = await name('HEAD^{tree}')
  await git(checkout, 'rm', '--quiet', 'old')
  await commit(checkout, { a: 'two\n' })
  await git(checkout, 'tag', '--annotate', '--message=kept', 'v1')
  kept.tag = await name('v1')
  await push('main', 'v1')

  await git(checkout, 'switch', '--quiet', '--create', 'secret')
  gone.parent = await commit(checkout, { password: 'hunter2\n' })
  gone.commit = await commit(checkout, { password: 'hunter3\n' })
  gone.tree = await name('HEAD^{tree}')
  gone.blob = await name('HEAD~1:password')
  await git(checkout, 'tag', '--annotate', '--message=secret words', 'hush', 'main')
  gone.tag = await name('hush')
  await push('secret', 'hush')
  await push('--delete', 'secret', 'hush')

  await git(checkout, 'switch', '--quiet', '--create', 'moved', 'main')
  gone.overwritten = await commit(checkout, { draft: 'first\n' })
  await push('moved')
  await git(checkout, 'reset', '--quiet', '--hard', 'main')
  await commit(checkout, { draft: 'second\n' })
  await push('--force', 'moved')
})

/** All objects in version 2, and the first one in the others, except in the long suite. */
const few = (objects: Record<string, string>, version: number) =>
  Object.entries(objects).slice(0, isLong || version === 2 ? undefined : 1)

const fetched = async (version: number, object: string) => {
  const client = temporaryDirectory()
  await git(client, 'init', '--quiet')
  return attempt(client, ['-c', `protocol.version=${version}`, 'fetch', '--quiet', url(), object])
}

const line = (text: string) => (text.length + 4).toString(16).padStart(4, '0') + text
const [FLUSH, DELIMITER] = ['0000', '0001']

/**
 * Sends any bytes to git-upload-pack.
 * @returns the response
 */
const answer = async (body: string | Uint8Array, headers: Record<string, string> = {}): Promise<string> => {
  const sent = await fetch(`${allot.base}/alice/demo.git/git-upload-pack`, {
    method: 'POST',
    body: body as string,
    headers: { 'content-type': 'application/x-git-upload-pack-request', ...headers },
  })
  return Buffer.from(await sent.arrayBuffer()).toString('latin1')
}
const V2 = { 'git-protocol': 'version=2' }
const inV0 = (...wants: string[]) =>
  answer(`${wants.map((one) => line(`want ${one}\n`)).join('')}${FLUSH}${line('done\n')}`)
const inV2 = (...wants: string[]) =>
  answer(
    `${line('command=fetch')}${DELIMITER}${wants.map((one) => line(`want ${one}\n`)).join('')}${line('done\n')}${FLUSH}`,
    V2,
  )

describe('An object that no branch or tag reaches', () => {
  it('is still on the disk, which the tests below presume', async () => {
    for (const object of Object.values(gone)) await git(folder, 'cat-file', '-e', object)
  })

  for (const version of VERSIONS)
    it(`is not sent to git fetch by its id (version ${version})`, async () => {
      for (const [what, object] of few(gone, version)) {
        const { code, err } = await fetched(version, object)
        assert.notEqual(code, 0, what)
        assert.match(err, /not our ref/, what)
      }
    })

  it('is not sent to any request, in any spelling', async () => {
    const tip = await git(folder, 'rev-parse', 'refs/heads/main')
    for (const object of isLong ? Object.values(gone) : [gone.commit!, gone.tag!]) {
      const want = line(`want ${object}\n`)
      const capital = line(`want ${object.toUpperCase()} ofs-delta\n`)
      const bodies: [body: string | Uint8Array, headers?: Record<string, string>][] = [
        [`${capital}${FLUSH}${line('done\n')}`],
        [`${want}${DELIMITER}${line('done\n')}`],
        [`${want}0002${line('done\n')}`],
        [`${want}${line('deepen 1')}${FLUSH}${line('done\n')}`],
        [`${line(`want ${tip}\n`)}${FLUSH}${want}${FLUSH}${line('done\n')}`],
        [gzipSync(`${want}${FLUSH}${line('done\n')}`), { 'content-encoding': 'gzip' }],
        [`${line('command=fetch')}${DELIMITER}${line('done\n')}${want}${FLUSH}`, V2],
        [`${line('command=fetch')}${DELIMITER}${line('done\n')}${capital}${DELIMITER}${FLUSH}`, V2],
        [`${line('command=fetch')}${DELIMITER}${line(`want ${tip}\n`)}${want}${line('done\n')}${FLUSH}`, V2],
        [`${line('command=fetch')}${DELIMITER}${line(`want-ref ${object}\n`)}${line('done\n')}${FLUSH}`, V2],
        [`${line('command=object-info')}${DELIMITER}${line('size')}${line(`oid ${object}\n`)}${FLUSH}`, V2],
      ]
      for (const [body, headers] of bodies) {
        const text = await answer(body, headers)
        const isOnlyTip = typeof body === 'string' && body.startsWith(line(`want ${tip}\n`))
        assert.ok(isOnlyTip || !text.includes('PACK'), `${body}: ${text}`)
      }
    }
  })

  it('is refused, and every reachable object is sent, in both versions', async () => {
    const listed = async (...words: string[]) =>
      (await git(folder, ...words)).split('\n').map((one) => one.split(' ')[0]!)
    const all = await listed('cat-file', '--batch-all-objects', '--batch-check')
    const reachable = new Set(await listed('rev-list', '--objects', '--all'))
    assert.ok(all.length > reachable.size && reachable.size > 8)
    const inBoth = [all.find((one) => reachable.has(one)), all.find((one) => !reachable.has(one))]
    const isInV0 = (object: string) => isLong || inBoth.includes(object)
    for (const object of all)
      for (const text of await Promise.all([inV2(object), ...(isInV0(object) ? [inV0(object)] : [])]))
        if (reachable.has(object)) assert.match(text, /PACK/, object)
        else assert.match(text, new RegExp(`^[0-9a-f]{4}ERR upload-pack: not our ref ${object}$`))
    assert.match(await inV2(...reachable), /PACK/)
    for (const object of all.filter((one) => !reachable.has(one)))
      assert.match(await inV2(...reachable, object), /^[0-9a-f]{4}ERR upload-pack: not our ref/)
  })

  it('is refused in a packed repository with a bitmap, too', async () => {
    await git(folder, 'gc', '--quiet')
    for (const object of Object.values(gone)) assert.match(await inV2(object), /not our ref/)
    for (const object of Object.values(kept)) assert.match(await inV2(object), /PACK/)
  })

  it('is sent once a branch reaches it again', async () => {
    await git(folder, 'update-ref', 'refs/heads/back', gone.commit!)
    for (const what of ['commit', 'parent', 'tree', 'blob']) assert.match(await inV2(gone[what]!), /PACK/)
    for (const what of ['overwritten', 'tag']) assert.match(await inV2(gone[what]!), /not our ref/)
    await git(folder, 'update-ref', '-d', 'refs/heads/back')
  })
})

describe('The old value of a branch or tag that was packed and then moved', () => {
  const moved: Record<string, string> = {}
  const present: Record<string, string> = {}
  const REFS = ['refs/heads/stale', 'refs/heads/größe/\u2028x', 'refs/tags/stale']
  const isStale = async () => {
    const packed = await readFile(join(folder, 'packed-refs'), 'utf8')
    for (const [what, object] of Object.entries(moved)) assert.ok(packed.includes(object), what)
  }
  const isRefused = async () => {
    await isStale()
    for (const [what, object] of Object.entries(moved)) {
      assert.match(await inV2(object), /not our ref/, what)
      if (!isLong) continue
      assert.match(await inV0(object), /not our ref/, what)
      assert.notEqual((await fetched(2, object)).code, 0, what)
    }
    for (const [what, object] of Object.entries(present)) assert.match(await inV2(object), /PACK/, what)
  }

  before(async () => {
    const checkout = await aCheckout({ stale: 'base\n' })
    const base = await git(checkout, 'rev-parse', 'HEAD')
    const change = async (values: Record<string, string>, word: string) => {
      for (const [at, ref] of REFS.entries()) {
        await git(checkout, 'switch', '--quiet', '--detach', base)
        const object = await commit(checkout, { stale: `${word} ${at}\n` })
        values[ref] = object
        if (!ref.startsWith('refs/tags/')) await git(checkout, 'update-ref', ref, object)
        else {
          await git(checkout, 'tag', '--force', '--annotate', `--message=${word}`, 'stale')
          values[`${ref} itself`] = await git(checkout, 'rev-parse', ref)
        }
      }
      await git(checkout, 'push', '--quiet', '--force', url(alice), ...REFS)
    }
    await change(moved, 'old')
    await git(folder, 'gc', '--quiet')
    await change(present, 'new')
  })

  it('is not sent although it is in packed-refs, and the present value is sent', isRefused)

  it('is not sent when there are more loose references than are read', async () => {
    const main = await git(folder, 'rev-parse', 'refs/heads/main')
    await mkdir(join(folder, 'refs/heads/a'), { recursive: true })
    for (let at = 0; at < 501; at++) await writeFile(join(folder, `refs/heads/a/${at}`), `${main}\n`)
    await isRefused()
    await rm(join(folder, 'refs/heads/a'), { recursive: true })
  })

  it('is not sent because of the lock file of an unfinished push', async () => {
    const lock = join(folder, 'refs/heads/coming.lock')
    await writeFile(lock, `${moved[REFS[0]!]}\n`)
    await isRefused()
    await rm(lock)
  })
})

describe('An object that a branch or a tag reaches', () => {
  for (const version of VERSIONS) {
    it(`is sent to git fetch by its id (version ${version})`, async () => {
      for (const [what, object] of few(kept, version)) {
        const { code, err } = await fetched(version, object)
        assert.equal(code, 0, `${what}: ${err}`)
      }
    })

    for (const filter of isLong || version === 2 ? ['blob:none', 'tree:0', 'blob:limit=2'] : ['tree:0'])
      it(`is sent to a partial clone on demand (version ${version}, ${filter})`, async () => {
        const clone = `${temporaryDirectory()}/clone`
        const words = ['-c', `protocol.version=${version}`, 'clone', '--quiet', `--filter=${filter}`]
        await git(temporaryDirectory(), ...words, url(), clone)
        assert.equal(await git(clone, 'show', 'HEAD:a'), 'two')
        assert.equal(await git(clone, 'show', 'HEAD~1:old'), 'old')
        assert.match(await git(clone, 'log', '--patch', '--format=%s'), /-one\n\+two/)
        await git(clone, 'fsck')
      })
  }
})
