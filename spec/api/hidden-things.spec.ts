import assert from 'node:assert/strict'
import { before, describe, it } from 'node:test'
import { pageRoutes } from '../../lib/web/page-routes.ts'
import { isLong } from '../support/long.ts'
import { MARK, pathsOf } from './filled.ts'
import {
  all,
  askable,
  NOTHING,
  openWorld,
  saidBy,
  VIEWERS,
  type World,
  worldWithSecrets,
} from './privacy-worlds.ts'

let secretive: World
let open: World
before(async () => {
  secretive = await worldWithSecrets()
  open = await openWorld()
})

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

describe('A private thing', () => {
  const named = all.filter(({ path, auth }) => auth !== 'admin' && hiddenPaths(path).length > 0)
  it('has paths to compare', () => assert.ok(named.length > 30))

  for (const route of named) {
    const { method, path: pattern, operationId, body } = route
    it(`is answered by ${method} ${pattern} like a missing one, byte for byte`, async () => {
      // Of GET, privacy.spec.ts compares the others with the instance that does not have them.
      const compared = hiddenPaths(pattern).slice(0, method === 'GET' && !isLong ? 1 : undefined)
      const given = body && (BODIES[operationId] ?? {})
      for (const [who, of, admitted] of VIEWERS)
        for (const [hidden, missing] of askable(compared, route, admitted)) {
          const { allot } = secretive
          const [one, other] = [
            await allot.as(of(secretive), method, hidden, given),
            await allot.as(of(secretive), method, missing, given),
          ]
          assert.equal(saidBy(one), saidBy(other).replaceAll(NOTHING, MARK), `${method} ${hidden} as ${who}`)
          assert.ok(one.status >= 400, `${method} ${hidden} as ${who}: ${one.status}`)
        }
    })
  }

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
