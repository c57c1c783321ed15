import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { type IncomingMessage, request } from 'node:http'
import { text } from 'node:stream/consumers'
import { before, describe, it, mock } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { pktLine } from '../../lib/git/pkt-lines.ts'
import { atEnd } from '../support/cleanup.ts'
import type { Mount, Person } from '../support/test-server.ts'
import { waitFor } from '../support/wait-for.ts'
import { createPageClient } from '../web/browser.ts'
import { aCheckout, git, urlFor } from './client.ts'
import { type ServedGit, startGit } from './served.ts'

/** More than the buffers of a connection hold. */
const SIZE = 16 * 1024 * 1024

let allot: ServedGit
let alice: Person
before(async () => {
  mock.timers.enable({ apis: ['setInterval'] })
  atEnd(() => mock.timers.reset())
  const mount: Mount =
    (handler, { pages }) =>
    (req, res) =>
      handler(req, res, () => pages(req, res))
  allot = await startGit({}, { mount })
  alice = await allot.person('alice')
})

/** Someone who may push to a new private repository, and a token. */
const aGuest = async () => {
  const guest = await allot.person()
  const path = await allot.repository(alice, `of-${guest.name}`, { private: true })
  await change(alice, 'PUT', `/repos/${path}/collaborators/${guest.name}`, { permission: 'write' })
  return { guest, path }
}

const change: typeof allot.done = (...sent) => allot.done(...sent)

/** Begins a request, and sends a part of its body. */
const begin = (method: string, path: string, token: string, part?: Buffer | string, headers = {}) => {
  const sent = request(`${allot.base}/${path}`, {
    method,
    headers: { ...headers, authorization: `token ${token}` },
  })
  let isAnswered = false
  sent.on('response', () => {
    isAnswered = true
  })
  const answer = once(sent, 'response').then(([response]) => response as IncomingMessage)
  // A request that the spec itself ends has no answer.
  answer.catch(() => undefined)
  sent.on('error', () => undefined)
  if (part === undefined) sent.end()
  else sent.write(part)
  return { sent, answer, isAnswered: () => isAnswered }
}

/** Lets minutes pass, each with time for what it begins, until the condition holds. */
const minutesUntil = (condition: () => boolean): Promise<void> =>
  waitFor(() => {
    mock.timers.tick(60_000)
    return condition()
  })

/** Lets the server read the rights several times. */
const minutes = async (): Promise<void> => {
  for (let minute = 0; minute < 5; minute++) {
    mock.timers.tick(60_000)
    await sleep(20)
  }
}

type Loss = (guest: Person, path: string) => Promise<void>
const LOSSES: [what: string, status: number, message: RegExp, lose: Loss][] = [
  [
    'its token is revoked',
    401,
    /this token was revoked/,
    (guest) => change(allot.root, 'DELETE', `/users/${guest.name}/tokens/spec`),
  ],
  [
    'its account is disabled',
    403,
    /not allowed to sign in/,
    (guest) => change(allot.root, 'PATCH', `/admin/users/${guest.name}`, { active: false }),
  ],
  [
    'its account is deleted',
    401,
    /this account was deleted/,
    (guest) => change(allot.root, 'DELETE', `/admin/users/${guest.name}`),
  ],
  [
    'its user may not read the repository any more',
    404,
    /you may not read it any more/,
    (guest, path) => change(alice, 'DELETE', `/repos/${path}/collaborators/${guest.name}`),
  ],
  [
    'its user may not push any more',
    403,
    /may not push/,
    (guest, path) =>
      change(alice, 'PUT', `/repos/${path}/collaborators/${guest.name}`, { permission: 'read' }),
  ],
  [
    'the repository is archived',
    403,
    /is archived/,
    (_guest, path) => change(alice, 'PATCH', `/repos/${path}`, { archived: true }),
  ],
  [
    'the repository is deleted',
    404,
    /was deleted/,
    (_guest, path) => change(alice, 'DELETE', `/repos/${path}`),
  ],
]

const UPLOADS: [what: string, path: string, part: string, headers: object][] = [
  [
    'A push',
    'git-receive-pack',
    `${pktLine(`${'0'.repeat(40)} ${'1'.repeat(40)} refs/heads/main\0report-status`)}0000PACK`,
    { 'content-type': 'application/x-git-receive-pack-request' },
  ],
  ['An upload of an LFS object', `info/lfs/objects/${'a'.repeat(64)}/9000`, 'part', {}],
]

for (const [what, end, part, headers] of UPLOADS)
  describe(what, () => {
    const beginAt = (path: string, token: string) =>
      begin(end.startsWith('git') ? 'POST' : 'PUT', `${path}.git/${end}`, token, part, headers)

    for (const [loss, status, message, lose] of LOSSES)
      it(`ends within a minute after ${loss}`, async () => {
        const { guest, path } = await aGuest()
        const { sent, answer, isAnswered } = beginAt(path, guest.token)
        await minutes()
        assert.equal(isAnswered(), false)
        await lose(guest, path)
        await minutesUntil(isAnswered)
        const response = await answer
        assert.equal(response.statusCode, status)
        assert.match(await text(response), message)
        sent.destroy()
      })

    it('goes on while other tokens are revoked and the repository is renamed', async () => {
      const { guest, path } = await aGuest()
      await change(guest, 'POST', `/users/${guest.name}/tokens`, { name: 'other', scopes: ['all'] })
      const { sent, isAnswered } = beginAt(path, guest.token)
      await minutes()
      await change(guest, 'DELETE', `/users/${guest.name}/tokens/other`)
      await change(alice, 'PATCH', `/repos/${path}`, { name: `renamed-${guest.name}` })
      await minutes()
      assert.equal(isAnswered(), false)
      sent.destroy()
    })
  })

let large: string
let commit: string
before(async () => {
  large = await allot.repository(alice, 'large', { private: true })
  const checkout = await aCheckout({ large: randomBytes(SIZE) })
  await git(checkout, 'push', '--quiet', urlFor(allot, large, alice), 'main')
  commit = await git(checkout, 'rev-parse', 'main')
})

/** What ends the right to read. */
const READ_LOSSES = LOSSES.filter(([loss]) => !/push|archived|repository is deleted/.test(loss))

describe('A fetch', () => {
  /** Begins a fetch of someone who may read the repository. */
  const fetching = async () => {
    const guest = await allot.person()
    await change(alice, 'PUT', `/repos/${large}/collaborators/${guest.name}`, { permission: 'read' })
    const body = `${pktLine(`want ${commit} no-progress\n`)}0000${pktLine('done\n')}`
    const headers = { 'content-type': 'application/x-git-upload-pack-request' }
    const { sent, answer } = begin('POST', `${large}.git/git-upload-pack`, guest.token, body, headers)
    sent.end()
    const response = await answer
    assert.equal(response.statusCode, 200)
    await minutes()
    return { guest, response }
  }

  it('ends with everything while nothing is lost', async () => {
    const { response } = await fetching()
    let size = 0
    for await (const chunk of response) size += (chunk as Buffer).length
    assert.ok(size > SIZE)
  })

  for (const [loss, , , lose] of READ_LOSSES)
    it(`whose client reads slowly is cut off within a minute after ${loss}`, async () => {
      const { guest, response } = await fetching()
      await lose(guest, large)
      await minutes()
      await assert.rejects(text(response), /aborted|ECONNRESET/)
    })
})

/** Downloads of the repository `large`, whose requests are authenticated by a token or by a session. */
const DOWNLOADS: [what: string, path: (repository: string) => string, isPage?: boolean][] = [
  ['of a file', (path) => `api/v1/repos/${path}/raw/large`],
  ['of a file that may be in LFS', (path) => `api/v1/repos/${path}/media/large`],
  ['of an archive', (path) => `api/v1/repos/${path}/archive/main.tar.gz`],
  ['of an archive at the URL that tags name', (path) => `${path}/archive/main.zip`],
  ['of a file from its page', (path) => `${path}/raw/branch/main/large`, true],
]

for (const [what, pathOf, isPage = false] of DOWNLOADS)
  describe(`A download ${what}`, () => {
    /** Begins one by someone who may read the repository. */
    const downloading = async () => {
      const guest = await allot.person()
      await change(alice, 'PUT', `/repos/${large}/collaborators/${guest.name}`, { permission: 'read' })
      const page = createPageClient(allot.base)
      if (isPage) {
        await page.get('/-/sign-in')
        assert.equal((await page.signIn('', guest.token)).status, 303)
      }
      const headers: Record<string, string> = isPage
        ? { cookie: page.cookie }
        : { authorization: `token ${guest.token}` }
      const sent = request(`${allot.base}/${pathOf(large)}`, { headers }).end()
      const [response] = (await once(sent, 'response')) as [IncomingMessage]
      assert.equal(response.statusCode, 200)
      await minutes()
      return { guest, response }
    }

    it('ends with everything while nothing is lost', async () => {
      const { response } = await downloading()
      let size = 0
      for await (const chunk of response) size += (chunk as Buffer).length
      assert.ok(size >= SIZE, `${size} bytes`)
    })

    for (const [loss, , , lose] of READ_LOSSES)
      it(`is cut off within a minute after ${loss}`, async () => {
        const { guest, response } = await downloading()
        await lose(guest, large)
        await minutes()
        await assert.rejects(text(response), /aborted|ECONNRESET/)
      })
  })

it('An export is cut off within a minute after the administrator loses the rights or the token', async () => {
  for (const [method, path, body] of [
    ['PATCH', '/admin/users/NAME', { admin: false }],
    ['DELETE', '/users/NAME/tokens/spec', undefined],
  ] as const) {
    const admin = await allot.person()
    await change(allot.root, 'PATCH', `/admin/users/${admin.name}`, { admin: true })
    const sent = request(`${allot.base}/api/v1/admin/export`, {
      headers: { authorization: `token ${admin.token}` },
    }).end()
    const [response] = (await once(sent, 'response')) as [IncomingMessage]
    assert.equal(response.statusCode, 200)
    await change(allot.root, method, path.replace('NAME', admin.name), body)
    await minutes()
    await assert.rejects(text(response), /aborted|ECONNRESET/)
  }
})
