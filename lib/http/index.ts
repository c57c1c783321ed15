export { checkScopes, type Identity } from './access.ts'
export { createDispatcher, type Dispatcher, type Next } from './dispatcher.ts'
export type { Failure, Log } from './failure.ts'
export { type FetchOptions, fetchOf } from './fetch.ts'
export { fileReply } from './file-response.ts'
export { JsonEndpoints } from './json-endpoints.ts'
export { impliedStatuses, openApiDocument, serveReference } from './openapi.ts'
export type { PageRequest } from './paging.ts'
export {
  Empty,
  ErrorBody,
  Forbidden,
  Html,
  Ndjson,
  NotFound,
  type Produce,
  SerializedJson,
  serializeOnce,
  ValidationError,
} from './responses.ts'
export {
  fileField,
  type Route,
  routesFor,
  type StreamReply,
  type StreamRequest,
  streamsFor,
} from './route.ts'
export { sendEmpty } from './send.ts'
export { StreamEndpoints } from './stream-endpoints.ts'
export { parseJson, recordOf, validate, withoutNulls } from './validate.ts'
