import assert from 'node:assert/strict'
import { before, describe, it } from 'node:test'
import { Validator } from '@seriousme/openapi-schema-validator'
import * as v from 'valibot'
import { routes } from '../../lib/api/index.ts'
import { FirstLine, parseLine } from '../../lib/exports/format.ts'
import type { Route } from '../../lib/http/index.ts'
import { assertDeclared } from '../support/declared-answers.ts'
import { assertError, assertSearchError } from '../support/expectations.ts'
import { exchange } from '../support/request.ts'
import { type Answer, startBefore } from '../support/test-server.ts'
import { committedSummary, currentSummary } from './document.ts'

const allot = startBefore({ webhooks: true })

// biome-ignore lint/suspicious/noExplicitAny: the document is walked as JSON
const theDocument = async (): Promise<any> => (await allot.request('GET', '/openapi.json')).body

describe('GET /openapi.json', () => {
  it('is a valid OpenAPI 3.1 document', async () => {
    const document = await theDocument()
    const { valid, errors } = await new Validator().validate(structuredClone(document))
    assert.ok(valid, JSON.stringify(errors))
    assert.equal(document.openapi, '3.1.0')
    assert.deepEqual(document.servers, [{ url: allot.api }])
  })

  it("has the version 1.1.1 of the interface, and Allot's own version", async () => {
    const { info } = await theDocument()
    const { Version } = (await allot.request('GET', '/version')).body
    assert.deepEqual([info.version, info['x-allot-version']], ['1.1.1', Version])
  })

  /** The schemas of the document, each with its path. */
  const schemasIn = async () => {
    const found: [path: string, schema: { type?: unknown; format?: string; enum?: unknown[] }][] = []
    const visit = (part: unknown, path: string): void => {
      if (typeof part !== 'object' || part === null) return
      if ('type' in part || 'enum' in part) found.push([path, part as object])
      for (const [name, value] of Object.entries(part))
        if (name !== 'example') visit(value, `${path}/${name}`)
    }
    visit(await theDocument(), '')
    return found
  }

  it('has an int64 for each number, except for the seconds of a delivery', async () => {
    const numbers = (await schemasIn()).filter(([, { type }]) =>
      [type].flat().some((one) => one === 'number' || one === 'integer'),
    )
    assert.ok(numbers.length > 300, `only ${numbers.length} are found`)
    const others = numbers.filter(([, { type, format }]) => type !== 'integer' || format !== 'int64')
    assert.deepEqual(
      others.filter(([path, { type }]) => type !== 'number' || !path.endsWith('/duration')),
      [],
    )
    assert.ok(others.length > 0)
  })

  it('has no empty member of an enum, and no two that differ by case alone', async () => {
    for (const [path, { enum: members = [] }] of await schemasIn()) {
      const names = members.map((member) => String(member).toLowerCase())
      assert.deepEqual([...new Set(names)], names, path)
      assert.ok(!names.includes(''), path)
    }
  })

  it('has no two properties that are one field in Go, and no constant that Python cannot compile', async () => {
    for (const [path, schema] of await schemasIn()) {
      const { properties = {} } = schema as {
        properties?: Record<string, { 'x-go-name'?: string; const?: unknown }>
      }
      const fields = Object.entries(properties).map(([name, one]) => (one['x-go-name'] ?? name).toLowerCase())
      assert.deepEqual([...new Set(fields)], fields, path)
      for (const one of Object.values(properties)) assert.notEqual(typeof one.const, 'boolean', path)
    }
  })

  it('has the routes and the schemas of the committed summary', () => {
    assert.equal(
      committedSummary(),
      currentSummary(),
      'spec/api/routes.txt is not current: renew it with `npm run openapi`, and look at its diff',
    )
  })

  it('shows lines of an export that an import can read', async () => {
    const { paths } = await theDocument()
    const { content } = paths['/admin/export'].get.responses[200]
    const [body] = Object.values<{ example: string }>(content)
    const [first, ...lines] = body!.example.trim().split('\n')
    assert.ok(v.is(FirstLine, JSON.parse(first!)), first)
    assert.ok(lines.length > 0)
    for (const line of lines) parseLine(Buffer.from(line))
  })

  it('has each route as one operation, and no broken reference', async () => {
    const document = await theDocument()
    const ids = new Set<string>()
    for (const { method, path, operationId } of routes) {
      assert.equal(document.paths[path]?.[method.toLowerCase()]?.operationId, operationId)
      ids.add(operationId)
    }
    assert.equal(ids.size, routes.length, 'an operationId is used twice')
    const names = Object.keys(document.components.schemas)
    const references = [...JSON.stringify(document).matchAll(/"#\/components\/schemas\/(\w+)"/g)]
    assert.ok(references.length > 0)
    for (const [, name] of references) assert.ok(names.includes(name!), name)
  })

  it('has 422 for each route that can refuse its query', async () => {
    const { paths } = await theDocument()
    let refusals = 0
    for (const route of routes as unknown as Route[])
      for (const member of Object.keys(route.query?.entries ?? {})) {
        const path = route.path.replace(/\{\w+\}/g, '1')
        const url = `${path}?${member}=${'x'.repeat(300)}`
        const { status } = await allot.as(allot.root, route.method, url, route.body && {})
        if (status !== 422 || route.body !== undefined) continue
        refusals++
        assert.ok('422' in paths[route.path][route.method.toLowerCase()].responses, `${route.method} ${url}`)
      }
    assert.ok(refusals > 10)
  })

  it('describes parameters, bodies, paging, scopes and the content of each status', async () => {
    const { paths } = await theDocument()
    const rule = paths['/admin/quota/rules'].post
    assert.deepEqual(rule.requestBody.content['application/json'].schema.required, ['name', 'limit'])
    assert.deepEqual(rule.responses['201'].content['application/json'].schema, {
      $ref: '#/components/schemas/QuotaRuleInfo',
    })
    assert.match(rule.description, /write:admin/)
    const key = paths['/user/keys/{id}'].get
    assert.equal(key.parameters[0].schema.type, 'integer')
    const check = paths['/user/quota/check'].get.parameters
    assert.deepEqual([check[0].name, check[0].required], ['subject', true])
    const list = paths['/user/quota/artifacts'].get.parameters.map((one: { name: string }) => one.name)
    assert.deepEqual(list, ['page', 'limit'])
    assert.deepEqual(Object.keys(paths['/markdown/raw'].post.requestBody.content), ['text/plain'])
  })
})

/** The response to a request with a Host header that fetch cannot send. */
const withHost = async (host: string, method: string, path: string): Promise<Answer> => {
  const answer = await exchange(allot.api + path, { method, headers: new Headers({ host }) })
  return { ...answer, body: JSON.parse(answer.text) }
}

/** A path with a value for every parameter. */
const filled = ({ path }: Route<never, never>) =>
  path
    .replace(/\{(?:id|index|attachment_id)\}/g, '1')
    .replace('{kind}', 'lfs')
    .replace(/\{\w+\}/g, 'nothing-there')

describe('Every route answers as declared', () => {
  const all = routes as unknown as Route<never, never>[]
  // For an unknown rule, 404 precedes every error of the body.
  before(() => allot.allot.quota.rules.create({ name: 'nothing-there', limit: 1, subjects: [] }))
  for (const route of all) {
    const { method, auth, scope, body, accepts } = route
    const path = filled(route)
    const name = `${method} ${route.path}`

    it(`${name}: 400 where the Host header is malformed`, async () => {
      const answer = await withHost('a b', method, path)
      assert.equal(answer.status, 400)
      assertDeclared(method, path, answer)
    })
    if (auth !== 'optional')
      it(`${name}: 401 without credentials`, async () => {
        assertError(await allot.request(method, path), 401)
      })
    if (scope !== undefined)
      it(`${name}: 403 without the scope ${scope}`, async () => {
        const assertRefused = route.failure === undefined ? assertError : assertSearchError
        const token = await allot.scoped(allot.root, 'read:misc')
        const answer = await allot.request(method, path, { token })
        assertRefused(answer, 403)
        for (const one of [scope].flat()) assert.ok(answer.text.includes(one), answer.text)
      })
    if (auth === 'admin')
      it(`${name}: 403 to a user who is not an administrator`, async () => {
        assertError(await allot.request(method, path, { token: (await allot.person()).token }), 403)
      })
    it(`${name}: 405 to a method that the path does not accept`, async () => {
      const taken = all.filter((one) => one.path === route.path).map((one) => one.method as string)
      const other = ['POST', 'PUT', 'PATCH', 'DELETE'].find((one) => !taken.includes(one))
      if (other === undefined) return
      const answer = await allot.request(other, path)
      assertError(answer, 405)
      for (const one of taken) assert.ok(answer.headers.get('allow')?.split(', ').includes(one))
    })
    if (body !== undefined && accepts === undefined)
      it(`${name}: 422 to a body that is not an object, 415 to another content type, 413 to one that is too long`, async () => {
        const ask = (text: string, type: string) =>
          allot.request(method, path, {
            token: allot.root.token,
            body: text,
            headers: { 'content-type': type },
          })
        assertError(await ask('[]', 'application/json'), 422)
        assertError(await ask('{}', 'image/png'), 415)
        assertError(await ask(`"${'x'.repeat(route.bodyLimit ?? 1024 * 1024)}"`, 'application/json'), 413)
      })
  }
})

describe('GET /api/swagger', () => {
  it('is a page that loads nothing from other hosts', async () => {
    const page = await fetch(`${allot.base}/api/swagger`)
    const html = await page.text()
    assert.equal(page.status, 200)
    assert.match(page.headers.get('content-security-policy') ?? '', /default-src 'none'; script-src 'self'/)
    assert.doesNotMatch(html, /https?:/)
    const [, script] = /<script defer src="([^"]+)"/.exec(html)!
    const [, document] = /spec-url="([^"]+)"/.exec(html)!
    const textOf = async (path = '') => (await fetch(new URL(path, allot.base))).text()
    assert.ok((await textOf(script)).length > 100_000)
    assert.match(await textOf(document), /"openapi":"3\.1\.0"/)
  })

  it('takes no other methods than GET and HEAD, nor does its script', async () => {
    for (const path of ['/api/swagger', '/api/swagger/openapi-explorer.min.js'])
      for (const [method, status] of [
        ['HEAD', 200],
        ['POST', 405],
        ['DELETE', 405],
        ['OPTIONS', 204],
      ] as const) {
        const answer = await fetch(allot.base + path, { method })
        const allow = status === 200 ? null : 'GET, HEAD, OPTIONS'
        assert.deepEqual([answer.status, answer.headers.get('allow')], [status, allow], `${method} ${path}`)
      }
  })

  it('is the `url` of errors, also below a prefix', async () => {
    const { body } = await allot.request('GET', '/user')
    assert.equal((await fetch(body.url)).status, 200)
  })
})
