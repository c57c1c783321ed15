import * as fc from 'fast-check'
import type { Route } from '../../lib/http/index.ts'
import { anyText, arbitraryOf, knownValueOr } from './arbitraries.ts'

/** A request to a route, valid or not. */
export interface FuzzRequest {
  who: 'root' | 'alice' | 'nobody'
  method: string
  path: string
  /** Undefined sends no body. */
  body: string | undefined
  contentType: string | undefined
}

type AnyRoute = Route<never, never>

const USERS = ['root', 'root', 'root', 'root', 'alice', 'alice', 'alice', 'nobody'] as const

export const fuzzRequestOf = (route: AnyRoute): fc.Arbitrary<FuzzRequest> =>
  fc.record({
    who: fc.constantFrom(...USERS),
    method: fc.constant(route.method),
    path: fc
      .tuple(pathOf(route), queryOf(route))
      .map(([path, query]) => (query === '' ? path : `${path}?${query}`)),
    body: bodyOf(route),
    contentType: typeOf(route),
  })

const pathOf = ({ path }: AnyRoute): fc.Arbitrary<string> =>
  fc.tuple(...path.split('/').map((segment) => segmentOf(segment))).map((segments) => segments.join('/'))

const segmentOf = (segment: string): fc.Arbitrary<string> => {
  const [, name] = /^\{(\w+)\}$/.exec(segment) ?? []
  if (name === undefined) return fc.constant(segment)
  // fetch resolves segments of dots, which would change the path.
  return knownValueOr(
    name,
    anyText.filter((text) => text.isWellFormed() && !/^(?:\.{0,2})$/.test(text)),
  ).map(encodeURIComponent)
}

/** Each member as its schema describes it, as any text, or missing; sometimes with an unknown member. */
const queryOf = ({ query, paging }: AnyRoute): fc.Arbitrary<string> => {
  const known = Object.entries(query?.entries ?? {}).map(
    ([name, schema]) =>
      [name, fc.oneof(arbitraryOf(schema, name).map(String), knownValueOr(name, anyText))] as const,
  )
  const pages =
    paging === undefined ? [] : (['page', 'limit'] as const).map((name) => [name, pageText] as const)
  const all = Object.fromEntries([...known, ...pages, ['unknown', anyText] as const])
  return fc
    .record(all, { requiredKeys: [] })
    .map((members) => new URLSearchParams(members as Record<string, string>).toString())
}

const pageText = fc.oneof(
  fc.integer({ min: -1, max: 60 }).map(String),
  fc.maxSafeInteger().map(String),
  anyText,
)

const bodyOf = ({ body, accepts }: AnyRoute): fc.Arbitrary<string | undefined> => {
  if (body === undefined) return fc.constantFrom(undefined, '{}')
  if (accepts === 'text/plain') return markdown
  if (accepts === 'application/x-ndjson')
    return fc.array(ledgerLine, { maxLength: 4 }).map((lines) => lines.join('\n'))
  if (!('type' in body)) return form
  const valid = arbitraryOf(body)
  return fc.oneof(
    { weight: 16, arbitrary: valid.map((value) => JSON.stringify(value)) },
    { weight: 3, arbitrary: withOneWrongMember(valid).map((value) => JSON.stringify(value)) },
    { weight: 1, arbitrary: fc.json() },
    { weight: 1, arbitrary: fc.constantFrom('', '{', '[]', 'null', '{"__proto__":{"name":"x"}}') },
  )
}

/** Multipart forms with a file, some of them cut; the boundary is `x`, as the content type says. */
const form = fc
  .tuple(
    fc.constantFrom('attachment', 'attachments'),
    fc.constantFrom('a', '../a', ''),
    fc.string(),
    fc.boolean(),
  )
  .map(([field, filename, content, isWhole]) =>
    [
      '--x',
      `Content-Disposition: form-data; name="${field}"; filename="${filename}"`,
      ...['', content, isWhole ? '--x--' : '--x', ''],
    ].join('\r\n'),
  )

/** Replaces one member of a valid value by any JSON. */
const withOneWrongMember = (whole: fc.Arbitrary<unknown>): fc.Arbitrary<unknown> =>
  fc.tuple(whole, fc.nat(20), fc.jsonValue({ maxDepth: 2 })).map(([value, index, other]) => {
    const names = Object.keys(value as object)
    return { ...(value as object), [names[index % names.length] ?? 'unknown']: other }
  })

const markdown = fc.oneof(
  anyText,
  fc
    .array(
      fc.oneof(
        anyText,
        fc.constantFrom('# ', '**', '`', '[a](b)', '![', '\n\n', '> ', '- [ ] ', '|', '<b>', '@alice', '#1'),
      ),
    )
    .map((parts) => parts.join('')),
)

const ledgerLine = fc.oneof(
  fc
    .record({
      op: fc.constantFrom('put', 'delete', 'x'),
      kind: knownValueOr('kind', anyText),
      key: knownValueOr('key', anyText),
      repository: knownValueOr('repository', anyText),
      name: anyText,
      size: fc.oneof(fc.nat(), fc.maxSafeInteger()),
      on: fc.constantFrom('issue', 'release'),
      index: fc.nat(),
      run: fc.nat(),
      type: fc.constant('npm'),
      version: fc.constant('1'),
    })
    .map((line) => JSON.stringify(line)),
  fc.json(),
  fc.constant(''),
)

const FORM = 'multipart/form-data'

const typeOf = ({ accepts }: AnyRoute): fc.Arbitrary<string | undefined> =>
  fc.oneof(
    {
      weight: 30,
      arbitrary: fc.constant(accepts === FORM ? `${FORM}; boundary=x` : (accepts ?? 'application/json')),
    },
    { weight: 1, arbitrary: fc.constantFrom('text/html', 'application/json; charset=utf-8', 'x') },
  )
