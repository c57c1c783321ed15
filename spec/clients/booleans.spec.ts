import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { describe, it } from 'node:test'
import * as v from 'valibot'
import { routes } from '../../lib/api/index.ts'
import { isFileField } from '../../lib/http/route.ts'

/** The types of a published client, whose operations have the ids of Allot's routes. */
const types = readFileSync(
  createRequire(import.meta.url)
    .resolve('gitea-js')
    .replace(/\.js$/, '.d.ts'),
  'utf8',
)

const bodyTypeOf = (operationId: string): string | undefined =>
  new RegExp(`\\b${operationId}: \\((?:[^)]*?, )?body: (\\w+)`).exec(types)?.[1]

const booleansOf = (type: string): string[] => {
  const members = new RegExp(`interface ${type} \\{([^}]*)\\}`).exec(types)?.[1] ?? ''
  return [...members.matchAll(/(\w+)\?: boolean;/g)].map(([, name]) => name!)
}

/** Each boolean of a JSON body, as declared by the routes and by the client. */
const cases = routes.flatMap(({ operationId, body, accepts }) => {
  if (body === undefined || isFileField(body) || accepts !== undefined) return []
  const type = bodyTypeOf(operationId)
  const names = new Set(type === undefined ? [] : booleansOf(type))
  const entries = 'entries' in body ? (body.entries as Record<string, v.GenericSchema>) : {}
  for (const [name, schema] of Object.entries(entries))
    if (v.is(schema, true) && v.is(schema, false) && !v.is(schema, 'text')) names.add(name)
  return names.size === 0 ? [] : [{ operationId, body, names: [...names] }]
})

describe('A boolean in a body', () => {
  it('is declared by the routes and by the types of the client', () => {
    const found = new Map(cases.map(({ operationId, names }) => [operationId, names]))
    assert.ok(found.get('adminCreateUser')?.includes('must_change_password'))
    assert.ok(found.get('repoCreateRelease')?.includes('draft'))
  })

  for (const { operationId, body, names } of cases)
    it(`of ${operationId} is refused when it is text or a number: ${names.join(', ')}`, () => {
      for (const name of names)
        for (const value of ['no', 'false', '', 0, 1, []]) {
          const { issues } = v.safeParse(body, { [name]: value })
          const paths = issues?.map((issue) => v.getDotPath(issue)) ?? []
          assert.ok(paths.includes(name), `${operationId} takes ${name}: ${JSON.stringify(value)}`)
        }
    })
})
