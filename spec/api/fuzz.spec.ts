import assert from 'node:assert/strict'
import { it } from 'node:test'
import * as fc from 'fast-check'
import { routes } from '../../lib/api/index.ts'
import type { Route } from '../../lib/http/index.ts'
import { populate } from '../fuzz/populated.ts'
import { type FuzzRequest, fuzzRequestOf } from '../fuzz/request.ts'
import { times } from '../support/long.ts'
import { type Answer, start, type TestServer } from '../support/test-server.ts'

const all = routes as unknown as Route<never, never>[]

/** Requests to one server before it is replaced: earlier requests change what later ones find. */
const MAX_LENGTH = 100

/** Without a bias toward short lists, because starting a server is slow. */
const requests = fc.noBias(
  fc.array(fc.oneof(...all.map((route) => fuzzRequestOf(route))), { maxLength: MAX_LENGTH, size: 'max' }),
)

const sender = ({ request, root }: TestServer, token: string) => {
  const tokens = { root: { token: root.token }, alice: { token }, nobody: {} }
  return ({ who, method, path, body, contentType }: FuzzRequest): Promise<Answer> =>
    request(method, path, {
      ...tokens[who],
      ...(body === undefined || method === 'GET' ? {} : { body }),
      ...(contentType === undefined ? {} : { headers: { 'content-type': contentType } }),
    })
}

const FREQUENT = [200, 204, 401, 404, 422]

it('Random requests get a status that the route declares, never a 5xx, with and without credentials', async (t) => {
  const statuses = new Map<number, number>()
  const property = fc.asyncProperty(requests, async (asked) => {
    const running = await start({ webhooks: true })
    try {
      const ask = sender(running, (await populate(running.allot)).alice.token)
      for (const one of asked) {
        const { status, text } = await ask(one)
        statuses.set(status, (statuses.get(status) ?? 0) + 1)
        assert.ok(status < 500, `${one.method} ${one.path} as ${one.who} answered ${status}: ${text}`)
      }
    } finally {
      await running.stop()
    }
  })
  await fc.assert(property, { numRuns: times(4, 60), includeErrorInReport: true })
  const told = [...statuses].sort(([a], [b]) => a - b)
  t.diagnostic(told.map(([status, times]) => `${status}: ${times}`).join(', '))
  for (const status of FREQUENT) assert.ok(statuses.has(status), `${status} was never answered`)
})
