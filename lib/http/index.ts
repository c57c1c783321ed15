export { type Auth, checkAccess, checkScopes, type Identity } from './access.ts'
export { createDispatcher, type Dispatcher, type Next } from './dispatcher.ts'
export type { Failure, Log } from './failure.ts'
export { type FetchOptions, fetchOf } from './fetch.ts'
export { type FileContent, fileReply } from './file-response.ts'
export { parseJson, recordOf, withoutNulls } from './json.ts'
export { JsonEndpoints } from './json-endpoints.ts'
export { type DocumentInfo, impliedStatuses, openApiDocument } from './openapi.ts'
export type { PageLimits, PageRequest } from './paging.ts'
export { serveReference } from './reference-page.ts'
export {
  Empty,
  ErrorBody,
  Forbidden,
  Html,
  Ndjson,
  NotFound,
  type Produce,
  type Reply,
  SerializedJson,
  serializeOnce,
  ValidationError,
} from './responses.ts'
export {
  type Method,
  type Route,
  routesFor,
  type StreamReply,
  type StreamRequest,
  type StreamRoute,
  streamsFor,
} from './route.ts'
export { sendEmpty } from './send.ts'
export { StreamEndpoints } from './stream-endpoints.ts'
export { fileField, type Upload, type UploadedFile } from './upload.ts'
export { validate } from './validate.ts'
