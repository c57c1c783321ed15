import type { IncomingMessage } from 'node:http'
import { AllotError } from '../errors.ts'

/** The host's log; pino and console both fit. */
export interface Log {
  /** Logs a line that needs attention. */
  error(fields: object, message: string): void
  /** Logs a line for information. */
  info(fields: object, message: string): void
}

/** @returns a function that logs an error with the message, unless the error was logged where it began */
export const logError = (log: Log, message: string) => (error: unknown, fields?: object) => {
  if (!(error instanceof AllotError && error.isLogged)) log.error({ err: error, ...fields }, message)
}

/** Used when the host gives no log: errors must not pass unnoticed. */
export const standardError: Log = {
  error: (fields, message) => console.error(message, fields),
  info: () => undefined,
}

/** The users who have sent requests, for the log of a server, and the routes, for its metrics. */
const USER = Symbol('user')
const ROUTE = Symbol('route')

interface NotedRequest extends IncomingMessage {
  [USER]?: string
  [ROUTE]?: string | undefined
}

/** @param path declared path of the route; undefined when no route answers the request */
export const noteRoute = (req: IncomingMessage, path: string | undefined): void => {
  ;(req as NotedRequest)[ROUTE] = path
}

/** Declared path of the route that answers a request, `pages` for a page; undefined without one. */
export const routeOfRequest = (req: IncomingMessage): string | undefined => (req as NotedRequest)[ROUTE]

export const noteUser = ({
  req,
  user,
}: {
  req: IncomingMessage
  user: { readonly username: string } | null | undefined
}): void => {
  if (user) (req as NotedRequest)[USER] = user.username
}

/** Name of the user who has sent a request; undefined without one. */
export const userOfRequest = (req: IncomingMessage): string | undefined => (req as NotedRequest)[USER]
