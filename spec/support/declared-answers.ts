import assert from 'node:assert/strict'
import * as v from 'valibot'
import { routes } from '../../lib/api/index.ts'
import type { Route } from '../../lib/http/index.ts'
import { impliedStatuses } from '../../lib/http/openapi.ts'
import { Router } from '../../lib/http/router.ts'
import { recordAnswer } from './status-coverage.ts'
import type { Answer } from './test-server.ts'

const router = new Router(routes as unknown as Route[])

/** Statuses that any route can answer: not modified, invalid path parameter, wrong method, invalid query. */
const ALWAYS = [304, 404, 405, 422]

/**
 * Fails when a route answers with a status that it does not declare, or with a body that does not match the
 * schema.
 */
export const assertDeclared = (method: string, pathAndQuery: string, answer: Answer): void => {
  const { route } = router.match(method, pathAndQuery.split('?', 1)[0]!)
  if (route === undefined || method === 'HEAD') return
  const { status, body, text } = answer
  recordAnswer(route, status)
  const description = `${method} ${route.path} answered ${status}: ${text.slice(0, 300)}`
  const declared = route.responses[status] ?? route.forgejoResponses?.[status]
  if (declared === undefined) assert.ok([...impliedStatuses(route), ...ALWAYS].includes(status), description)
  else if ('type' in declared) {
    const { issues } = v.safeParse(declared as v.GenericSchema, body)
    assert.equal(
      issues,
      undefined,
      `${description}\n${issues?.map((issue) => `${v.getDotPath(issue)}: ${issue.message}`)}`,
    )
  }
}
