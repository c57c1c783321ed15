export type { Failure, Log } from './errors.ts'
export { type FetchFacts, fetchOf } from './fetch.ts'
export { fileReply, type SentFile } from './file.ts'
export { parseJson, withoutNulls } from './json.ts'
export { type DocumentFacts, impliedStatuses, openApiDocument } from './openapi.ts'
export type { PageLimits, PageRequest } from './paging.ts'
export { recordOf } from './record.ts'
export {
  Empty,
  ErrorBody,
  Forbidden,
  Html,
  Ndjson,
  NotFound,
  type Produce,
  ReadyJson,
  type Reply,
  readyFor,
  ValidationError,
} from './responses.ts'
export { type Identity, type Method, type Route, routesFor } from './route.ts'
export { checkScopes } from './scopes.ts'
export { createServing, type Next, type Serving } from './serving.ts'
export { type StreamReply, type StreamRequest, type StreamRoute, streamsFor } from './streamed.ts'
export { createStreaming, type Streaming } from './streaming.ts'
export { oneFile, type Upload, type UploadedFile } from './upload.ts'
