import type { IncomingMessage } from 'node:http'
import type { RequestUrl } from './request-url.ts'

/** Where the data is far away: how all that a GET reads is read together. */
export interface SharedReads {
  /** Runs what only reads, perhaps again. */
  read: <T>(work: () => T | Promise<T>, as?: string) => Promise<T>
  /** Whether `authenticate` only reads too, and may run again. */
  withCredentials: boolean
  /** A name for the credentials of a request; undefined where each time has to be looked at by itself. */
  cacheKeyOf: (req: IncomingMessage) => string | undefined
}

interface CacheKeyInput {
  readonly req: IncomingMessage
  readonly location: RequestUrl
  readonly baseUrl: string
}

/** What the answer to a GET goes by besides the records that it is made of; undefined where that is not all. */
export const cacheKeyOf = (
  together: SharedReads,
  { req, location, baseUrl }: CacheKeyInput,
): string | undefined => {
  const who = together.cacheKeyOf(req)
  return who === undefined ? undefined : `GET ${baseUrl} ${location.path}?${location.search} ${who}`
}
