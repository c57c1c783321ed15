import * as v from 'valibot'
import { reply, route } from './route.ts'

export const referenceRoutes = [
  route({
    method: 'GET',
    path: '/openapi.json',
    operationId: 'getOpenApiDocument',
    tag: 'miscellaneous',
    summary: 'This API as an OpenAPI 3.1 document',
    auth: 'optional',
    responses: { 200: v.looseObject({ openapi: v.string() }) },
    handle: ({ apiUrl }, { documentFor }) => reply(200, documentFor(apiUrl)),
  }),
]
