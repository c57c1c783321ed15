import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { memory } from '../../drivers/memory/index.ts'
import { pageRoutes } from '../../lib/web/page-routes.ts'
import { watchReads } from '../counted.ts'
import { madeBefore, start } from '../support/test-server.ts'
import { MARK, pathsOf } from './filled.ts'
import { all, askable, NOTHING, openWorld, saidBy, VIEWERS, worldWithSecrets } from './privacy-worlds.ts'

/** The records that were read, by collection. */
let reads: string[] = []
const watchedDriver = () => watchReads(memory(), (collection) => reads.push(collection))
const secretive = madeBefore(() => worldWithSecrets({ driver: watchedDriver() }))
const open = madeBefore(() => openWorld())

/** A valid body for each method, so that only the path decides. */
const BODIES: Record<string, object> = {
  repoEdit: { description: 'x' },
  repoTransfer: { new_owner: 'owned' },
  orgAddMember: { role: 'member' },
  orgCreateTeam: { name: 'x', permission: 'read' },
  createOrgRepo: { name: 'x' },
  createOrgRepoDeprecated: { name: 'x' },
  userCreateToken: { name: 'x', scopes: ['read:user'] },
}

/** Paths of hidden content, each with the same path of missing content. */
const hiddenPaths = (path: string): [hidden: string, missing: string][] =>
  pathsOf(path)
    .filter((one) => one.includes(MARK))
    .map((one) => [one, one.replaceAll(MARK, NOTHING)])

/**
 * What a request is answered, and what was read for it. It is sent again when its token was read, too: a use
 * of a token is saved some time after it, and the token is not in the cache then.
 */
const watched = async <T>(request: () => Promise<T>): Promise<[answer: T, reads: string[]]> => {
  for (;;) {
    reads = []
    const answer = await request()
    if (!reads.includes('token')) return [answer, reads]
  }
}

describe('A private thing', () => {
  const named = all.filter(({ path, auth }) => auth !== 'admin' && hiddenPaths(path).length > 0)
  it('has paths to compare', () => assert.ok(named.length > 30))

  for (const route of named) {
    const { method, path: pattern, operationId, body } = route
    it(`is answered by ${method} ${pattern} like a missing one, byte for byte, from the same reads`, async () => {
      const compared = hiddenPaths(pattern)
      const given = body && (BODIES[operationId] ?? {})
      for (const [who, of, admitted] of VIEWERS)
        for (const [hidden, missing] of askable(compared, route, admitted)) {
          const ask = (path: string) => secretive.allot.as(of(secretive), method, path, given)
          // What else it names is cached then.
          await ask(missing)
          const [one, readForOne] = await watched(() => ask(hidden))
          const [other, readForOther] = await watched(() => ask(missing))
          assert.equal(saidBy(one), saidBy(other).replaceAll(NOTHING, MARK), `${method} ${hidden} as ${who}`)
          assert.deepEqual(readForOne, readForOther, `${method} ${hidden} as ${who}`)
          assert.ok(one.status >= 400, `${method} ${hidden} as ${who}: ${one.status}`)
        }
    })
  }

  for (const path of [
    '*-user',
    '*-org',
    'alice/*-repo',
    '*-user/*-repo/src/branch/main',
    'acme/*-repo/issues/1',
    'alice/*-repo.git/info/refs?service=git-upload-pack',
    'alice/*-repo.git/info/refs?service=git-receive-pack',
    '*-org/*-repo.git/info/refs?service=git-upload-pack',
  ])
    it(`is answered to git and browsers from the same reads as a missing one: ${path}`, async () => {
      for (const [who, of] of VIEWERS) {
        const token = of(secretive)?.token
        const headers = {
          accept: 'text/html',
          ...(token && { authorization: `Basic ${btoa(`x:${token}`)}` }),
        }
        const ask = async (name: string) => {
          const url = `${secretive.allot.base}/${path.replaceAll('*', name)}`
          const response = await fetch(url, { headers })
          await response.text()
          return response.status
        }
        await ask(NOTHING)
        const hidden = await watched(() => ask(MARK))
        assert.deepEqual(hidden, await watched(() => ask(NOTHING)), who)
        assert.ok(hidden[0] >= 400)
      }
    })

  it('is looked up by a former name, or while it is offered, like a missing one', async () => {
    const allot = await start({ driver: watchedDriver(), repositories: false })
    const [ann, bob, eve] = [await allot.person('ann'), await allot.person('bob'), await allot.person('eve')]
    const made: typeof allot.done = (...sent) => allot.done(...sent)
    for (const name of ['was', 'offered']) await made(ann, 'POST', '/user/repos', { name, private: true })
    await made(ann, 'PATCH', '/repos/ann/was', { name: 'is' })
    await made(ann, 'POST', '/repos/ann/offered/transfer', { new_owner: 'bob' })
    await made(allot.root, 'PATCH', '/admin/users/bob', { visibility: 'private' })
    const { accounts } = allot.allot.hosting
    await accounts.rename((await accounts.byName('bob'))!.id, 'rob')
    for (const [hidden, missing] of [
      ['/repos/ann/was', '/repos/ann/none'],
      ['/repos/ann/offered', '/repos/ann/none'],
      ['/users/bob', '/users/none'],
      ['/repos/bob/none', '/repos/none/none'],
    ] as const)
      for (const viewer of [undefined, eve])
        for (const method of ['GET', 'PATCH', 'POST']) {
          const ask = (path: string) => allot.as(viewer, method, path)
          await ask(missing)
          const [{ status }, read] = await watched(() => ask(hidden))
          const [other, readForOther] = await watched(() => ask(missing))
          assert.deepEqual([status, ...read], [other.status, ...readForOther], `${method} ${hidden}`)
        }
    assert.equal((await allot.as(bob, 'GET', '/repos/ann/offered')).status, 200)
    assert.equal((await allot.as(ann, 'GET', '/repos/ann/was')).status, 301)
    await allot.stop()
  })

  it('is answered to every other method like a missing one', async () => {
    for (const [hidden, missing] of ['/repos/{owner}/{repo}', '/users/{username}', '/orgs/{org}'].flatMap(
      hiddenPaths,
    ))
      for (const method of ['HEAD', 'OPTIONS', 'PUT', 'POST', 'PATCH', 'DELETE']) {
        const { allot, outsider } = secretive
        const [one, other] = [
          await allot.as(outsider, method, hidden, method === 'HEAD' ? undefined : {}),
          await allot.as(outsider, method, missing, method === 'HEAD' ? undefined : {}),
        ]
        assert.equal(saidBy(one), saidBy(other).replaceAll(NOTHING, MARK), `${method} ${hidden}`)
      }
  })

  it('that is named in a body is answered like a missing one', async () => {
    const { allot, outsider } = secretive
    const transfer = (owner: string) =>
      allot.as(outsider, 'POST', '/repos/outsider/own/transfer', { new_owner: owner })
    for (const one of [`${MARK}-user`, `${MARK}-org`])
      assert.equal(saidBy(await transfer(one)), saidBy(await transfer(one.replace(MARK, NOTHING))))
    const mention = (text: string) => allot.as(outsider, 'POST', '/markdown', { Text: text, Mode: 'gfm' })
    for (const one of [`@${MARK}-user`, `${MARK}-user/${MARK}-repo#1`, `alice/${MARK}-repo#1`])
      assert.equal(
        saidBy(await mention(one)),
        saidBy(await mention(one.replaceAll(MARK, NOTHING))).replaceAll(NOTHING, MARK),
      )
  })

  it('is refused before any lookup when the token lacks the scope', async () => {
    const { allot, outsider } = secretive
    const token = await allot.scoped(outsider, 'read:misc')
    for (const name of [MARK, NOTHING])
      for (const method of ['GET', 'PATCH', 'DELETE'])
        assert.equal((await allot.request(method, `/repos/alice/${name}-repo`, { token })).status, 403)
  })
})

describe('The pages of people and repositories', () => {
  const said = ({ status, text }: { status: number; text: string }): string =>
    `${status} ${text}`
      .replace(/127\.0\.0\.1:\d+/g, 'host')
      .replace(/name="form" value="[^"]*"/g, '')
      .replace(/>\d+ forks?</g, '><')
      .replace(/\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:Z| UTC)/g, 'then')

  for (const who of ['a visitor', 'an outsider'])
    it(`tell ${who} nothing of what is hidden`, async () => {
      const [first, second] = [secretive.allot.browser(), open.allot.browser()]
      if (who === 'an outsider') {
        await first.signIn('', secretive.outsider.token)
        await second.signIn('', open.outsider.token)
      }
      const paths = pageRoutes.filter(({ kind }) => kind !== undefined).flatMap(({ path }) => pathsOf(path))
      assert.ok(paths.length > 80)
      for (const path of paths) assert.equal(said(await first.get(path)), said(await second.get(path)), path)
    })
})
