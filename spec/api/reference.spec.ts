import assert from 'node:assert/strict'
import { before, describe, it } from 'node:test'
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js'
import { startBefore } from '../support/test-server.ts'

interface MediaType {
  schema: object
  example?: unknown
}
interface Body {
  content?: Record<string, MediaType>
}
interface Operation {
  operationId: string
  tags: string[]
  parameters: { name: string; in: string; description?: string; example?: unknown; schema: object }[]
  requestBody?: Body
  responses: Record<string, Body & { $ref?: string }>
}
interface Document {
  info: { description: string }
  tags: { name: string; description: string }[]
  paths: Record<string, Record<string, Operation>>
  components: { responses: Record<string, Body> }
}

let document: Document
/** Every operation, with its method and its path. */
let operations: (Operation & { title: string; method: string; path: string })[]
const allot = startBefore({ webhooks: true })
before(async () => {
  document = (await allot.request('GET', '/openapi.json')).body
  operations = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({
      ...operation,
      ...{ title: `${method.toUpperCase()} ${path}`, method: method.toUpperCase(), path },
    })),
  )
})

it('A browser that opens the base path of the API is sent to its reference, and other clients get 404', async () => {
  for (const path of ['/api/v1', '/api/v1/']) {
    const open = (accept: string) =>
      fetch(allot.base + path, { headers: { accept }, redirect: 'manual' }).then(({ status, headers }) => [
        status,
        headers.get('location'),
      ])
    assert.deepEqual(await open('text/html,*/*;q=0.8'), [303, `${allot.base}/api/swagger`])
    assert.deepEqual(await open('application/json'), [404, null])
  }
})

/** Bodies of a request and its responses, with what they are of. */
const bodiesOf = ({ title, requestBody, responses }: (typeof operations)[number]): [string, Body][] => [
  [`${title} request`, requestBody ?? {}],
  ...Object.entries(responses).map(([status, { $ref, ...response }]): [string, Body] => [
    `${title} ${status}`,
    $ref === undefined ? response : document.components.responses[$ref.split('/').at(-1)!]!,
  ]),
]

const ajv = new Ajv2020({ strict: false, validateFormats: false })
/** By the text of the schema, since many bodies have the same one. */
const validators = new Map<string, ValidateFunction>()

/** The errors of an example, from a validator that knows only the document. */
const problemsOf = (example: unknown, schema: object): string[] => {
  if (ajv.getSchema('document') === undefined)
    ajv.addSchema({ $id: 'document', components: document.components })
  const absolute = JSON.stringify(schema).replaceAll('"#/components/', '"document#/components/')
  const validate = validators.get(absolute) ?? ajv.compile(JSON.parse(absolute))
  validators.set(absolute, validate)
  return validate(example) ? [] : [ajv.errorsText(validate.errors)]
}

describe('The OpenAPI document', () => {
  it('has an example of every body, which is valid by its schema', () => {
    const problems = operations.flatMap(bodiesOf).flatMap(([name, { content = {} }]) =>
      Object.values(content)
        .flatMap(({ schema, example }) => problemsOf(example, schema))
        .map((problem) => `${name}: ${problem}`),
    )
    assert.deepEqual(problems, [])
  })

  it('has an example of every operation, at least of its path', () => {
    const without = operations.filter(
      ({ parameters, ...operation }) =>
        !parameters.some(({ example }) => example !== undefined) &&
        bodiesOf({ parameters, ...operation }).every(([, { content }]) => content === undefined),
    )
    assert.deepEqual(without, [])
  })

  it('describes every parameter, and has an example of each in a path, which is valid by its schema', () => {
    const problems = operations.flatMap(({ title, parameters }) =>
      parameters.flatMap(({ name, description = '', example, schema, in: place }) => [
        ...(/^[A-Z].*\.$/.test(description)
          ? []
          : [`${title}: ${name} has the description "${description}"`]),
        ...(place === 'path' || example !== undefined ? problemsOf(example, schema) : []),
      ]),
    )
    assert.deepEqual(problems, [])
  })

  it('begins with an introduction to authentication, paging, errors, dates and sizes', () => {
    const headings = [...document.info.description.matchAll(/^## (.+)$/gm)].map(([, heading]) => heading)
    assert.deepEqual(headings, ['Authentication', 'Paging', 'Errors', 'Dates', 'Sizes'])
  })

  it('describes the tag of every operation', () => {
    const described = document.tags.filter(({ description }) => description !== '').map(({ name }) => name)
    assert.deepEqual([...new Set(operations.flatMap(({ tags }) => tags))].sort(), described.sort())
  })
})

describe('The examples of requests', () => {
  before(async () => {
    const { accounts, organizations, repositories, quota } = allot.allot
    const alice = await accounts.createUser({ name: 'alice' })
    await organizations.create(alice.id, { name: 'acme' })
    await repositories.create(alice, alice, { name: 'app' })
    await quota.rules.create({ name: 'small', limit: 1, subjects: [] })
    await quota.groups.create({ name: 'free', rules: [] })
  })

  it('are accepted by a server', async () => {
    const refused: string[] = []
    for (const { title, method, path, operationId, parameters, requestBody } of operations) {
      const [body] = Object.entries(requestBody?.content ?? {})
      // The key of the example is shortened; a form has its boundary in the header.
      if (!body || operationId === 'userCurrentPostGPGKey' || body[0] === 'multipart/form-data') continue
      const [type, { example }] = body
      const url = path.replace(/\{(\w+)\}/g, (_, name) =>
        String(parameters.find((parameter) => parameter.name === name)!.example),
      )
      const { status, text } = await allot.request(method, url, {
        token: allot.root.token,
        body: typeof example === 'string' ? example : JSON.stringify(example),
        headers: { 'content-type': type },
      })
      // 404, 409 and these messages: the example is well formed, but its resource does not exist, or already
      // exists.
      const isTaken = /is already taken|already has a repository/.test(text)
      const isAccepted = status < 300 || status === 404 || status === 409 || isTaken
      if (!isAccepted) refused.push(`${title}: ${status} ${text}`)
    }
    assert.deepEqual(refused, [])
  })
})
