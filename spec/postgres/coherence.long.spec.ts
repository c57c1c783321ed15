import assert from 'node:assert/strict'
import { before, describe, it } from 'node:test'
import { postgres } from '../../drivers/postgres/index.ts'
import { type OpenAllot, openAllot } from '../../lib/allot.ts'
import { atEnd } from '../support/cleanup.ts'
import type { Answer } from '../support/request.ts'
import { seededRandom } from '../support/seed.ts'
import { onPostgres } from '../support/store.ts'
import { missing } from './cluster.ts'
import { emptyStore } from './empty-store.ts'
import { type ServerProcess, startServerProcess } from './server-processes.ts'

/** Processes, and concurrent reads and writes. `npm run spec:postgres` runs all of them. */
const PROCESSES = onPostgres ? 4 : 2
const REQUESTS = onPostgres ? 10_000 : 400

/** The servers. Each request goes to a random one. */
let processes: ServerProcess[] = []
const random = seededRandom()
let allot: OpenAllot
let root: string

const any = (): ServerProcess => processes[Math.floor(random() * processes.length)]!
const ask = (method: string, path: string, token: string, body?: unknown): Promise<Answer> =>
  any().send(method, path, { token, ...(body === undefined ? {} : { body }) })

const ok = async (answer: Promise<Answer>, status: number): Promise<Answer> => {
  const got = await answer
  assert.equal(got.status, status, got.text)
  return got
}

/** Creates a user, and returns a token. Many at once are asked to try again, as clients are. */
const person = async (name: string): Promise<string> => {
  const account = await allot.hosting.accounts.createUser({ name }).catch((error) => {
    if (error.reason !== 'busy') throw error
    return undefined
  })
  if (account === undefined) return person(name)
  return (await allot.hosting.tokens.create(account.id, 'spec', ['all'])).secret
}

/**
 * Sequences of one user's requests, each sent to a random process: every response must reflect all
 * acknowledged writes. Each function returns its number of requests.
 */
const threads: Record<string, (round: number, name: string, token: string) => Promise<number>> = {
  async 'usage and quota decisions'(round, name, token) {
    const size = 1000 + round
    const item = { owner: name, name: 'p', size, type: 'npm', version: '1' }
    await ok(ask('PUT', `/admin/ledger/packages/${name}`, root, item), round === 0 ? 201 : 200)
    const { body } = await ok(ask('GET', '/user/quota', token), 200)
    assert.equal(body.used.size.assets.packages.all, size)
    await ok(ask('PATCH', `/admin/quota/rules/${name}`, root, { limit: size + (round % 2) }), 200)
    const over = await ok(ask('GET', '/user/quota/check?subject=size:assets:packages:all', token), 200)
    assert.equal(over.body, round % 2 === 0, 'the changed rule is in force')
    return 4
  },
  async 'quota groups'(round, name, token) {
    await ok(ask('DELETE', `/admin/quota/groups/${name}/users/${name}`, root), 204)
    const without = await ok(ask('GET', '/user/quota', token), 200)
    assert.equal(without.body.groups.length, 0, `round ${round}`)
    await ok(ask('PUT', `/admin/quota/groups/${name}/users/${name}`, root), 204)
    const within = await ok(ask('GET', '/user/quota', token), 200)
    assert.equal(within.body.groups.length, 1)
    return 4
  },
  async 'revoked tokens'(round, name, token) {
    const made = await ok(
      ask('POST', `/users/${name}/tokens`, token, { name: `t${round}`, scopes: ['all'] }),
      201,
    )
    await ok(ask('GET', '/user', made.body.sha1), 200)
    await ok(ask('DELETE', `/users/${name}/tokens/t${round}`, token), 204)
    await ok(ask('GET', '/user', made.body.sha1), 401)
    return 4
  },
  async 'stars and their counts'(round, name, token) {
    const before = round % 2 === 1
    await ok(ask(before ? 'DELETE' : 'PUT', `/user/starred/${name}/demo`, token), 204)
    const { body } = await ok(ask('GET', `/repos/${name}/demo`, token), 200)
    assert.equal(body.stars_count, before ? 0 : 1)
    const list = await ok(ask('GET', '/user/starred', token), 200)
    assert.equal(list.body.length, before ? 0 : 1)
    await ok(ask('GET', `/user/starred/${name}/demo`, token), before ? 404 : 204)
    return 4
  },
  async visibility(round, name, token) {
    await ok(ask('PATCH', `/repos/${name}/demo`, token, { private: round % 2 === 0 }), 200)
    const stranger = await ask('GET', `/repos/${name}/demo`, strangers)
    assert.equal(stranger.status, round % 2 === 0 ? 404 : 200)
    const { body } = await ok(ask('GET', `/users/${name}/repos`, strangers), 200)
    assert.equal(body.length, round % 2 === 0 ? 0 : 1)
    return 3
  },
  async 'the timeline of an issue'(round, name, token) {
    const at = `/repos/${name}/demo/issues`
    if (round % 10 === 0) await ok(ask('POST', at, token, { title: `${round}` }), 201)
    const issue = `${at}/${Math.floor(round / 10) + 1}`
    if (round % 2 === 0) await ok(ask('POST', `${issue}/comments`, token, { body: `${round}` }), 201)
    else await ok(ask('PATCH', issue, token, { title: `${round}` }), 201)
    const { body } = await ok(ask('GET', `${issue}/timeline`, token), 200)
    const items: { type: string; body: string; new_title: string }[] = body
    const rounds = items.map(({ type, body, new_title }) => Number(type === 'comment' ? body : new_title))
    const first = round - (round % 10)
    assert.deepEqual(
      rounds,
      Array.from({ length: (round % 10) + 1 }, (_, index) => first + index),
    )
    return 2
  },
  async membership(round, name, token) {
    await ok(ask(round % 2 === 0 ? 'PUT' : 'DELETE', `/orgs/${name}-org/members/stranger`, token), 204)
    const member = await ask('GET', `/repos/${name}-org/secret`, strangers)
    assert.equal(member.status, round % 2 === 0 ? 200 : 404)
    return 2
  },
}
let strangers: string

describe(`${PROCESSES} processes over one PostgreSQL`, { skip: missing }, () => {
  before(async () => {
    const { url } = await emptyStore()
    allot = await openAllot({ driver: postgres(url), repositories: false })
    atEnd(() => allot.close())
    const admin = await allot.hosting.accounts.createUser({ name: 'root', admin: true })
    root = (await allot.hosting.tokens.create(admin.id, 'spec', ['all'])).secret
    strangers = await person('stranger')
    processes = await Promise.all(Array.from({ length: PROCESSES }, () => startServerProcess(url)))
  })

  const clients = Object.keys(threads).length * 2
  it(`give no stale response in ${REQUESTS.toLocaleString('en')} requests of ${clients} clients`, async () => {
    let done = 0
    const client = async ([title, thread]: [string, (typeof threads)[string]], at: number) => {
      const name = `${title.replaceAll(' ', '-')}-${at}`.slice(-30)
      const token = await person(name)
      await setUp(name, token)
      for (let round = 0; done < REQUESTS; round++) {
        const requests = await thread(round, name, token).catch((error: Error) => {
          throw new Error(`${title}, round ${round}: ${error.message}`, { cause: error })
        })
        done += requests
      }
    }
    const all = Object.entries(threads)
    await Promise.all([...all, ...all].map(client))
    const { messages } = await allot.verify()
    assert.deepEqual(messages, [], 'a recount agrees')
  })

  it('count every concurrent addition to one repository', async () => {
    const tokens = await Promise.all(Array.from({ length: 16 }, (_, at) => person(`fan${at}`)))
    const owner = await person('star')
    await ok(ask('POST', '/user/repos', owner, { name: 'hot' }), 201)
    const pushes = onPostgres ? 20 : 4
    await Promise.all(
      tokens.map(async (token, at) => {
        await ok(ask('PUT', '/user/starred/star/hot', token), 204)
        for (let push = 0; push < pushes; push++) {
          const item = { repository: 'star/hot', name: 'x', size: 10, run: push }
          await ok(ask('PUT', `/admin/ledger/artifacts/${at}-${push}`, root, item), 201)
        }
      }),
    )
    const { body } = await ok(ask('GET', '/user/quota', owner), 200)
    assert.equal(body.used.size.assets.artifacts, 16 * pushes * 10)
    assert.equal((await ask('GET', '/repos/star/hot', owner)).body.stars_count, 16)
    assert.deepEqual((await allot.verify()).messages, [])
  })
})

const setUp = async (name: string, token: string): Promise<void> => {
  await ok(ask('POST', '/user/repos', token, { name: 'demo' }), 201)
  await ok(ask('POST', '/orgs', token, { username: `${name}-org` }), 201)
  await ok(ask('POST', `/orgs/${name}-org/repos`, token, { name: 'secret', private: true }), 201)
  const rules = [{ name, limit: 1, subjects: ['size:assets:packages:all'] }]
  await ok(ask('POST', '/admin/quota/groups', root, { name, rules }), 201)
  await ok(ask('PUT', `/admin/quota/groups/${name}/users/${name}`, root), 204)
}
