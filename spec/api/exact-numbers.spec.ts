import assert from 'node:assert/strict'
import { before, describe, it } from 'node:test'
import type * as v from 'valibot'
import { routes } from '../../lib/api/index.ts'
import { parseJson, validate } from '../../lib/http/validate.ts'
import { peopleBefore, startBefore } from '../support/test-server.ts'

const FRACTIONS = ['1.5', '-0.25', '1e-3', '4503599627370495.5']

type Schema = v.GenericSchema & {
  entries?: Record<string, Schema>
  item?: Schema
  wrapped?: Schema
  options?: readonly unknown[]
}

const HOLE = '@hole@'

/** JSON bodies of the schema, each with a placeholder for one of its numbers. */
const withHoles = (schema: Schema): { path: string; body: unknown }[] => {
  if (schema.wrapped !== undefined) return withHoles(schema.wrapped)
  if (schema.type === 'union') return (schema.options as Schema[]).flatMap(withHoles)
  if (schema.type === 'number') return [{ path: '', body: HOLE }]
  if (schema.item !== undefined)
    return withHoles(schema.item).map(({ path, body }) => ({
      path: `[0]${path && `.${path}`}`,
      body: [body],
    }))
  return Object.entries(schema.entries ?? {}).flatMap(([name, member]) =>
    withHoles(member).map(({ path, body }) => ({
      path: name + (path.startsWith('[') || path === '' ? path : `.${path}`),
      body: { ...(exampleOf(schema) as object), [name]: body },
    })),
  )
}

const exampleOf = (schema: Schema): unknown => {
  switch (schema.type) {
    case 'object':
      return Object.fromEntries(
        Object.entries(schema.entries!)
          .filter(([, { type }]) => type !== 'optional')
          .map(([name, member]) => [name, exampleOf(member)]),
      )
    case 'array':
      return []
    case 'number':
      return 1
    case 'boolean':
      return true
    case 'picklist':
      return schema.options![0]
    case 'nullable':
      return null
    default:
      return 'x'
  }
}

const members = routes.flatMap(({ method, path, body }) =>
  body === undefined || !('type' in body)
    ? []
    : withHoles(body as Schema).map((hole) => ({ route: `${method} ${path}`, schema: body as Schema, hole })),
)

describe('A number with a fraction', () => {
  it('is refused with the name of the member by every route that takes an integer, and integers are accepted', () => {
    assert.ok(members.length >= 10, `${members.length} members`)
    for (const { route, schema, hole } of members) {
      const given = (number: string) => parseJson(JSON.stringify(hole.body).replace(`"${HOLE}"`, number))
      for (const number of FRACTIONS)
        assert.throws(
          () => validate(schema, given(number)),
          (error: Error) => error.message.startsWith(`${hole.path}: expected a whole number`),
          `${route} ${hole.path}: ${number}`,
        )
      assert.doesNotThrow(() => validate(schema, given('1')), `${route} ${hole.path}`)
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
