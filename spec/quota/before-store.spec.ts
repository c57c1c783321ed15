import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { chmodSync, readdirSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { before, describe, it } from 'node:test'
import { AllotError, type BytesToStore, type OnBeforeStore, refuseOver } from '../../lib/index.ts'
import { filesIn, sourceOf } from '../architecture/source.ts'
import { aCheckout, attempt, commit, git, urlFor } from '../git/client.ts'
import { contentOf } from '../lfs/served.ts'
import { sshEnvironment, startSsh } from '../ssh/client.ts'
import { assertError } from '../support/expectations.ts'
import { temporaryDirectory } from '../support/folder.ts'
import { lacks } from '../support/requirements.mjs'
import { stopTimers } from '../support/stopped-timers.ts'
import type { Person } from '../support/test-server.ts'
import { waitFor } from '../support/wait-for.ts'
import { wrappedGit } from '../support/wrapped-git.ts'

const SENTENCE = 'your plan has no room for this: see https://example.org/plans'
const refuse = () => {
  throw new AllotError('over_quota', SENTENCE)
}

/** A server whose host decides as `host.decide` does, and is told what was asked. */
const scene = async (options: Parameters<typeof startSsh>[0] = {}) => {
  const [repositories, files] = [temporaryDirectory(), temporaryDirectory()]
  const asked: BytesToStore[] = []
  const logged: string[] = []
  const faults: unknown[] = []
  const log = {
    error: ({ err }: { err?: unknown }, message: string) => {
      logged.push(message)
      faults.push(err)
    },
    info: () => undefined,
  }
  const host: { decide: OnBeforeStore } = { decide: () => undefined }
  const onBeforeStore: OnBeforeStore = (bytes) => {
    asked.push(bytes)
    return host.decide(bytes)
  }
  const allot = await startSsh({
    repositories: { directory: repositories },
    files: { directory: files },
    log,
    onBeforeStore,
    ...options,
  })
  /** Files with their sizes, but those of all repositories. */
  const onDisk = () =>
    [repositories, files].flatMap((folder) =>
      readdirSync(folder, { recursive: true, withFileTypes: true })
        .filter((entry) => entry.isFile() && !entry.parentPath.endsWith('/hooks'))
        .map(({ parentPath, name }) => `${join(parentPath, name)} ${statSync(join(parentPath, name)).size}`)
        .sort(),
    )
  const used = async (owner: string) => Number((await allot.allot.quota.explain(owner, 'size:all')).used)
  return { allot, host, asked, logged, faults, onDisk, used }
}

type Scene = Awaited<ReturnType<typeof scene>>

/** How a refusal reached the person: the status, and the text with the sentence. */
interface Outcome {
  readonly status: number
  readonly text: string
}

interface Ground extends Scene {
  readonly alice: Person
  readonly key: string
  /** A repository of alice with a commit, and its path. */
  readonly path: string
}

/** One way to store bytes: `prepare` makes what it needs, and the result stores them, also once more. */
interface Way {
  readonly name: string
  readonly kind: BytesToStore['kind']
  readonly via?: BytesToStore['via']
  readonly subjects: readonly BytesToStore['subject'][]
  /** Who gets the bytes, when it is not alice. */
  readonly owner?: string
  /** Status of the refusal; 1 is that of git. */
  readonly refused?: number
  readonly prepare: (ground: Ground) => Promise<() => Promise<Outcome>>
}

/** A refusal by the API is an error like every other one. */
const overApi = async ({ allot }: Scene, who: Person, method: string, at: string, body?: object) => {
  const answer = await allot.as(who, method, at, body)
  if (answer.status === 413) assertError(answer, 413)
  return answer
}

const sending = async (who: Person, method: string, url: string, body: unknown) => {
  const headers = { authorization: `token ${who.token}` }
  const answer = await fetch(url, { method, headers, body, duplex: 'half' } as RequestInit)
  return { status: answer.status, text: await answer.text() }
}

const attachTo = ({ allot }: Scene, who: Person, path: string) => {
  const form = new FormData()
  form.set('attachment', new Blob([Buffer.alloc(3000)]), 'a.bin')
  return sending(who, 'POST', `${allot.api}/repos/${path}/assets`, form)
}

/** Uploads a file of a package of the person. */
const uploadFile = ({ allot }: Scene, who: Person, file: string, body: unknown) =>
  sending(who, 'PUT', `${allot.base}/api/packages/${who.name}/generic/${file}`, body)

const inCode = (store: () => Promise<unknown>) => (): Promise<Outcome> =>
  store().then(
    () => ({ status: 200, text: '' }),
    (error: AllotError) => ({ status: error.code === 'over_quota' ? 413 : 500, text: error.message }),
  )

const pushing = async ({ path, alice, allot, key }: Ground, ssh: boolean) => {
  const checkout = temporaryDirectory()
  await git(checkout, 'clone', '--quiet', urlFor(allot, path, alice), '.')
  await commit(checkout, { big: randomBytes(20_000), many: 'text '.repeat(20_000) })
  return async (): Promise<Outcome> => {
    const url = ssh ? allot.url(path) : urlFor(allot, path, alice)
    const { code, err } = await attempt(checkout, ['push', url, 'HEAD:main'], ssh ? sshEnvironment(key) : {})
    return { status: code, text: err.replaceAll(/^remote: /gm, '') }
  }
}

const attaching = (at: string, target: (ground: Ground) => Promise<number>) => async (ground: Ground) => {
  const number = await target(ground)
  return () => attachTo(ground, ground.alice, `${ground.path}/${at}/${number}`)
}

const made = async ({ allot, alice, path }: Ground, what: string, body: object) =>
  (await allot.as(alice, 'POST', `/repos/${path}/${what}`, body)).body

const lfsObject = contentOf('an object of LFS'.repeat(100))

const WAYS: readonly Way[] = [
  {
    name: 'a push over HTTP',
    kind: 'push',
    subjects: ['size:repos:public'],
    refused: 1,
    prepare: (ground) => pushing(ground, false),
  },
  {
    name: 'a push over SSH',
    kind: 'push',
    via: 'ssh',
    subjects: ['size:repos:public'],
    refused: 1,
    prepare: (ground) => pushing(ground, true),
  },
  {
    name: 'a file of the contents API',
    kind: 'commit',
    subjects: ['size:repos:public'],
    prepare: async (ground) => () =>
      overApi(ground, ground.alice, 'POST', `/repos/${ground.path}/contents/new.txt`, {
        content: randomBytes(1000).toString('base64'),
      }),
  },
  {
    name: 'a branch of the API',
    kind: 'commit',
    subjects: ['size:repos:public'],
    prepare: async (ground) => () =>
      overApi(ground, ground.alice, 'POST', `/repos/${ground.path}/branches`, { new_branch_name: 'side' }),
  },
  {
    name: 'an LFS object',
    kind: 'lfs',
    subjects: ['size:git:lfs'],
    prepare: async (ground) => {
      const { allot, alice, path } = ground
      return async () => {
        const { oid, size, bytes } = lfsObject
        const url = `${allot.base}/${path}.git/info/lfs/objects/${oid}/${size}`
        return sending(alice, 'PUT', url, bytes)
      }
    },
  },
  ...(
    [
      ['an issue', 'issues', 'issues', (ground: Ground) => made(ground, 'issues', { title: 'one' })],
      ['a release', 'releases', 'releases', (ground: Ground) => made(ground, 'releases', { tag_name: 'v1' })],
    ] as const
  ).map(
    ([title, at, subject, make]): Way => ({
      name: `an attachment of ${title}`,
      kind: 'attachment',
      subjects: [`size:assets:attachments:${subject}`],
      prepare: attaching(at, async (ground) => {
        const { number, id } = await make(ground)
        return number ?? id
      }),
    }),
  ),
  ...[true, false].map(
    (isKnown): Way => ({
      name: `a file of a package, whose size is ${isKnown ? 'known' : 'not known'} before`,
      kind: 'package',
      subjects: ['size:assets:packages:all'],
      prepare: async (ground) => () => {
        const content = Buffer.alloc(4000)
        const body = isKnown ? content : (Readable.toWeb(Readable.from([content])) as BodyInit)
        return uploadFile(ground, ground.alice, `p${isKnown}/1/f`, body)
      },
    }),
  ),
  ...[true, false].map(
    (autoInit): Way => ({
      name: autoInit ? 'a repository with its first commit' : 'an empty repository',
      kind: 'repository',
      subjects: ['size:repos:private'],
      prepare: async (ground) => () =>
        overApi(ground, ground.alice, 'POST', '/user/repos', {
          name: `made-${autoInit}`,
          auto_init: autoInit,
          private: true,
        }),
    }),
  ),
  {
    name: 'a fork with an LFS object',
    kind: 'fork',
    owner: 'forker',
    subjects: ['size:repos:public', 'size:git:lfs'],
    prepare: async (ground) => {
      const forker = await ground.allot.person('forker')
      return () => overApi(ground, forker, 'POST', `/repos/${ground.path}/forks`, {})
    },
  },
  {
    name: 'a transfer at once',
    kind: 'transfer',
    owner: 'acme',
    subjects: ['size:repos:public', 'size:assets:attachments:issues'],
    prepare: async (ground) => {
      const { allot, alice } = ground
      await allot.as(alice, 'POST', '/orgs', { username: 'acme' })
      const moved = { ...ground, path: await allot.repository(alice, 'moved', { auto_init: true }) }
      const { number } = await made(moved, 'issues', { title: 'one' })
      await attachTo(moved, alice, `${moved.path}/issues/${number}`)
      return () => overApi(ground, alice, 'POST', `/repos/${moved.path}/transfer`, { new_owner: 'acme' })
    },
  },
  {
    name: 'a transfer that is accepted',
    kind: 'transfer',
    owner: 'taker',
    subjects: ['size:repos:public'],
    prepare: async (ground) => {
      const { allot, alice } = ground
      const taker = await allot.person('taker')
      const path = await allot.repository(alice, 'offered', { auto_init: true })
      await allot.as(alice, 'POST', `/repos/${path}/transfer`, { new_owner: 'taker' })
      return () => overApi(ground, taker, 'POST', `/repos/${path}/transfer/accept`)
    },
  },
  ...[true, false].map(
    (isPrivate): Way => ({
      name: `a repository that becomes ${isPrivate ? 'private' : 'public'}`,
      kind: 'visibility',
      subjects: [isPrivate ? 'size:repos:private' : 'size:repos:public'],
      prepare: async (ground) => {
        const path = await ground.allot.repository(ground.alice, `turned-${isPrivate}`, {
          private: !isPrivate,
        })
        return () => overApi(ground, ground.alice, 'PATCH', `/repos/${path}`, { private: isPrivate })
      },
    }),
  ),
  {
    name: 'a repository that the code of the host creates',
    kind: 'repository',
    via: 'code',
    subjects: ['size:repos:public'],
    prepare: async ({ allot }) => {
      const alice = (await allot.allot.accounts.byName('alice'))!
      return inCode(() => allot.allot.repositories.create(alice, alice, { name: 'coded' }))
    },
  },
  {
    name: 'a package that the code of the host adds',
    kind: 'package',
    via: 'code',
    subjects: ['size:assets:packages:all'],
    prepare: async ({ allot, alice }) => {
      const path = { owner: 'alice', type: 'generic', name: 'coded', version: '1' }
      const by = { id: alice.id, admin: false }
      return inCode(() => allot.allot.packages.add(by, path, 'f', Readable.from([Buffer.alloc(5000)])))
    },
  },
]

describe('onBeforeStore', { skip: lacks('ssh') }, () => {
  let ground: Ground
  before(async () => {
    const made = await scene()
    const alice = await made.allot.person('alice')
    const path = await made.allot.repository(alice, 'app', { auto_init: true })
    ground = { ...made, alice, path, key: await made.allot.key(alice) }
  })

  for (const { name, kind, via = 'http', subjects, owner = 'alice', refused = 413, prepare } of WAYS)
    it(`is asked before ${name}: a refusal leaves nothing, and what is allowed counts as it was told`, async () => {
      const { host, asked, used, onDisk, allot } = ground
      const store = await prepare(ground)
      const state = async () => {
        await allot.allot.hosting.disk.idle()
        return [await used('alice'), await used(owner), onDisk()]
      }
      const earlier = await state()
      host.decide = refuse
      const refusal = await store()
      assert.equal(refusal.status, refused, refusal.text)
      assert.ok(refusal.text.includes(SENTENCE), refusal.text)
      assert.deepEqual(await state(), earlier)
      host.decide = () => undefined
      asked.length = 0
      const allowed = await store()
      assert.ok(allowed.status < 300, allowed.text)
      assert.deepEqual(
        asked.map((bytes) => [bytes.owner, bytes.kind, bytes.via, bytes.subject]),
        subjects.map((subject) => [owner, kind, via, subject]),
      )
      const told = asked.reduce((sum, { size }) => sum + size, 0)
      const counted = (await used(owner)) - Number(earlier[1])
      // git removes a small file that it keeps while it takes a pack; a copy has other files than its source.
      if (kind === 'visibility') assert.equal(counted, 0)
      else if (kind === 'fork') assert.ok(Math.abs(told - counted) < 20_000)
      else assert.ok(told >= counted && told - counted < 100, `told ${told}, counted ${counted}`)
    })
})

describe('The check of a push', { skip: lacks('ssh') }, () => {
  it('is made also after its hook was removed, or is not executable any more', async () => {
    const directory = temporaryDirectory()
    const made = await scene({ repositories: { directory } })
    const alice = await made.allot.person('alice')
    const path = await made.allot.repository(alice, 'app', { auto_init: true })
    const push = await pushing({ ...made, alice, path, key: '' }, false)
    made.host.decide = refuse
    const hooks = join(directory, 'hooks')
    for (const damage of [
      () => undefined,
      () => chmodSync(join(hooks, 'pre-receive'), 0o644),
      () => rmSync(hooks, { recursive: true }),
    ]) {
      damage()
      assert.ok((await push()).text.includes(SENTENCE))
    }
  })

  it('is missing in the log when the hook is removed during a push', async () => {
    const directory = temporaryDirectory()
    const remove = `case "$*" in *"receive-pack --stateless-rpc /"*) rm -f '${directory}/hooks/pre-receive' ;; esac`
    const made = await scene({ repositories: { directory, git: wrappedGit(remove) } })
    const alice = await made.allot.person('alice')
    const path = await made.allot.repository(alice, 'app')
    await git(await aCheckout(), 'push', '--quiet', urlFor(made.allot, path, alice), 'main')
    assert.deepEqual(made.logged, [
      'git has stored a push without its check against the quota and git.maxPushSize',
    ])
    await made.allot.assertCounted('alice')
  })
})

describe('A repository that changes while the host decides', () => {
  const changes = {
    'becomes private': async ({ allot, alice, path }: Ground) => {
      await allot.as(alice, 'PUT', `/repos/${path}/collaborators/forker`, { permission: 'read' })
      assert.equal((await allot.as(alice, 'PATCH', `/repos/${path}`, { private: true })).status, 200)
    },
    'gets another owner': async ({ allot, alice, path }: Ground) => {
      const at = `/repos/${path}/transfer`
      assert.equal((await allot.as(alice, 'POST', at, { new_owner: 'acme' })).status, 202)
    },
  }
  for (const [change, name] of [
    ['becomes private', 'a push over HTTP'],
    ['becomes private', 'a file of the contents API'],
    ['becomes private', 'a fork with an LFS object'],
    ['gets another owner', 'a push over HTTP'],
    ['gets another owner', 'an LFS object'],
  ] as const)
    it(`and ${change} gets nothing that counts otherwise than the host was told: ${name}`, async () => {
      const made = await scene()
      const alice = await made.allot.person('alice')
      const path = await made.allot.repository(alice, 'app', { auto_init: true })
      await made.allot.as(alice, 'POST', '/orgs', { username: 'acme' })
      const ground = { ...made, alice, path, key: '' }
      const { kind, prepare } = WAYS.find((way) => way.name === name)!
      const store = await prepare(ground)
      const used = async () => {
        await made.allot.allot.hosting.disk.idle()
        const owners = kind === 'fork' ? ['alice', 'forker'] : ['alice', 'acme']
        const sizes = await Promise.all(owners.map(made.used))
        return sizes.reduce((sum, size) => sum + size, 0)
      }
      const earlier = await used()
      made.host.decide = async (bytes) => {
        if (bytes.kind !== kind) return
        made.host.decide = () => undefined
        await changes[change](ground)
      }
      const { status, text } = await store()
      assert.match(text, /nothing was stored: the owner or the visibility of the repository has changed/)
      assert.equal(status, kind === 'push' ? 1 : 503)
      assert.equal(await used(), earlier)
    })
})

describe('An LFS object that is deleted while it is uploaded again', () => {
  it('is not stored, as the host was not asked', async () => {
    const { allot, host, used } = await scene()
    const alice = await allot.person('alice')
    await allot.repository(alice, 'app')
    const { lfs, repositories } = allot.allot.hosting
    const { id } = (await repositories.find(null, 'alice', 'app'))!
    const user = { ...alice, admin: false, username: 'alice' }
    const before = await used('alice')
    const { oid, bytes } = lfsObject
    await lfs.add(user, id, lfsObject, Readable.from([bytes]), undefined)
    host.decide = refuse
    await lfs.add(user, id, lfsObject, Readable.from([bytes]), undefined)
    const content = async function* () {
      yield bytes.subarray(0, 10)
      await lfs.remove(user, id, oid)
      yield bytes.subarray(10)
    }
    const again = lfs.add(user, id, lfsObject, Readable.from(content()), undefined)
    await assert.rejects(again, /^AllotError: nothing was stored: the object was deleted meanwhile/)
    assert.equal(await used('alice'), before)
  })
})

describe('A transfer', () => {
  it('by which a fork becomes private, as more people see its new owner than its parent, is asked about so', async () => {
    const { allot, asked } = await scene()
    const alice = await allot.person('alice')
    for (const username of ['first', 'second'])
      await allot.done(alice, 'POST', '/orgs', { username, visibility: 'limited' })
    await allot.done(alice, 'POST', '/orgs/first/repos', { name: 'app', auto_init: true })
    await allot.done(alice, 'POST', '/repos/first/app/forks', { organization: 'second' })
    asked.length = 0
    await allot.done(alice, 'POST', '/repos/second/app/transfer', { new_owner: 'alice' })
    assert.deepEqual(
      asked.map(({ owner, subject }) => [owner, subject]),
      [['alice', 'size:repos:private']],
    )
    assert.equal((await allot.done(alice, 'GET', '/repos/alice/app')).private, true)
  })
})

describe('A refusal by onBeforeStore', { skip: lacks('git-lfs') }, () => {
  it('of the objects of a batch reaches the person who pushes with git-lfs, who uploads none', async () => {
    const { allot, host, asked, onDisk, used } = await scene()
    const alice = await allot.person('alice')
    const path = await allot.repository(alice, 'app', { auto_init: true })
    const checkout = temporaryDirectory()
    await git(checkout, 'clone', '--quiet', urlFor(allot, path, alice), '.')
    await git(checkout, 'lfs', 'install', '--local')
    await git(checkout, 'lfs', 'track', '*.bin')
    await commit(checkout, { 'a.bin': randomBytes(1000), 'b.bin': randomBytes(2000) })
    const earlier = [onDisk(), await used('alice')]
    host.decide = ({ kind }) => (kind === 'lfs' ? refuse() : undefined)
    asked.length = 0
    const { code, err } = await attempt(checkout, ['push', 'origin', 'HEAD:main'])
    assert.notEqual(code, 0)
    assert.ok(err.includes(SENTENCE), err)
    assert.deepEqual(
      asked.map(({ kind, subject, size, actor, repository }) => [kind, subject, size, actor, repository]),
      [['lfs', 'size:git:lfs', 3000, 'alice', path]],
    )
    assert.deepEqual([onDisk(), await used('alice')], earlier)
    host.decide = () => undefined
    await git(checkout, 'push', '--quiet', 'origin', 'HEAD:main')
    assert.equal(Number((await allot.allot.quota.info('alice')).used.size.git.LFS), 3000)
    asked.length = 0
    await git(checkout, 'lfs', 'push', '--all', 'origin')
    assert.deepEqual(asked, [], 'nothing is asked about objects that are stored already')
  })
})

describe('What onBeforeStore is told of a push', () => {
  it('are the bytes that it takes on the disk and unpacked, who pushes where, and nothing for a deletion', async () => {
    const { allot, asked } = await scene()
    const alice = await allot.person('alice')
    const bob = await allot.person('bob')
    const path = await allot.repository(alice, 'app', { auto_init: true })
    await allot.as(alice, 'PUT', `/repos/${path}/collaborators/bob`, { permission: 'write' })
    const checkout = temporaryDirectory()
    await git(checkout, 'clone', '--quiet', urlFor(allot, path, bob), '.')
    await commit(checkout, { many: 'text '.repeat(1_000_000) })
    asked.length = 0
    await git(checkout, 'push', '--quiet', 'origin', 'HEAD:side')
    const [push, ...others] = asked
    assert.deepEqual(others, [])
    assert.deepEqual([push?.owner, push?.actor, push?.repository], ['alice', 'bob', path])
    assert.ok(push!.unpackedSize! >= 5_000_000 && push!.unpackedSize! < 5_010_000, `${push!.unpackedSize}`)
    assert.ok(push!.size < 30_000, `${push!.size}`)
    await git(checkout, 'push', '--quiet', 'origin', ':side')
    assert.equal(asked.length, 1)
  })
})

describe('A fault of onBeforeStore', () => {
  it('is answered 500 without its words, written to the log, and stores nothing', async () => {
    const { allot, host, logged, used } = await scene()
    const alice = await allot.person('alice')
    const path = await allot.repository(alice, 'app')
    const earlier = await used('alice')
    for (const fault of [new Error('secret'), new AllotError('forbidden', 'secret'), 'secret', undefined]) {
      logged.length = 0
      host.decide = () => Promise.reject(fault)
      const { status, text } = await uploadFile({ allot } as Scene, alice, 'p/1/f', Buffer.alloc(10))
      assert.deepEqual([status, /secret/.test(text)], [500, false], text)
      assert.match(text, /could not decide/)
      const checkout = temporaryDirectory()
      await git(checkout, 'clone', '--quiet', urlFor(allot, path, alice), '.')
      await commit(checkout, { a: 'one' })
      const { code, err } = await attempt(checkout, ['push', 'origin', 'HEAD:main'])
      assert.equal(code, 1)
      assert.match(err, /^remote: nothing was stored: the server could not decide/m)
      assert.deepEqual(new Set(logged), new Set(['onBeforeStore failed, so nothing was stored']))
    }
    assert.equal(await used('alice'), earlier)
  })

  const returned: [what: string, decide: (bytes: BytesToStore) => unknown, logged: RegExp][] = [
    ['false', () => false, /^onBeforeStore returned the boolean false; expected it to return nothing/],
    ['true', () => true, /^onBeforeStore returned the boolean true;/],
    ['null', async () => null, /^onBeforeStore returned null;/],
    ['a text', async () => 'too large', /^onBeforeStore returned the string "too large";/],
    ['an error', () => new AllotError('over_quota', SENTENCE), /^onBeforeStore returned an object;/],
    [
      'nothing before its check has ended',
      ({ requireWithin }) => void requireWithin(),
      /^onBeforeStore did not wait for requireWithin\(\): await it;/,
    ],
  ]
  for (const [what, decide, expected] of returned)
    it(`is what it returns instead of nothing, which the log has: ${what}`, async () => {
      const ground = await scene({ quota: { defaultTotal: 5 } })
      const { allot, host, faults, used, onDisk } = ground
      const alice = await allot.person('alice')
      const earlier = onDisk()
      host.decide = decide as OnBeforeStore
      const { status, text } = await uploadFile(ground, alice, 'p/1/f', Buffer.alloc(10))
      assert.equal(status, 500)
      assert.match(text, /^nothing was stored: the server could not decide/)
      assert.equal(faults.length, 1)
      assert.match((faults[0] as Error).message, expected)
      assert.deepEqual([await used('alice'), onDisk()], [0, earlier])
    })

  it('is a decision that does not come within 30 seconds', async (test) => {
    const ground = await scene()
    const { allot, asked, host, logged } = ground
    const alice = await allot.person('alice')
    const tick = stopTimers(test, 'lib/quota/before-store')
    host.decide = () => new Promise(() => undefined)
    const put = uploadFile(ground, alice, 'p/1/f', Buffer.alloc(10))
    await waitFor(() => asked.length === 1)
    tick(29_999)
    assert.deepEqual(logged, [])
    tick(1)
    assert.equal((await put).status, 500)
    assert.deepEqual(logged, ['onBeforeStore failed, so nothing was stored'])
  })
})

describe('refuseOver', () => {
  const MIB = 1024 ** 2
  const limited = (more: Parameters<typeof startSsh>[0] = {}) =>
    scene({ onBeforeStore: refuseOver(), quota: { defaultTotal: MIB }, ...more })

  it('takes what exactly fits, and says what is left of the limit without the names of rules', async () => {
    const ground = await limited()
    const { allot, used } = ground
    const alice = await allot.person('alice')
    const put = (name: string, size: number) => uploadFile(ground, alice, `p/1/${name}`, Buffer.alloc(size))
    assert.equal((await put('a', MIB - 1000)).status, 201)
    const { status, text } = await put('b', 1001)
    assert.equal(status, 413)
    assert.deepEqual(text.trim(), 'nothing was stored: this needs 1,001 B, and 1,000 B of 1 MiB are left')
    assert.equal((await put('c', 1000)).status, 201)
    assert.equal(await used('alice'), MIB)
    assert.equal((await put('d', 0)).status, 201)
  })

  it('decides about a push by what would be, of an owner who is just below the limit', async () => {
    const { allot, used } = await limited()
    const alice = await allot.person('alice')
    const path = await allot.repository(alice, 'app')
    await allot.allot.ledger.put({
      kind: 'artifacts',
      key: 'a',
      owner: 'alice',
      name: 'a',
      size: MIB - 10_000,
    })
    const checkout = temporaryDirectory()
    await git(checkout, 'init', '--quiet')
    await commit(checkout, { text: 'text '.repeat(100_000) })
    const before = await used('alice')
    await git(checkout, 'push', '--quiet', urlFor(allot, path, alice), 'HEAD:main')
    assert.ok((await used('alice')) > before)
    await commit(checkout, { random: randomBytes(20_000) })
    const { code, err } = await attempt(checkout, ['push', urlFor(allot, path, alice), 'HEAD:main'])
    assert.equal(code, 1)
    assert.match(err, /^remote: nothing was stored: this needs 19.\d KiB/m)
    assert.ok((await used('alice')) < MIB)
    await allot.assertCounted('alice')
  })

  it('takes as many uploads at once as fit, and no more', async () => {
    const ground = await limited()
    const { allot, used } = ground
    const alice = await allot.person('alice')
    const puts = Array.from({ length: 50 }, (_, index) =>
      uploadFile(ground, alice, `p/1/${index}`, Buffer.alloc(MIB / 10)),
    )
    const statuses = (await Promise.all(puts)).map(({ status }) => status).sort()
    assert.deepEqual(statuses, [...Array(10).fill(201), ...Array(40).fill(413)])
    assert.equal(await used('alice'), Math.floor(MIB / 10) * 10)
  })

  it('takes as many pushes at once, to different repositories, as fit', async () => {
    const { allot, used } = await limited()
    const alice = await allot.person('alice')
    const checkout = temporaryDirectory()
    await git(checkout, 'init', '--quiet')
    await commit(checkout, { random: randomBytes(300_000) })
    const paths = await Promise.all([1, 2, 3, 4, 5, 6].map((index) => allot.repository(alice, `r${index}`)))
    const pushes = paths.map((path) => attempt(checkout, ['push', urlFor(allot, path, alice), 'HEAD:main']))
    const codes = (await Promise.all(pushes)).map(({ code }) => code).sort()
    assert.deepEqual(codes, [0, 0, 0, 1, 1, 1])
    assert.ok((await used('alice')) < MIB)
    await allot.assertCounted('alice')
  })

  it('counts the git data and the LFS objects of a fork together', async () => {
    const ground = await limited()
    const { allot, used } = ground
    const [alice, bob] = [await allot.person('alice'), await allot.person('bob')]
    const path = await allot.repository(alice, 'app', { auto_init: true })
    const { id } = await allot.allot.hosting.repositories.find(null, 'alice', 'app').then((found) => found!)
    const user = { ...alice, admin: false, username: 'alice' }
    await allot.allot.hosting.lfs.add(user, id, lfsObject, Readable.from([lfsObject.bytes]), undefined)
    const { size } = (await allot.allot.repositories.byId(id))!
    const entry = { kind: 'artifacts', key: 'b', owner: 'bob', name: 'b' } as const
    const leave = (left: number) => allot.allot.ledger.put({ ...entry, size: MIB - left })
    const fork = () => overApi(ground, bob, 'POST', `/repos/${path}/forks`, {})
    await leave(size + lfsObject.size - 1)
    assert.equal((await fork()).status, 413)
    assert.equal(await used('bob'), MIB - (size + lfsObject.size - 1))
    // git packs a copy, which takes some more bytes than a few loose objects.
    await leave(size + lfsObject.size + 20_000)
    assert.equal((await fork()).status, 202)
    assert.ok((await used('bob')) <= MIB)
  })
})

/**
 * Every call that makes the usage of an owner grow, by file, and why the host knows of it. A new one must be
 * preceded by BeforeStore.ask, and have a line here.
 */
const COUNTERS: readonly string[] = [
  // `Repositories.edit` and `Repositories.transfer` ask.
  'lib/accounts/visibility.ts quota.repositories.setPrivate(',
  // A fork becomes private with its parent, and cannot stay public.
  'lib/accounts/visibility.ts quota.repositories.setPrivate(',
  // StoredFiles asks, unless `countedAs` is null.
  'lib/content/attachment-records.ts ledger.put(',
  'lib/content/attachments.ts files.add(',
  'lib/content/lfs.ts files.add(',
  // Copies of a fork, which `Forks.fork` asks about as a whole.
  'lib/content/lfs.ts files.add(',
  'lib/content/lfs.ts ledger.put(',
  // `allot migrate`, which has no host.
  'lib/content/migrated-content.ts files.add(',
  'lib/content/packages/add.ts files.add(',
  'lib/content/packages/add.ts ledger.put(',
  // The ledger is the host's own: `within` is for it.
  'lib/api/quota/ledger.ts ledger.put(',
  'lib/quota-only/index.ts ledger.put(',
  'lib/repositories/ledger/ledger-by-name.ts ledger.put(',
  // `Repositories.create` and `Forks.fork` ask.
  'lib/repositories/new-repository.ts quota.repositories.create(',
  // `Pushes` asks; then what git has stored is measured.
  'lib/repositories/push-journal.ts quota.repositories.resize(',
  'lib/repositories/settlement.ts quota.repositories.resize(',
  'lib/repositories/repositories.ts quota.repositories.move(',
  // `allot.repositories.resize`, by which a host with repositories of its own reports them.
  'lib/repositories/repositories.ts quota.repositories.resize(',
]

describe('Usage', () => {
  it('grows only where the host was asked', () => {
    const calls =
      /\bledger\.put\((?!')|quota\.repositories\.(?:create|move|setPrivate|resize)\(|\bfiles\s*\.add\(/g
    const found = filesIn('lib').flatMap((file) =>
      [...sourceOf(file).matchAll(calls)].map(([call]) => `${file} ${call.replaceAll(/\s/g, '')}`),
    )
    assert.deepEqual(found.sort(), [...COUNTERS].sort())
  })
})
