import assert from 'node:assert/strict'
import { before, describe, it } from 'node:test'
import type * as v from 'valibot'
import { routes, streamRoutesFor } from '../../lib/api/index.ts'
import type { Route } from '../../lib/http/index.ts'
import { KNOWN_VALUES, populate } from '../fuzz/populated.ts'
import { madeBefore, start } from '../support/test-server.ts'

/**
 * No parameter and no member of a body leads to a key that the store cannot hold. For every length and every
 * character, the status is one that the route declares, it is not a 5xx, and a refusal names the parameter or
 * the member. The table is generated from the declarations, so it includes new routes.
 */
const VALUES: [what: string, text: string][] = [
  ['1,024 characters that are longer in lower case', 'İ'.repeat(1024)],
  ['255 NULs', '\0'.repeat(255)],
  ['256 letters', 'x'.repeat(256)],
  ['9,000 letters', 'x'.repeat(9000)],
  ['255 characters of three bytes', '字'.repeat(255)],
  ['1,024 characters of three bytes', '字'.repeat(1024)],
]

type AnyRoute = Route<never, never>
type Schema = v.GenericSchema & {
  readonly wrapped?: Schema
  readonly item?: Schema
  readonly value?: Schema
  readonly entries?: Record<string, Schema>
  readonly options?: readonly unknown[]
}

/** A valid value of the schema, with the names of existing records. */
const plain = (schema: Schema, name: string): unknown => {
  const { type, wrapped, entries, options } = schema
  if (type === 'optional' || type === 'nullish') return plain(wrapped!, name)
  if (type === 'string') return KNOWN_VALUES[name]?.[0] ?? 'x'
  if (type === 'number') return 1
  if (type === 'boolean') return false
  if (type === 'picklist') return options![0]
  if (type === 'array') return []
  if (type === 'record') return {}
  return Object.fromEntries(
    Object.entries(entries ?? {}).flatMap(([key, one]) =>
      one.type === 'optional' || one.type === 'nullish' ? [] : [[key, plain(one, key)]],
    ),
  )
}

/** Values of the schema with the text in one member each, and the name of that member. */
const withText = (schema: Schema, name: string, text: string): [place: string, value: unknown][] => {
  const { type, wrapped, item, value, entries } = schema
  if (type === 'optional' || type === 'nullish') return withText(wrapped!, name, text)
  if (type === 'string') return [[name, text]]
  if (type === 'array') return withText(item!, name, text).map(([place, one]) => [place, [one]])
  if (type === 'record')
    return [
      [name, { [text]: plain(value!, name) }],
      ...withText(value!, name, text).map(([, one]): [string, unknown] => [name, { alice: one }]),
    ]
  if (type !== 'object') return []
  const rest = plain(schema, name) as object
  return Object.entries(entries!).flatMap(([key, one]) =>
    withText(one, key, text).map(([, inner]): [string, unknown] => [name || key, { ...rest, [key]: inner }]),
  )
}

interface Asked {
  place: string
  path: string
  body?: unknown
  type?: string
}

const segments = (path: string): string[] => [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name!)

const filled = (path: string, long?: string, text = ''): string =>
  path.replace(/\{(\w+)\}/g, (_, name) =>
    encodeURIComponent(name === long ? text : (KNOWN_VALUES[name]?.[0] ?? 'x')),
  )

const LINE = { op: 'put', kind: 'lfs', key: 'k', repository: 'alice/demo', name: 'n', size: 1 }

const bodies = ({ body, accepts }: AnyRoute, text: string): Omit<Asked, 'path'>[] => {
  if (body === undefined) return []
  if (accepts === 'text/plain') return [{ place: 'body', body: text, type: accepts }]
  if (accepts === 'application/x-ndjson')
    return ['key', 'name', 'repository', 'owner', 'type', 'version'].map((place) => {
      return { place, body: JSON.stringify({ ...LINE, [place]: text }), type: accepts }
    })
  if (accepts === 'multipart/form-data') {
    const head = `Content-Disposition: form-data; name="attachment"; filename="${text.replaceAll('\0', '%00')}"`
    const form = ['--x', head, '', 'content', '--x--', ''].join('\r\n')
    return [{ place: 'filename', body: form, type: `${accepts}; boundary=x` }]
  }
  return withText(body as Schema, '', text).map(([place, value]) => ({ place, body: value }))
}

const requestsOf = (route: AnyRoute, text: string): Asked[] => {
  const body = route.body && 'type' in route.body ? { body: plain(route.body as Schema, '') } : {}
  const query = Object.entries((route.query?.entries ?? {}) as Record<string, Schema>)
  const known = query.flatMap(([name, schema]) =>
    /optional|nullish/.test(schema.type) ? [] : [[name, String(plain(schema, name))]],
  )
  const search = (more: [string, string][] = []) => {
    const members = new URLSearchParams([...known, ...more] as [string, string][]).toString()
    return members === '' ? '' : `?${members}`
  }
  return [
    ...segments(route.path).map((place) => ({
      place,
      path: filled(route.path, place, text) + search(),
      ...body,
    })),
    ...query.map(([place]) => ({
      place,
      path:
        filled(route.path) +
        search([
          [place, text],
          ['uid', '2'],
        ]),
      ...body,
    })),
    ...bodies(route, text).map((one) => ({ ...one, path: filled(route.path) + search() })),
  ]
}

describe('A value that is too long for a key of the store', () => {
  let tokens: Record<string, string | undefined>
  const allot = madeBefore(() => start({ webhooks: true }))
  before(async () => {
    await populate(allot.allot)
    const shy = (await allot.allot.hosting.accounts.byName('shy'))!
    const { secret } = await allot.allot.hosting.tokens.create(shy.id, 'spec', ['all'])
    tokens = { root: allot.root.token, shy: secret, nobody: undefined }
  })

  const all = routes as unknown as AnyRoute[]
  for (const route of all.filter(({ operationId }) => operationId !== 'adminExport'))
    it(`gets a status that ${route.method} ${route.path} declares, and no 5xx`, async () => {
      const clients = route.auth === 'optional' ? ['root', 'shy', 'nobody'] : ['root']
      for (const [what, text] of VALUES)
        for (const { place, path, body, type } of requestsOf(route, text))
          for (const client of clients) {
            const token = tokens[client]
            const answer = await allot.request(route.method, path, {
              ...(token === undefined ? {} : { token }),
              ...(body === undefined || route.method === 'GET' ? {} : { body }),
              ...(type === undefined ? {} : { headers: { 'content-type': type } }),
            })
            const name = `${what} as ${place}, asked by ${client}`
            assert.ok(answer.status < 500, `${name}: ${answer.status} ${answer.text.slice(0, 200)}`)
            assert.doesNotMatch(answer.text, /names are too long/, `${name} names no member`)
          }
    })

  const streams = streamRoutesFor({ git: true, contents: true, lfs: true, packages: true, issues: true })
  for (const { method, path } of streams)
    it(`gets no 5xx from ${method} ${path}`, async () => {
      const headers = { authorization: `Bearer ${tokens.root}` }
      for (const [what, text] of VALUES)
        for (const place of segments(path)) {
          const answer = await fetch(allot.base + filled(path, place, text), { method, headers })
          assert.ok(answer.status < 500, `${what} as ${place}: ${answer.status}`)
          await answer.arrayBuffer()
        }
    })

  it('is not found by an embedding host, and refused where it would be stored', async () => {
    const { quota, hosting, ledger } = allot.allot
    const long = 'x'.repeat(9000)
    assert.equal(await quota.rules.get(long), undefined)
    assert.equal(await quota.rules.remove(long), false)
    assert.equal(await quota.rules.edit(long, { limit: 1 }), undefined)
    assert.equal(await quota.groups.get(long), undefined)
    assert.equal(await quota.groups.remove(long), false)
    assert.equal(await ledger.get({ kind: 'lfs', key: long }), undefined)
    assert.equal(await ledger.delete({ kind: 'lfs', key: long }), false)
    assert.equal(await hosting.accounts.byName(long), undefined)
    assert.equal(await hosting.tokens.remove(1, long), false)
    const put = { kind: 'lfs', key: 'k', repository: 'alice/demo', name: long, size: 1 } as const
    await assert.rejects(ledger.put(put), { code: 'invalid', message: /^name: / })
    await assert.rejects(quota.groups.assign('alice', long), { code: 'not_found' })
    await assert.rejects(quota.groups.setFor('alice', [long]), { code: 'invalid' })
  })
})

describe('A search', () => {
  const allot = madeBefore(() => start({ repositories: false }))
  before(async () => {
    await populate(allot.allot)
  })

  it('for a text longer than every name has no result, and one of 9,000 letters is answered 422, for every client and route', async () => {
    const shy = (await allot.allot.hosting.accounts.byName('shy'))!
    const { secret: token } = await allot.allot.hosting.tokens.create(shy.id, 'spec', ['all'])
    const q = 'x'.repeat(255)
    for (const asked of [{}, { token }, { token: allot.root.token }])
      for (const path of [
        '/repos/search?uid=2&',
        '/repos/search?',
        '/users/search?uid=2&',
        '/users/search?',
      ]) {
        const { status, body, headers } = await allot.request('GET', `${path}q=${q}`, asked)
        assert.equal(status, 200)
        assert.deepEqual('data' in body ? body.data : body, [])
        assert.equal(headers.get('x-total-count'), '0')
        const longer = await allot.request('GET', `${path}q=${'x'.repeat(9000)}`, asked)
        assert.equal(longer.status, 422)
        assert.match(longer.body.message, /^q: must have at most 255 characters$/)
      }
  })
})
