import assert from 'node:assert/strict'
import { before, describe, it } from 'node:test'
import { type RequestOptions, start } from '../support/test-server.ts'
import { type Mount, mounts } from './mounts.ts'

/** Requests that build on each other, in each way in which a host can pass a request and its response on. */
const REQUESTS: readonly [method: string, path: string, options?: RequestOptions & { anonymous?: true }][] = [
  ['GET', '/version'],
  ['GET', '/nothing'],
  ['GET', '/user', { anonymous: true }],
  ['POST', '/user/repos', { body: { name: 'demo', description: 'ü'.repeat(1000) } }],
  ['POST', '/user/repos', { body: { name: 'two' } }],
  ['POST', '/user/repos', { body: '{"name":', headers: { 'content-type': 'application/json' } }],
  ['POST', '/user/repos', { body: 'x'.repeat(2 ** 20 + 1), headers: { 'content-type': 'application/json' } }],
  ['POST', '/markdown/raw', { body: '# Title', headers: { 'content-type': 'text/plain' } }],
  ['GET', '/user/repos?limit=1&page=1'],
  ['HEAD', '/repos/root/demo'],
  ['GET', '/repos/root/d%65mo?x=%2F'],
  ['PATCH', '/repos/root/demo', { body: { name: 'moved' } }],
  ['GET', '/repos/root/demo'],
  ['PUT', '/repos/root/moved/topics', { body: { topics: ['one'] } }],
  ['PUT', '/version'],
  ['OPTIONS', '/user'],
  ['DELETE', '/repos/root/moved'],
  ['GET', '/repos/root/moved'],
]

const HEADERS = ['content-type', 'x-total-count', 'link', 'location', 'allow', 'www-authenticate']

/** What a host answers, without its address, the path of its pages, times and ids of requests. */
const answersIn = async (host: Mount) => {
  const { allot: _, base, root, request } = await start({ repositories: false }, { host })
  const answers: unknown[] = []
  const plain = (text: string | null) =>
    text
      ?.replaceAll(base, 'BASE')
      .replaceAll('BASE/storage/', 'BASE/')
      .replaceAll(/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z/g, 'TIME')
      .replaceAll(/"avatar_url":"[^"]*"/g, 'AVATAR') ?? null
  for (const [method, path, { anonymous, ...options } = {}] of REQUESTS) {
    const token = anonymous ? {} : { token: root.token }
    const { status, headers, text } = await request(method, path, { ...token, ...options })
    // Hono gives a response without a body a type.
    const names = text === '' ? HEADERS.slice(1) : HEADERS
    const some = names.map((name) => [name, plain(headers.get(name))])
    answers.push({ asked: `${method} ${path}`, status, text: plain(text), ...Object.fromEntries(some) })
  }
  return answers
}

describe('The API answers as it does alone', () => {
  let alone: Awaited<ReturnType<typeof answersIn>>
  before(async () => {
    alone = await answersIn(({ handler }) => ({ listener: handler, prefix: '', pages: '' }))
    const statuses = new Set(alone.map((answer) => (answer as { status: number }).status))
    for (const status of [200, 201, 204, 301, 401, 404, 405, 413, 422])
      assert.ok(statuses.has(status), `${status} of ${[...statuses]}`)
  })

  for (const [name, host] of Object.entries(mounts))
    it(`in ${name}`, async () => assert.deepEqual(await answersIn(host), alone))
})
