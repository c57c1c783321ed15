import { type ConversionConfig, toJsonSchema } from '@valibot/to-json-schema'
import type * as v from 'valibot'
import { statusTexts } from './failure.ts'
import { movedStatus, namesRepository } from './request-url.ts'
import { Empty, ErrorBody, Html, Ndjson, type ResponseKind } from './responses.ts'
import { type FileField, type Identity, isFileField, type Route } from './route.ts'
import { coercionOf } from './validate.ts'

/** Parts of the document that do not follow from the routes. */
interface DocumentInfo {
  title: string
  /** Version of the API. */
  version: string
  /** Version of the server. */
  serverVersion: string
  /** Schemas that go to `components`, by the names that refer to them. */
  definitions: Record<string, v.GenericSchema>
}

type Json = Record<string, unknown>

/** Generates an OpenAPI 3.1 document from the declarations of routes. */
export const openApiDocument = <I extends Identity, S>(
  routes: readonly Route<I, S>[],
  apiUrl: string,
  { title, version, serverVersion, definitions }: DocumentInfo,
): Json => {
  const named = { Error: ErrorBody, ...definitions }
  const schemaOf = converter(named)
  const paths: Record<string, Json> = {}
  for (const route of routes) {
    const methods = paths[route.path] ?? {}
    paths[route.path] = { ...methods, [route.method.toLowerCase()]: operation(route, schemaOf) }
  }
  return {
    openapi: '3.1.0',
    info: { title, version, 'x-allot-version': serverVersion },
    servers: [{ url: apiUrl }],
    paths,
    components: {
      schemas: Object.fromEntries(
        Object.entries(named).map(([name, schema]) => [name, schemaOf(schema, name)]),
      ),
      securitySchemes: {
        token: {
          type: 'http',
          scheme: 'bearer',
          description: 'An access token. `Authorization: token T` works, too.',
        },
        basic: {
          type: 'http',
          scheme: 'basic',
          description: 'The name and the password of a user, or a token in the place of either.',
        },
      },
    },
  }
}

type Convert = (schema: v.GenericSchema, definition?: string) => Json

const converter = (named: Record<string, v.GenericSchema>): Convert => {
  const config: ConversionConfig = {
    definitions: named,
    // Describes requests as clients send them, before transformations.
    typeMode: 'input',
    overrideRef: ({ referenceId }) => `#/components/schemas/${referenceId}`,
  }
  return (schema, definition) => {
    // A definition must not refer to itself.
    const others = { ...named }
    if (definition !== undefined) delete others[definition]
    const { $schema, $defs, ...json } = toJsonSchema(schema, { ...config, definitions: others }) as Json
    return json
  }
}

const operation = (route: Route<never, never>, schemaOf: Convert): Json => ({
  operationId: route.operationId,
  tags: [route.tag],
  summary: route.summary,
  ...(route.scope === undefined ? {} : { description: `Scopes: ${[route.scope].flat().join(', ')}` }),
  security: [...(route.auth === 'optional' ? [{}] : []), { token: [] }, { basic: [] }],
  parameters: parameters(route, schemaOf),
  ...(route.body === undefined ? {} : { requestBody: requestBody(route, route.body, schemaOf) }),
  responses: responses(route, schemaOf),
})

const parameters = (route: Route<never, never>, schemaOf: Convert): Json[] => {
  const inPath = [...route.path.matchAll(/\{(\w+)\}/g)].map(([, name]) => ({
    name,
    in: 'path',
    required: true,
    schema: memberOf(route.params, name!, schemaOf) ?? { type: 'string' },
  }))
  const members = route.query === undefined ? [] : coercionOf(route.query).members
  const inQuery = members.map(({ name, optional }) => ({
    name,
    in: 'query',
    required: !optional,
    schema: memberOf(route.query, name, schemaOf),
  }))
  return [...inPath, ...inQuery, ...(route.paging === undefined ? [] : PAGING)]
}

const memberOf = (schema: Route['query'], name: string, schemaOf: Convert): Json | undefined => {
  const member = schema?.entries[name] as v.GenericSchema | undefined
  return member && schemaOf(member)
}

const PAGING = [
  { name: 'page', in: 'query', description: 'from 1', schema: { type: 'integer', minimum: 0 } },
  { name: 'limit', in: 'query', description: 'items on a page', schema: { type: 'integer', minimum: 0 } },
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
    },
  },
})

const schemaBody = (route: Route<never, never>, body: v.GenericSchema, schemaOf: Convert): Json => ({
  required: 'entries' in body && coercionOf(body as never).members.some(({ optional }) => !optional),
  content: { [route.accepts ?? 'application/json']: { schema: schemaOf(body) } },
})

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

type ImplyingRoute = Pick<Route, 'method' | 'path' | 'body' | 'query' | 'paging' | 'responses'>

/** Statuses that a route may respond with although it does not declare them. */
export const impliedStatuses = (route: ImplyingRoute): number[] => [
  ...(404 in route.responses && namesRepository(route.path) ? [movedStatus(route.method)] : []),
  400,
  // Every route checks credentials when they are sent; 403 also means that the account may not sign in.
  401,
  403,
  ...(route.body === undefined ? [] : [413, 415, 422]),
  ...(route.paging === 'strict' ? [422] : []),
  429,
  500,
  503,
  507,
]

const response = (status: number, kind: ResponseKind, schemaOf: Convert): Json => {
  const description = statusTexts[status] ?? 'an answer'
  if (kind === Html) return { description, content: { 'text/html': { schema: { type: 'string' } } } }
  if (kind === Ndjson)
    return { description, content: { 'application/x-ndjson': { schema: { type: 'string' } } } }
  if (!('type' in kind)) return { description }
  return { description, content: { 'application/json': { schema: schemaOf(kind as v.GenericSchema) } } }
}
