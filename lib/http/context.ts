import type { IncomingMessage, ServerResponse } from 'node:http'
import type { RequestUrl } from './request-url.ts'

/** One request on its way through the steps. */
export interface RequestContext {
  readonly req: IncomingMessage
  readonly res: ServerResponse
  readonly location: RequestUrl
  /** Where the service is as this client reaches it, without a slash at the end. */
  readonly baseUrl: string
}
