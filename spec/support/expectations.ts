import assert from 'node:assert/strict'
import type { Answer } from './test-server.ts'

/** An error response is a JSON object `{ message, url }`. */
export const assertError = (answer: Answer, status: number, message?: RegExp): void => {
  assert.equal(answer.status, status, answer.text)
  assert.deepEqual(Object.keys(answer.body ?? {}), ['message', 'url'], answer.text)
  assert.match(answer.body.url, /^http:\/\/.+\/api\/swagger$/)
  if (message !== undefined) assert.match(answer.body.message, message)
}

/** An error of a search is `{ ok: false, error }`; client errors have the members of other errors as well. */
export const assertSearchError = (answer: Answer, status: number, message?: RegExp): void => {
  const { ok, error, ...rest } = answer.body ?? {}
  assert.deepEqual([ok, typeof error], [false, 'string'], answer.text)
  assertError(
    { ...answer, body: status >= 500 ? { message: error, url: REFERENCE_URL } : rest },
    status,
    message,
  )
  if (status >= 500) assert.deepEqual(rest, {})
  else assert.equal(error, rest.message)
}

const REFERENCE_URL = 'http://localhost/api/swagger'

/** A 404 has no body. */
export const assertNotFound = (answer: Answer): void => {
  assert.equal(answer.status, 404, answer.text)
  assert.equal(answer.text, '')
  assert.equal(answer.headers.get('content-length'), '0')
}

export const assertNoContent = (answer: Answer): void => {
  assert.equal(answer.status, 204, answer.text)
  assert.equal(answer.text, '')
}

/** The answer is a list whose items have these values of one member, in this order. */
export const assertList = (
  answer: Answer,
  member: string,
  expected: unknown[],
  total = expected.length,
): void => {
  assert.equal(answer.status, 200, answer.text)
  assert.deepEqual(
    answer.body.map((item: Record<string, unknown>) => item[member]),
    expected,
  )
  assert.equal(answer.headers.get('x-total-count'), String(total))
}

export const RFC3339 = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/
