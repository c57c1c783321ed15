export { requireScopes } from '../scopes.ts'
export type { Caller } from './access.ts'
export { BodyTurns } from './body/body-turns.ts'
export { Dispatcher, type Next } from './dispatcher.ts'
export { type Failure, toFailure } from './failure.ts'
export { type FetchOptions, fetchOf } from './fetch.ts'
export { JsonEndpoints, type ReplyServices } from './json-endpoints.ts'
export { watchRights } from './lasting.ts'
export { type Log, logError, standardError } from './log.ts'
export { type Listener, type MountOptions, mountAtPrefix, mountListener } from './mount.ts'
export type { Pagination } from './paging.ts'
export { referenceOrNext } from './reference-page.ts'
export {
  Download,
  dispositionOf,
  Empty,
  ErrorBody,
  fileReply,
  fraction,
  Html,
  Ndjson,
  NotFound,
  type OpenBody,
  type OpenDownload,
  type Produce,
  type Reply,
  SANDBOX,
  SerializedJson,
  type StreamReply,
} from './responses.ts'
export {
  fileField,
  type Route,
  type RouteRequest,
  type StreamRequest,
  type StreamRoute,
  streamsFor,
} from './route.ts'
export { sendEmpty } from './send.ts'
export { type StreamCredentials, StreamEndpoints } from './stream-endpoints.ts'
export { parseBody, parseJson, recordOf, validate, withoutNulls } from './validate.ts'
