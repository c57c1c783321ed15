import assert from 'node:assert/strict'
import { before, describe, it } from 'node:test'
import * as v from 'valibot'
import { routes } from '../../lib/api/index.ts'
import { validate } from '../../lib/http/validate.ts'
import { peopleBefore, startBefore } from '../support/test-server.ts'

const FRACTIONS = [1.5, -0.25, 1e-3, 4503599627370495.5]

type Schema = v.GenericSchema & {
  entries?: Record<string, Schema>
  item?: Schema
  wrapped?: Schema
  options?: readonly unknown[]
}

/** The schemas of the numbers in a schema. */
const numbersIn = (schema: Schema): Schema[] => {
  if (schema.type === 'number') return [schema]
  const choices = schema.type === 'union' ? (schema.options as Schema[]) : []
  const parts = [schema.wrapped, schema.item, ...Object.values(schema.entries ?? {}), ...choices]
  return parts.flatMap((part) => (part === undefined ? [] : numbersIn(part)))
}

const numbers = routes.flatMap(({ method, path, body }) =>
  body === undefined || !('type' in body)
    ? []
    : numbersIn(body as Schema).map((n) => ({ route: `${method} ${path}`, schema: v.object({ n }) })),
)

describe('A number with a fraction', () => {
  it('is refused by every route that takes an integer, and integers are accepted', () => {
    assert.ok(numbers.length >= 10, `${numbers.length} numbers`)
    for (const { route, schema } of numbers) {
      for (const n of FRACTIONS)
        assert.throws(() => validate(schema, { n }), /n: expected a whole number/, route)
      assert.doesNotThrow(() => validate(schema, { n: 1 }), route)
    }
  })
})

const allot = startBefore({ webhooks: true })
const [alice] = peopleBefore(allot, 'alice')
before(async () => {
  await allot.as(alice, 'POST', '/user/repos', { name: 'demo' })
})
const LFS = { 'content-type': 'application/vnd.git-lfs+json', accept: 'application/vnd.git-lfs+json' }

describe('Over HTTP', () => {
  it('is refused by LFS as the size of an object', async () => {
    const body = `{"operation":"upload","objects":[{"oid":"${'0'.repeat(64)}","size":4503599627370495.5}]}`
    const basic = `Basic ${Buffer.from(`alice:${alice.token}`).toString('base64')}`
    const answer = await fetch(`${allot.base}/alice/demo.git/info/lfs/objects/batch`, {
      ...{ method: 'POST', body, headers: { ...LFS, authorization: basic } },
    })
    const { objects } = (await answer.json()) as { objects: { error?: { code: number; message: string } }[] }
    assert.deepEqual([answer.status, objects[0]?.error?.code], [200, 422])
  })
})
