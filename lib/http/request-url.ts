import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import type { TLSSocket } from 'node:tls'
import { AllotError } from '../errors.ts'

export interface RequestUrl {
  /** Relative to the base path, still percent-encoded. */
  readonly path: string
  /** Query string without its question mark. */
  readonly search: string
  /** Path at which the host has mounted the listener, without a slash at the end. */
  readonly mount: string
}

/** Paths at which `mountListener` serves requests. Express and Connect strip theirs from `url` instead. */
const mountPaths = new WeakMap<IncomingMessage, string>()

export const setMountPath = (req: IncomingMessage, path: string): void => void mountPaths.set(req, path)

/** URL of a request below the path of `mountListener`, with its query string; undefined when it is elsewhere. */
export const relativeUrl = (req: IncomingMessage): string | undefined => {
  const mountPath = mountPaths.get(req) ?? ''
  const url = originForm(req.url ?? '/')
  return isPathBelow(url, mountPath) ? url.slice(mountPath.length) : undefined
}

/** @returns undefined for a URL that is not below the base path */
export const parseRequestUrl = (req: IncomingMessage, basePath: string): RequestUrl | undefined => {
  const mountPath = mountPaths.get(req) ?? ''
  const url = originForm(req.url ?? '/')
  const base = mountPath + basePath
  if (!isPathBelow(url, base)) return undefined
  const mark = url.indexOf('?', base.length)
  const path = mark === -1 ? url.slice(base.length) : url.slice(base.length, mark)
  return {
    path: path === '' ? '/' : path,
    search: mark === -1 ? '' : url.slice(mark + 1),
    mount: mountOf(req, url) + mountPath,
  }
}

/** Whether the URL of a request is a path or below it. @param path without a slash at its end */
export const isBelow = (req: IncomingMessage, path: string): boolean =>
  isPathBelow(originForm(req.url ?? '/'), path)

/** Whether a URL is a path or below it. @param path without a slash at its end */
export const isPathBelow = (url: string, path: string): boolean => {
  if (!url.startsWith(path)) return false
  const after = url.charCodeAt(path.length)
  return Number.isNaN(after) || after === SLASH || after === QUESTION_MARK
}

/** Proxies send the absolute form, which servers must accept (RFC 9112 §3.2.2). */
const originForm = (target: string): string =>
  target.charCodeAt(0) === SLASH ? target : target.replace(/^https?:\/\/[^/?#]*/i, '')

const SLASH = 47
const QUESTION_MARK = 63

/** Express and Connect keep the whole URL in `originalUrl`, and cut the mount point off `url`. */
const mountOf = (req: IncomingMessage, url: string): string => {
  const { originalUrl } = req as { originalUrl?: string }
  if (originalUrl === undefined) return ''
  const target = url.startsWith('/') ? url : `/${url}`
  const original = originForm(originalUrl)
  const [path] = original.split('?', 1) as [string]
  // For a listener that is mounted at `/storage`, Express says `/` for `/storage` too.
  if (/^\/(?:\?|$)/.test(target) && !path.endsWith('/')) return path
  return original.endsWith(target) ? original.slice(0, -target.length) : ''
}

/**
 * URL of the service as the client reaches it, without a slash at the end.
 * @throws AllotError bad_request for a malformed Host header
 */
export const baseUrlOf = (req: IncomingMessage, mount: string): string => {
  const scheme = (req.socket as TLSSocket).encrypted ? 'https' : 'http'
  const host = req.headers.host ?? hostOf(req.socket)
  if (host !== lastHost) lastHost = checkedHost(host)
  return `${scheme}://${host}${mount}`
}

/** The last valid host, so that the same one is not checked at each request. */
let lastHost: string | undefined

const checkedHost = (host: string): string => {
  if (HOST.test(host) && URL.canParse(`http://${host}`)) return host
  throw new AllotError('bad_request', 'the Host header is malformed')
}

/** HTTP/1.0 clients may leave out the Host header. */
const hostOf = ({ localAddress = 'localhost', localPort }: Socket): string => {
  const name = localAddress.includes(':') ? `[${localAddress}]` : localAddress
  return localPort === undefined ? name : `${name}:${localPort}`
}

const HOST = /^(?:[\w.-]{1,255}|\[[\da-fA-F:.]{2,45}\])(?::\d{1,5})?$/

/** Finds the new places of what was named in a path; undefined for what has not moved. */
export interface FindMoved<I> {
  account(user: I | null, name: string): Promise<string | undefined>
  repository(
    user: I | null,
    owner: string,
    name: string,
  ): Promise<{ owner: string; name: string } | undefined>
}

/** The two segments of a path that name a repository. */
const REPOSITORY = /\{(owner|username)\}\/\{(repo|reponame)\}/
/** The segment of a path that names a user or an organization. */
const ACCOUNT = /\{(owner|username|org)\}/

/** Deletes an account. The new name of an account may not be the one that the client means to delete. */
const DELETION = /^DELETE \/(?:users|orgs)\/\{\w+\}$/

/** Whether former names lead on from a route: from one that names an account or a repository, unless it serves administrators. */
export const mayHaveMoved = ({ method, path }: MovableRoute): boolean =>
  ACCOUNT.test(path) && !path.startsWith('/admin/') && !DELETION.test(`${method} ${path}`)

interface MovableRoute {
  readonly method: string
  /** Such as `/repos/{owner}/{repo}/issues`. */
  readonly path: string
}

/** 308 makes clients repeat the method. After 301 they may send GET instead of any other method. */
export const movedStatus = (method: string | undefined): 301 | 308 =>
  method === 'GET' || method === 'HEAD' ? 301 : 308

interface MovableRequest<I> {
  readonly user: I | null
  readonly route: MovableRoute
  /** Decoded segments of the path, by the names in the template of the route. */
  readonly params: Readonly<Record<string, string | undefined>>
  /** Percent-encoded. */
  readonly path: string
}

/**
 * Replaces the former name of an account, or the former owner and name of a repository, with the new ones.
 * @returns undefined when nothing has moved, or former names do not lead on from the route
 */
export const movedPath = async <I>(
  find: FindMoved<I>,
  { user, route, params, path }: MovableRequest<I>,
): Promise<string | undefined> => {
  const { path: template } = route
  const match = REPOSITORY.exec(template) ?? ACCOUNT.exec(template)
  if (match === null || !mayHaveMoved(route)) return undefined
  const index = template.slice(0, match.index).split('/').length - 1
  // The router of the API takes `//` for `/`, so only without doubled slashes are segments where the template has them.
  const segments = path.replace(/\/{2,}/g, '/').split('/')
  const { [match[1]!]: first = '', [match[2] ?? '']: second = '' } = params
  if (match[2] === undefined) {
    const moved = await find.account(user, first)
    if (moved === undefined) return undefined
    segments[index] = encodeURIComponent(moved)
    return segments.join('/')
  }
  const ending = second.endsWith('.git') ? '.git' : ''
  const moved = await find.repository(user, first, second.slice(0, second.length - ending.length))
  if (moved === undefined) return undefined
  segments.splice(index, 2, encodeURIComponent(moved.owner), encodeURIComponent(moved.name) + ending)
  return segments.join('/')
}
