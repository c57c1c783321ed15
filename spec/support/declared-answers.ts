import assert from 'node:assert/strict'
import * as v from 'valibot'
import { routes } from '../../lib/api/index.ts'
import { impliedStatuses, type Route } from '../../lib/http/index.ts'
import { createRouter } from '../../lib/http/router.ts'
import { recordAnswer } from './status-coverage.ts'
import type { Answer } from './test-server.ts'

const router = createRouter(routes as unknown as Route[])

/** What the client has already is 304, a path whose parameter does not fit 404, and a query that does not fit 422, whatever the route declares. */
const ALWAYS = [304, 404, 405, 422]

/** Every answer that a spec gets is one that its route declares: the status, and a body that its schema describes. */
export const assertDeclared = (method: string, pathAndQuery: string, answer: Answer): void => {
  const found = router.find(method, pathAndQuery.split('?', 1)[0]!)
  if (typeof found !== 'object' || method === 'HEAD') return
  const { route } = found
  const { status, body, text } = answer
  recordAnswer(route, status)
  const what = `${method} ${route.path} answered ${status}: ${text.slice(0, 300)}`
  const kind = route.responses[status]
  if (kind === undefined) assert.ok([...impliedStatuses(route), ...ALWAYS].includes(status), what)
  else if ('type' in kind) {
    const { issues } = v.safeParse(kind as v.GenericSchema, body)
    assert.equal(
      issues,
      undefined,
      `${what}\n${issues?.map((issue) => `${v.getDotPath(issue)}: ${issue.message}`)}`,
    )
  }
}
