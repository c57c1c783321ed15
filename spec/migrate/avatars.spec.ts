import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { before, describe, it } from 'node:test'
import { paletted, png } from '../support/images.ts'
import type { Model, ModelAvatar, ModelUser } from './model.ts'
import { modelSource } from './model-source.ts'
import { everythingIn, startTarget, type Target } from './two.ts'

const digest = (name: string, content: string | Buffer) => createHash(name).update(content).digest('hex')

const user = (id: number, login: string, avatar?: ModelAvatar): ModelUser => ({
  ...{ id, login, admin: login === 'root1', active: true, prohibited: false, restricted: false },
  ...{ visibility: 'public', keys: [], follows: [], stars: [], ...(avatar && { avatar }) },
})

/** As a Gitea names the file of an uploaded image. */
const uploaded = (id: number, content: Buffer): ModelAvatar => ({
  path: `/avatars/${digest('sha256', Buffer.concat([Buffer.from(`${id}-`), content]))}`,
  content,
})
/** As a Forgejo and older versions of Gitea do. */
const uploadedBefore = (id: number, content: Buffer): ModelAvatar => ({
  path: `/avatars/${digest('md5', `${id}-${digest('md5', content)}`)}`,
  content,
})
/** As all of them name the file of a generated image. */
const generated = (seed: string): ModelAvatar => ({
  path: `/avatars/${digest('md5', seed)}`,
  content: paletted(9),
})

const organization = (id: number, name: string, avatar: ModelAvatar) => ({
  ...{ id, name, email: '', visibility: 'public' as const, avatar },
  teams: [
    {
      ...{ id, name: 'Owners', level: 'owner' as const, all: true, repositories: [], members: ['root1'] },
      ...{
        units: {
          'repo.code': 'none',
          'repo.issues': 'none',
          'repo.releases': 'none',
          'repo.packages': 'none',
        } as const,
      },
      create: true,
    },
  ],
})

const repository = (name: string, avatar: string) => ({
  ...{ owner: 'root1', name, private: false, archived: false, protected: false, collaborators: {}, avatar },
})

const aModel = (more: Partial<Model>): Model => ({
  ...{ open: true, users: [], organizations: [], repositories: [] },
  ...more,
})

const source = modelSource(aModel({}))
let target: Target

const asked = () => ({ ...source, root: { ...target.root, token: 'secret' } })
const run = async (keep = false) => {
  const report = await target.from(asked(), [], { keep })
  assert.ok(report.isComplete(), report.text)
  return report.text
}

/** The uploaded images here, by the names of the accounts. */
const imagesHere = async (): Promise<Record<string, Buffer>> => {
  const found: Record<string, Buffer> = {}
  for (const { login: name } of [
    ...source.model.users,
    ...source.model.organizations.map(({ name: login }) => ({ login })),
  ]) {
    const { body } = await target.as(target.root, 'GET', `/users/${name}`)
    const answer = await fetch(body.avatar_url)
    assert.equal(answer.status, 200)
    const image = Buffer.from(await answer.arrayBuffer())
    if (!image.toString().startsWith('<svg')) found[name] = image
  }
  return found
}

describe('The avatars of a Gitea or Forgejo', () => {
  before(async () => {
    target = await startTarget({ git: false })
  })

  const [picture, drawing, logo] = [png(3, 3), paletted(5), png(4, 4)]
  it('are copied when they were uploaded, and what cannot be copied is named', async () => {
    source.model = aModel({
      users: [
        user(1, 'root1'),
        user(2, 'ann', uploaded(2, picture)),
        user(3, 'ben', uploadedBefore(3, picture)),
        user(4, 'carl', uploadedBefore(4, drawing)),
        user(5, 'dora', generated('dora@example.org')),
        user(6, 'emil', generated('former@example.org')),
        user(7, 'fay', { path: `/avatar/${digest('md5', 'fay@example.org')}` }),
        user(8, 'gus', uploaded(8, Buffer.concat([picture, Buffer.alloc(512 * 1024)]))),
        user(9, 'hal', uploaded(9, png(2049, 1))),
        user(10, 'ida', uploaded(10, Buffer.from('<svg/>'))),
        user(11, 'joe', { path: `/avatars/${'a'.repeat(64)}` }),
      ],
      organizations: [
        organization(12, 'acme', uploaded(12, logo)),
        organization(13, 'beta', generated('beta')),
      ],
      repositories: [repository('one', '/repo-avatars/21-abc'), repository('two', '/repo-avatars/22')],
    })
    const text = await run()
    assert.match(text, /^avatars: 4 copied, 0 already there$/m)
    assert.deepEqual(await imagesHere(), { ann: picture, ben: picture, carl: drawing, acme: logo })
    for (const line of [
      /^ {2}avatars of another service, such as Gravatar: fay$/m,
      /^ {2}avatars that the source names, but does not have: joe$/m,
      /^ {2}avatars of repositories: root1\/one$/m,
      /^ {2}avatars that Allot does not store: .*gus \(larger than 512 KiB\)/m,
      /^ {2}avatars that Allot does not store: .*hal \(image: must have at most 2048 × 2048 pixels, got 2049 × 1/m,
      /^ {2}avatars that Allot does not store: .*ida \(image: must be a PNG, JPEG, GIF or WebP image\)/m,
    ])
      assert.match(text, line)
    const report = await target.compared(asked())
    assert.match(report.text, /^ {2}avatars: 4$/m)
    assert.doesNotMatch(report.text, /avatar \(SHA-256\)/)
  })

  it('are not written a second time', async () => {
    const before = await everythingIn(target)
    assert.match(await run(), /^avatars: 0 copied, 4 already there$/m)
    assert.deepEqual(await everythingIn(target), before)
  })
})

describe('A later migration', () => {
  const [first, second, own] = [png(3, 3), png(3, 3, 0xff), png(5, 5)]
  const logins = ['changed', 'removed', 'set-here', 'gone-here', 'both-changed', 'both-gone', 'set-before']
  before(async () => {
    target = await startTarget({ git: false })
    const users = logins.map((login, index) => user(index + 2, login, uploaded(index + 2, first)))
    source.model = aModel({ users: [user(1, 'root1'), ...users] })
    delete source.model.users.find(({ login }) => login === 'set-before')!.avatar
    await run()
    for (const [login, image] of [
      ['set-here', own],
      ['both-changed', own],
      ['set-before', own],
      ['gone-here', undefined],
      ['both-gone', undefined],
    ] as const) {
      const { avatars, accounts } = target.allot.hosting
      const { id } = (await accounts.byName(login))!
      await (image === undefined ? avatars.remove(id) : avatars.set(id, image))
    }
    for (const one of source.model.users) {
      if (['changed', 'both-changed', 'set-before'].includes(one.login))
        one.avatar = uploaded(one.id!, second)
      if (['removed', 'both-gone'].includes(one.login)) one.avatar = generated(`${one.login}@example.org`)
    }
  })

  it('leaves avatars as they are with --keep, and names those that differ', async () => {
    const before = await imagesHere()
    const text = await run(true)
    assert.deepEqual(await imagesHere(), before)
    assert.match(text, /^ {2}avatars that were changed at the source, and are kept as they are: changed$/m)
    assert.match(text, /^ {2}avatars that were removed at the source, and are kept: removed$/m)
  })

  it('follows the source, and leaves what was changed or removed here', async () => {
    const text = await run()
    assert.match(text, /^avatars: 0 copied, 0 already there, 1 updated$/m)
    assert.deepEqual(await imagesHere(), {
      ...{ changed: second, 'set-here': own, 'both-changed': own, 'set-before': own },
    })
    for (const line of [
      /^removed, because the source removed it:\n {2}avatars: removed$/m,
      /^ {2}avatars that were changed here: set-here, both-changed, set-before$/m,
      /^ {2}avatars that were removed here, and stay removed: gone-here$/m,
    ])
      assert.match(text, line)
    const before = await everythingIn(target)
    await run()
    assert.deepEqual(await everythingIn(target), before)
  })

  it('copies an avatar that was uploaded again', async () => {
    for (const one of source.model.users)
      if (['removed', 'both-gone'].includes(one.login)) one.avatar = uploaded(one.id!, first)
    assert.match(await run(), /^avatars: 2 copied, 1 already there$/m)
    const { removed, 'both-gone': both } = await imagesHere()
    assert.deepEqual([removed, both], [first, first])
  })
})

describe('An avatar that is set here while that of the source is downloaded', () => {
  before(async () => {
    target = await startTarget({ git: false })
  })

  it('stays, and is named', async (t) => {
    const own = png(5, 5)
    source.model = aModel({ users: [user(1, 'root1'), user(2, 'ann', uploaded(2, png(3, 3)))] })
    const { avatars } = target.allot.hosting
    const read = avatars.of.bind(avatars)
    t.mock.method(avatars, 'of', async (id: number) => {
      const found = await read(id)
      await avatars.set(id, own)
      return found
    })
    assert.match(await run(), /^ {2}avatars that were changed here: .*ann$/m)
    assert.deepEqual((await imagesHere()).ann, own)
  })

  it('is named as removed when it was removed, and stays so', async (t) => {
    const [first, second] = [png(3, 3), png(3, 3, 0xff)]
    source.model = aModel({ users: [user(1, 'root1'), user(3, 'ben', uploaded(3, first))] })
    await run()
    const { avatars } = target.allot.hosting
    const read = avatars.of.bind(avatars)
    const remove = async (id: number) => {
      const found = await read(id)
      await avatars.remove(id)
      return found
    }
    source.model.users[1]!.avatar = uploaded(3, second)
    t.mock.method(avatars, 'of', remove)
    assert.match(await run(), /^ {2}avatars that were removed here, and stay removed: ben$/m)
    assert.equal((await imagesHere()).ben, undefined)
  })
})
