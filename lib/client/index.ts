/**
 * `allot/client`: a typed client for the HTTP API. It runs wherever `fetch` does, and imports nothing of the
 * server.
 */
import createFetchClient, { type Client, type ClientOptions } from 'openapi-fetch'
import type { components, paths } from './types.ts'

/** Schemas of the API by name, such as `Schemas['Repository']`. */
export type Schemas = components['schemas']

/**
 * The methods `GET`, `POST`, `PUT`, `PATCH` and `DELETE`, each with the paths, parameters and bodies of the
 * API.
 */
export type AllotClient = Client<paths>

/** Options of `createClient`, with those of `fetch`. */
export interface AllotClientOptions extends Omit<ClientOptions, 'baseUrl'> {
  /** URL of the API, such as `https://code.example.org/api/v1`. */
  readonly baseUrl: string
  /** An access token; without one, requests are anonymous. */
  readonly token?: string | undefined
}

/**
 * Creates a client. Its methods resolve to `{ data, error, response }`, and reject only when there is no
 * response. `error` is set for each response that is not a success, also for one without a body, such as 404.
 */
export const createClient = ({ token, ...options }: AllotClientOptions): AllotClient => {
  const client = createFetchClient<paths>(options)
  client.use({ onResponse: ({ response }) => withErrorBody(response) })
  if (token !== undefined)
    client.use({ onRequest: ({ request }) => request.headers.set('Authorization', `Bearer ${token}`) })
  return client
}

/** A failure without a body gets the body that errors have: `openapi-fetch` has no `error` otherwise. */
const withErrorBody = async (response: Response): Promise<Response | undefined> => {
  // A 304 cannot have a body, and browsers answer it from their cache.
  if (response.ok || response.status === 304) return undefined
  if ((await response.clone().text()) !== '') return undefined
  const { status, statusText } = response
  const headers = new Headers(response.headers)
  headers.delete('Content-Length')
  headers.set('Content-Type', 'application/json')
  const message = statusText || `the server answered ${status}`
  return new Response(JSON.stringify({ message, url: response.url }), { status, statusText, headers })
}
