import type { IncomingMessage, ServerResponse } from 'node:http'
import { checkOptionNames, invalid, invalidMember } from '../errors.ts'
import type { Next } from './dispatcher.ts'
import { isBelow, isPathBelow, setMountPath } from './request-url.ts'
import { sendEmpty } from './send.ts'

/**
 * A node:http listener that also fits Express and Connect, which pass `next` for requests that are not its
 * own.
 */
export type Listener = (req: IncomingMessage, res: ServerResponse, next?: Next) => void

/** Paths of a host at which Allot serves. */
export interface MountOptions {
  /**
   * Path below which everything is served, such as `/code`: the API is at `/code/api/v1` then. The root when
   * absent.
   */
  prefix?: string | undefined
  /**
   * Path of the pages below `prefix`, such as `/storage`; `/` for the root. No pages are served when absent.
   */
  pages?: string | undefined
}

/**
 * A listener below a prefix, for hosts that do not strip mount paths.
 * @throws AllotError invalid for a path that is not plain
 */
export const mountAtPrefix = (listener: Listener, prefix: string | undefined): Listener =>
  mountAt(checkedPath('prefix', prefix || '/'), listener)

/**
 * One listener for the API and the pages of a host that does not strip mount paths itself, as Express does.
 * `allot serve` uses it, too. The pages get what neither the API nor git takes. At a path of their own they
 * come first: below `/storage`, `/storage/alice/archive/issues` is a page, and not an archive of the
 * repository `storage/alice`.
 * @param onPages told the path of the pages below the prefix
 * @throws AllotError invalid for a path that is not a plain path, and for pages at a path of the API
 */
export const mountListener = (
  listeners: { readonly handler: Listener; readonly pages: Listener; readonly basePath: string },
  options: MountOptions,
  onPages: (path: string) => void,
): Listener => {
  checkOptionNames(options, ['prefix', 'pages'])
  const prefix = checkedPath('prefix', options.prefix || '/')
  const api = mountAt(prefix, listeners.handler)
  if (options.pages === undefined) return api
  const pagesPath = prefix + checkedPath('pages', options.pages)
  if (isPathBelow(pagesPath, prefix + listeners.basePath))
    throw invalidMember(
      'pages',
      `${options.pages} belongs to the API: name a path outside of ${listeners.basePath}`,
    )
  onPages(options.pages)
  const pages = mountAt(pagesPath, listeners.pages)
  const apiFirst: Listener = (req, res, next) => api(req, res, () => pages(req, res, next))
  if (pagesPath === prefix) return apiFirst
  return (req, res, next) =>
    isBelow(req, pagesPath) ? pages(req, res, () => apiFirst(req, res, next)) : apiFirst(req, res, next)
}

/**
 * Segments that are not empty, without the characters that frameworks use for parameters and wildcards, and
 * without `.` and `..`.
 */
export const PLAIN_PATH = /^(?:\/(?!\.\.?(?:\/|$))[\w.~%@+-]+)+$/

/** @returns the path without a slash at its end */
const checkedPath = (name: string, path: unknown): string => {
  const trimmed = typeof path === 'string' ? path.replace(/\/$/, '') : ''
  if (path === '/' || PLAIN_PATH.test(trimmed)) return trimmed
  throw invalid(
    `${name}: expected a path such as "/storage", without parameters, got ${JSON.stringify(path)}`,
  )
}

/** Serves requests below a path. Frameworks read `req.url` after the response, so it stays as it is. */
const mountAt = (path: string, listener: Listener): Listener => {
  if (path === '') return listener
  return (req, res, next) => {
    if (!isBelow(req, path)) return next === undefined ? sendEmpty(res, 404) : next()
    setMountPath(req, path)
    const pass = (onward: Next) => () => {
      setMountPath(req, '')
      onward()
    }
    listener(req, res, next && pass(next))
  }
}
