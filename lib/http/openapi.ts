import { STATUS_CODES } from 'node:http'
import { type ConversionConfig, toJsonSchema } from '@valibot/to-json-schema'
import * as v from 'valibot'
import type { Caller } from './access.ts'
import { exampleOf } from './examples.ts'
import { errorExamples, statusTexts } from './failure.ts'
import { movedStatus } from './former-names.ts'
import { REFERENCE_PATH } from './reference-page.ts'
import { Empty, ErrorBody, fraction, type ResponseKind } from './responses.ts'
import { type FileField, isFileField, type Route } from './route.ts'
import { canRefuse, membersOf } from './validate.ts'

/** Descriptions of path parameters by name, for routes that have none of their own. */
type ParameterTexts = Readonly<Record<string, { description: string; example: string }>>

/** Parts of the document that do not follow from the routes. */
interface DocumentInfo {
  title: string
  /** Introduction, in markdown. */
  description: string
  tags: readonly { name: string; description: string }[]
  parameters: ParameterTexts
  /** Version of the API. */
  version: string
  /** Version of the server. */
  serverVersion: string
  /** Schemas that go to `components`, by the names that refer to them. */
  definitions: Record<string, v.GenericSchema>
}

type Json = Record<string, unknown>

/** Generates an OpenAPI 3.1 document from the declarations of routes. */
export const openApiDocument = <I extends Caller, S>(
  routes: readonly Route<I, S>[],
  apiUrl: string,
  { title, description, version, serverVersion, tags, parameters, definitions }: DocumentInfo,
): Json => {
  const named = { Error: ErrorBody, ...definitions }
  const schemaOf = converter(named)
  const paths: Record<string, Json> = {}
  for (const route of routes) {
    const methods = paths[route.path] ?? {}
    paths[route.path] = { ...methods, [route.method.toLowerCase()]: operation(route, schemaOf, parameters) }
  }
  return {
    openapi: '3.1.0',
    info: { title, description, version, 'x-allot-version': serverVersion },
    servers: [{ url: apiUrl }],
    tags: tags.filter(({ name }) => routes.some(({ tag }) => tag === name)),
    paths,
    components: {
      schemas: Object.fromEntries(
        Object.entries(named).map(([name, schema]) => [name, schemaOf(schema, { isDefinition: true })]),
      ),
      responses: errorResponses(schemaOf),
      securitySchemes: {
        token: {
          type: 'http',
          scheme: 'bearer',
          description: 'An access token. `Authorization: token T` works, too.',
        },
        basic: {
          type: 'http',
          scheme: 'basic',
          description: 'The name and the password of a user, or a token instead of either.',
        },
      },
    },
  }
}

type Convert = (schema: v.GenericSchema, options?: { isDefinition?: boolean }) => Json

const converter = (named: Record<string, v.GenericSchema>): Convert => {
  const config: ConversionConfig = {
    definitions: named,
    // Describes requests as clients send them, before transformations.
    typeMode: 'input',
    // The document has examples of whole bodies. Metadata says how parameters are read. A check, such as
    // that a day exists, has no form in JSON Schema.
    ignoreActions: ['check', 'examples', 'metadata'],
    overrideSchema: ({ valibotSchema, jsonSchema }) => {
      if (valibotSchema === fraction) return undefined
      if (jsonSchema.type === 'number') return { ...jsonSchema, type: 'integer', format: 'int64' }
      // Generators of clients for Python write code for an optional constant that does not compile.
      if (typeof jsonSchema.const === 'boolean') return { type: 'boolean' }
      if (jsonSchema.properties) return { ...jsonSchema, properties: distinctFields(jsonSchema.properties) }
      return jsonSchema.enum && { ...jsonSchema, enum: distinctMembers(jsonSchema.enum) }
    },
    overrideRef: ({ referenceId }) => `#/components/schemas/${referenceId}`,
  }
  return (schema, { isDefinition = false } = {}) => {
    // A copy of a definition is not taken for a reference to it.
    const root = isDefinition ? { ...schema } : schema
    const { $schema, $defs, ...json } = toJsonSchema(root, config) as Json
    return json
  }
}

/**
 * Members of an enum as the document has them: generators of clients name constants after them, so none is
 * empty or differs from another one by case alone.
 */
const distinctMembers = <T>(members: readonly T[]): T[] => {
  const names = members.map((member) => String(member).toLowerCase())
  return members.filter((_, index) => names[index] !== '' && names.indexOf(names[index]!) === index)
}

/** Gives properties that differ by case alone two names in Go, whose generator makes one field of both. */
const distinctFields = <P extends Record<string, unknown>>(properties: P): P => {
  const fields = Object.entries(properties).map(([name, property]) => {
    const other = name.toLowerCase()
    const isSecond = name !== other && other in properties
    return [name, isSecond ? { ...Object(property), 'x-go-name': `${name}Capitalized` } : property]
  })
  return Object.fromEntries(fields) as P
}

const operation = (route: Route<never, never>, schemaOf: Convert, texts: ParameterTexts): Json => ({
  operationId: route.operationId,
  tags: [route.tag],
  summary: route.summary,
  ...(route.scope === undefined ? {} : { description: `Scopes: ${[route.scope].flat().join(', ')}` }),
  security: [...(route.auth === 'optional' ? [{}] : []), { token: [] }, { basic: [] }],
  parameters: parameters(route, schemaOf, texts),
  ...(route.body === undefined ? {} : { requestBody: requestBody(route, route.body, schemaOf) }),
  responses: responses(route, schemaOf),
})

const parameters = (route: Route<never, never>, schemaOf: Convert, texts: ParameterTexts): Json[] => {
  const inPath = [...route.path.matchAll(/\{(\w+)\}/g)].map(([, name]) => ({
    name,
    in: 'path',
    required: true,
    ...texts[name!],
    ...memberOf(route.params, name!, schemaOf),
  }))
  const members = route.query === undefined ? [] : membersOf(route.query)
  const inQuery = members.map(({ name, optional }) => ({
    name,
    in: 'query',
    required: !optional,
    ...memberOf(route.query, name, schemaOf),
  }))
  return [...inPath, ...inQuery, ...(route.paging === undefined ? [] : PAGING)]
}

/** The schema, the description and the example of a parameter, as far as a route declares them. */
const memberOf = (schema: Route['query'], name: string, schemaOf: Convert): Json => {
  const member = schema?.entries[name] as v.GenericSchema | undefined
  if (member === undefined) return { schema: { type: 'string' } }
  const { description, ...json } = schemaOf(member)
  const [example] = v.getExamples(member) as readonly unknown[]
  return {
    ...(description === undefined ? {} : { description }),
    ...(example === undefined ? {} : { example }),
    schema: json,
  }
}

const PAGING = [
  {
    name: 'page',
    in: 'query',
    description: 'Number of the page, from 1.',
    schema: { type: 'integer', format: 'int64', minimum: 0 },
  },
  {
    name: 'limit',
    in: 'query',
    description: 'Items on a page; 0 is the default.',
    schema: { type: 'integer', format: 'int64', minimum: 0 },
  },
]

const requestBody = (
  route: Route<never, never>,
  body: NonNullable<Route['body']>,
  schemaOf: Convert,
): Json => (isFileField(body) ? formBody(body) : schemaBody(route, body, schemaOf))

const formBody = ({ field }: FileField): Json => ({
  required: true,
  content: {
    'multipart/form-data': {
      schema: {
        type: 'object',
        properties: { [field]: { type: 'string', format: 'binary' } },
        required: [field],
      },
      example: { [field]: 'the content of the file' },
    },
  },
})

const schemaBody = (route: Route<never, never>, body: v.GenericSchema, schemaOf: Convert): Json => ({
  required:
    route.needsBody === true ||
    ('entries' in body && membersOf(body as never).some(({ optional }) => !optional)),
  content: { [route.accepts ?? 'application/json']: mediaType(body, schemaOf) },
})

const mediaType = (schema: v.GenericSchema, schemaOf: Convert): Json => {
  const example = exampleOf(schema)
  return { schema: schemaOf(schema), ...(example === undefined ? {} : { example }) }
}

const responses = (route: Route<never, never>, schemaOf: Convert): Json => {
  const declared = Object.entries(route.responses).map(([status, kind]) => [
    status,
    response(Number(status), kind, schemaOf),
  ])
  const implied = impliedStatuses(route).map((status) => [
    status,
    response(status, status < 400 ? Empty : ErrorBody, schemaOf),
  ])
  return Object.fromEntries([...implied, ...declared])
}

type ImplyingRoute = Pick<Route, 'method' | 'mayHaveMoved' | 'body' | 'query' | 'paging' | 'responses'>

/** Statuses that a route may respond with although it does not declare them. */
export const impliedStatuses = (route: ImplyingRoute): number[] => [
  ...(404 in route.responses && route.mayHaveMoved ? [movedStatus(route.method)] : []),
  400,
  // Every route checks credentials when they are sent; 403 also means that the account may not sign in.
  401,
  403,
  ...(route.body === undefined ? [] : [413, 415, 422]),
  ...(route.paging !== undefined || (route.query !== undefined && canRefuse(route.query)) ? [422] : []),
  429,
  500,
  503,
  507,
]

const response = (status: number, kind: ResponseKind, schemaOf: Convert): Json => {
  if (kind === ErrorBody) return { $ref: `#/components/responses/${responseName(status)}` }
  const description = statusTexts[status]
  if (description === undefined) throw new Error(`statusTexts (lib/http/failure.ts) lacks ${status}`)
  switch (kind.kind) {
    case 'html':
    case 'ndjson':
    case 'download': {
      const example = { schema: { type: 'string' }, example: kind.example }
      return { description, content: { [TEXT_TYPES[kind.kind]]: example } }
    }
    case 'empty':
    case 'notFound':
      return { description }
    default:
      return {
        description,
        content: { 'application/json': mediaType(kind satisfies v.GenericSchema, schemaOf) },
      }
  }
}

const TEXT_TYPES = {
  html: 'text/html',
  ndjson: 'application/x-ndjson',
  download: 'application/octet-stream',
} as const

/** The error responses of all routes, which are the same for every route. */
const errorResponses = (schemaOf: Convert): Json =>
  Object.fromEntries(
    Object.entries(errorExamples).map(([status, message]) => [
      responseName(Number(status)),
      {
        description: statusTexts[Number(status)],
        content: {
          'application/json': {
            schema: schemaOf(ErrorBody),
            example: { message, url: `https://code.example.org${REFERENCE_PATH}` },
          },
        },
      },
    ]),
  )

/** Name of the response with a status, such as `NotFound`. */
const responseName = (status: number): string => (STATUS_CODES[status] ?? '').replace(/\W/g, '')
