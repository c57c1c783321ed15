import assert from 'node:assert/strict'
import { it } from 'node:test'
import * as fc from 'fast-check'
import { routes } from '../../lib/api/index.ts'
import type { Route } from '../../lib/http/index.ts'
import { populate } from '../fuzz/populated.ts'
import { type FuzzRequest, fuzzRequestOf } from '../fuzz/request.ts'
import { type Answer, start, type TestServer } from '../support/test-server.ts'

const all = routes as unknown as Route<never, never>[]

/** How many requests a server gets before it is replaced: what comes before one decides what it finds. */
const MAX_LENGTH = 100

/** Milliseconds after which no further server is tried. */
const TIME = 12_000

/** Without a bias toward short lists: a server is dear to make. */
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

it('Whatever is asked, by an administrator, a user or nobody, the answer is one that the route declares, and never a 5xx', async (t) => {
  const statuses = new Map<number, number>()
  const end = performance.now() + TIME
  const property = fc.asyncProperty(requests, async (asked) => {
    // One server is tried however busy the machine is.
    if (performance.now() > end && statuses.size > 0) return
    const running = await start()
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
  await fc.assert(property, { numRuns: 60, includeErrorInReport: true })
  const told = [...statuses].sort(([a], [b]) => a - b)
  t.diagnostic(told.map(([status, times]) => `${status}: ${times}`).join(', '))
  // On a busy machine there are few servers, so only what is answered often must be among it.
  for (const status of [200, 204, 401, 404, 422])
    assert.ok(statuses.has(status), `${status} was never answered`)
})
