/**
 * Declares the routes of a resource, each by its verb. What follows from the verb, the path and the body is
 * said here, once: the method, the scope, who may call it, the status of success, and the refusals.
 */
import * as v from 'valibot'
import type { Identity } from '../accounts/access.ts'
import {
  Empty,
  ErrorBody,
  NotFound,
  type Pagination,
  type Reply,
  type Route,
  type RouteRequest,
  type SerializedJson,
} from '../http/index.ts'
import type { Paging } from '../http/paging.ts'
import type { BodyOf, ResponseKind } from '../http/responses.ts'
import type { FileField, ObjectSchema, Output, SegmentsOf } from '../http/route.ts'
import { definedMembers } from '../records/edits.ts'
import type { Found } from '../records/pages.ts'
import type { Store } from '../records/store.ts'
import type { RepositoryName } from '../repositories/names.ts'
import type { Scope } from '../scopes.ts'
import type { ReadTransaction } from '../storage/index.ts'
import { mayHaveMoved } from './former-names.ts'
import type { Presenter, Read, Recipient, View, Wrapping } from './view.ts'

type Shown = View<v.GenericSchema, unknown> | ResponseKind

/** What a route returns, by what it is `of`; anything but false for what was found when it is of nothing. */
type FoundOf<O> =
  O extends Presenter<infer Found, unknown> ? Found : O extends ResponseKind ? BodyOf<O> : object | boolean

/** What is not found is 404, so only a route with a parameter in its path may find nothing. */
type Missing<Path extends string> = [SegmentsOf<Path>] extends [never] ? never : undefined

type Ids = Readonly<Record<string, v.GenericSchema>>

/** The repository that a path names. */
type Named<Path extends string> = Path extends `${string}{owner}/{repo}${string}`
  ? { readonly repository: RepositoryName }
  : unknown

/** What a route is called with, besides what every request has. */
interface Given<Path extends string, I extends Ids, A, Q, B, G> {
  readonly user: A extends 'optional' ? Identity | null : Identity
  readonly params: {
    readonly [Name in SegmentsOf<Path>]: Name extends keyof I ? v.InferOutput<I[Name]> : string
  }
  readonly query: Output<Q, undefined>
  readonly body: Output<B, undefined>
  readonly page: G extends Paging ? Pagination : undefined
}

type Common<S> = Omit<RouteRequest<Identity, S>, 'user' | 'params' | 'query' | 'body' | 'page' | 'cached'>

type Access = 'optional' | 'required' | 'admin'

/** `user` stands for the scopes `read:user` and `write:user`. */
type Word = Scope extends infer S ? (S extends `read:${infer Name}` ? Name : never) : never

interface Rules<A extends Access> {
  /** Of the OpenAPI document; the first of the scopes when absent. */
  readonly tag?: string
  /** The scopes that a token must have, all of them: `user` is `read:user` for a GET, else `write:user`. */
  readonly scope?: Word | readonly Word[]
  /** Who may read. Only the signed in may write, and where only administrators read, only they. */
  readonly reads?: A
}

/** What was found, for a reply with the second of the statuses of a route. */
export class Otherwise<Found> {
  readonly found: Found
  constructor(found: Found) {
    this.found = found
  }
}

type Passed = 'takesRest' | 'accepts' | 'bodyLimit' | 'needsBody' | 'forgejoResponses' | 'failure'

interface Declared<S, Path extends string, I extends Ids, A extends Access, Q, B, O, C, G, Result>
  extends Rules<A>,
    Pick<Route<Identity, S>, Passed> {
  readonly summary: string
  /** POST for what is read by a body, which cannot be in a URL. */
  readonly method?: 'POST'
  readonly query?: Q
  readonly body?: B
  readonly paging?: G
  /** What the route replies with, or the items of its list; nothing but the status when absent. */
  readonly of?: O
  readonly wrap?: Wrapping<S>
  /** Status of success, when it is not the usual one of the verb, and that of {@link Otherwise}. */
  readonly status?: number | readonly [number, number]
  /** Further statuses, besides those that follow from the path and the body; undefined takes one away. */
  readonly also?: readonly number[] | Readonly<Record<number, ResponseKind | undefined>>
  /**
   * Whether the reply is kept until something changes that `run` has read. Then `run` reads with its
   * transaction alone, as {@link RouteRequest.cached} says.
   */
  readonly cached?: C | ((request: Given<Path, I, A, Q, B, G>) => boolean)
  readonly exists?: (params: Given<Path, I, A, Q, B, G>['params'], services: S) => Promise<boolean>
  /** @returns what was found; undefined, or false where the route replies with nothing, for 404 */
  run(
    request: Given<Path, I, A, Q, B, G> & Named<Path> & Common<S>,
    services: S,
    tx: C extends true ? ReadTransaction : undefined,
  ): Promise<Result | Otherwise<Result> | Missing<Path>>
}

/** A page of a list. Its items may be serialized already, and its total not counted. */
interface Listed<O> {
  readonly items:
    | readonly FoundOf<O>[]
    | (O extends v.GenericSchema ? SerializedJson<v.InferOutput<O>[]> : never)
  readonly total: number | undefined
}

type Declare<S, Prefix extends string, I extends Ids, Usual extends Access, P extends Paging | undefined> = <
  const Path extends string,
  Q extends ObjectSchema | undefined = undefined,
  B extends v.GenericSchema | FileField | undefined = undefined,
  O extends View<v.GenericSchema, never> | ResponseKind | undefined = undefined,
  const C extends boolean = false,
  A extends Access = Usual,
  G extends Paging | undefined = P,
>(
  operationId: string,
  path: Path,
  declared: Declared<S, `${Prefix}${Path}`, I, A, Q, B, O, C, G, P extends Paging ? Listed<O> : FoundOf<O>>,
) => Route<Identity, S>

/** Declare the routes of a resource, by their verbs. */
export interface Resource<S, Prefix extends string, I extends Ids, A extends Access> {
  readonly list: Declare<S, Prefix, I, A, 'pages'>
  readonly get: Declare<S, Prefix, I, A, undefined>
  readonly post: Declare<S, Prefix, I, 'required', undefined>
  readonly put: Declare<S, Prefix, I, 'required', undefined>
  readonly patch: Declare<S, Prefix, I, 'required', undefined>
  readonly delete: Declare<S, Prefix, I, 'required', undefined>
}

type AnyDeclared = Declared<never, string, Ids, Access, unknown, unknown, Shown, boolean, unknown, unknown>

const schemaOf = (of: Shown): ResponseKind => ('all' in of ? of.schema : of)

const responsesOf = (
  statuses: readonly number[],
  path: string,
  isList: boolean,
  { of, body, also = [], wrap }: AnyDeclared,
) => {
  const items = of && isList ? v.array(schemaOf(of) as v.GenericSchema) : undefined
  const shown = items ? (wrap?.schema(items) ?? items) : of ? schemaOf(of) : Empty
  return definedMembers({
    ...Object.fromEntries(statuses.map((status) => [status, shown])),
    ...(path.includes('{') ? { 404: NotFound } : {}),
    ...(body === undefined ? {} : { 422: ErrorBody }),
    ...(Array.isArray(also) ? Object.fromEntries(also.map((status) => [status, ErrorBody])) : also),
  })
}

const statusesOf = (method: Route['method'], { of, status }: AnyDeclared): readonly number[] => {
  if (status !== undefined) return [status].flat()
  return of === undefined ? [204] : [method === 'POST' ? 201 : 200]
}

const accessOf = (isRead: boolean, { tag, scope, reads = 'optional' }: Rules<Access>) => {
  const words = scope === undefined ? [] : [scope].flat()
  const scopes = words.map((word) => `${isRead ? 'read' : 'write'}:${word}` as Scope)
  return {
    tag: tag ?? words[0] ?? '',
    auth: isRead || reads === 'admin' ? reads : 'required',
    ...(scopes.length === 0 ? {} : { scope: scopes.length === 1 ? scopes[0]! : scopes }),
  } as const
}

const paramsOf = (path: string, ids: Ids) => {
  const names = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name!)
  if (!names.some((name) => name in ids)) return {}
  return { params: v.object(Object.fromEntries(names.map((name) => [name, ids[name] ?? v.string()]))) }
}

interface Success<S> {
  readonly statuses: readonly number[]
  readonly of: Shown | undefined
  readonly isList: boolean
  readonly wrap: Wrapping<S> | undefined
}

const NOT_FOUND: Reply = { status: 404, body: undefined }

/** Replies with what a route has found. */
const replyWith = async <S>(
  result: unknown,
  { statuses: [usual = 200, other = usual], of, isList, wrap }: Success<S>,
  services: S,
  recipient: Recipient,
  read: Read,
): Promise<Reply> => {
  const [status, found] = result instanceof Otherwise ? [other, result.found] : [usual, result]
  if (found === undefined || (of === undefined && found === false)) return NOT_FOUND
  if (of === undefined) return { status, body: undefined }
  const present = 'all' in of ? of : undefined
  if (isList) {
    const { items, total } = found as Found<unknown>
    const shown = (await present?.all(items, recipient, read)) ?? items
    return { status, body: wrap ? wrap.body(shown, services) : shown, total }
  }
  if (present === undefined) return { status, body: found }
  const [body] = await present.all([found], recipient, read)
  return body === undefined ? NOT_FOUND : { status, body }
}

type Call<S> = (request: unknown, services: S, tx?: ReadTransaction) => Promise<unknown>

const handlerOf =
  <S extends Reading>(
    path: string,
    call: Call<S>,
    success: Success<S>,
    isCached: (request: never) => boolean,
  ): Handler<S> =>
  async (request, services) => {
    if (path.includes('{owner}/{repo}')) {
      const { owner, repo: name } = request.params as { owner: string; repo: string }
      Object.assign(request, { repository: { owner, name } })
    }
    const recipient = request as unknown as Recipient
    const reply = (found: unknown, read: Read) => replyWith(found, success, services, recipient, read)
    if (!isCached(request as never))
      return reply(await call(request, services), (load) => services.store.read(load))
    return request.cached(async (tx) => reply(await call(request, services, tx), (load) => load(tx)))
  }

interface Reading {
  readonly store: Pick<Store, 'read'>
}

type Handler<S> = Route<Identity, S>['handle']

/**
 * Declares resources whose handlers need these services.
 * @returns a function that takes the beginning of the paths of a resource, and its rules
 */
export const resourcesFor =
  <S extends Reading>() =>
  <const Prefix extends string, A extends Access = 'optional', const I extends Ids = Record<never, never>>(
    prefix: Prefix,
    { ids = {} as I, ...rules }: Rules<A> & { readonly ids?: I },
  ): Resource<S, Prefix, I, A> => {
    const verb =
      (usual: Route['method'], isList = false) =>
      (operationId: string, rest: string, declared: AnyDeclared) => {
        const { of, also: _, wrap, cached = false, run, status: __, tag, scope, reads, ...others } = declared
        const path = prefix + rest
        const { method = usual } = declared
        const statuses = statusesOf(usual, declared)
        const isCached = typeof cached === 'function' ? cached : () => cached
        return {
          ...others,
          ...accessOf(usual === 'GET', { ...rules, ...definedMembers({ tag, scope, reads }) }),
          ...paramsOf(path, ids),
          ...(isList ? { paging: declared.paging ?? 'pages' } : {}),
          method,
          path,
          operationId,
          responses: responsesOf(statuses, path, isList, declared),
          mayHaveMoved: mayHaveMoved({ method, path }),
          handle: handlerOf<S>(path, run as never, { statuses, of, isList, wrap }, isCached),
        }
      }
    return {
      list: verb('GET', true),
      get: verb('GET'),
      post: verb('POST'),
      put: verb('PUT'),
      patch: verb('PATCH'),
      delete: verb('DELETE'),
    } as unknown as Resource<S, Prefix, I, A>
  }

/** For a change that returns nothing: it is done, or has thrown. */
export const done = async (change: Promise<void>): Promise<true> => {
  await change
  return true
}
