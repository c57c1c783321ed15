/** The routes of webhooks below one path: the webhooks, their deliveries and their test. */
import * as v from 'valibot'
import type { Identity } from '../../accounts/access.ts'
import type { Authorizer } from '../../accounts/authorize.ts'
import { AllotError } from '../../errors.ts'
import { Empty, ErrorBody, Forbidden, NotFound, type Route, ValidationError } from '../../http/index.ts'
import type { TestPush } from '../../webhooks/hooks.ts'
import type { HookPlace } from '../../webhooks/places.ts'
import { parameter, shortText } from '../fields.ts'
import { pageOf, reply, replyEmpty, replyFound, replyPage, route, type Services } from '../route.ts'
import {
  CreateHookOption,
  deliveryId,
  EditHookOption,
  editIn,
  Hook,
  HookDelivery,
  HookDeliveryDetails,
  hookId,
  newHookIn,
  presentDelivery,
  presentDeliveryDetails,
  presentHook,
} from './schema.ts'

export type HookParams = Readonly<Record<string, unknown>>
export type HookRoute = Route<Identity, Services>

/** One of the paths that have webhooks, and how it differs from the others. */
export interface HookGroup {
  /** Such as `/repos/{owner}/{repo}/hooks`. */
  readonly path: string
  /** Path parameters that name the place. */
  readonly names: Record<string, v.GenericSchema<string>>
  /** Beginning of the operation ids. */
  readonly prefix: string
  /** Owner of the webhooks, in summaries. */
  readonly ownerText: string
  readonly auth: 'required' | 'admin'
  readonly scope: 'user' | 'organization' | 'repository' | 'admin'
  /** Whether someone may see the place and not its webhooks. */
  readonly canForbid: boolean
  /** Whether the place always exists, as the instance and the user who asks do. */
  readonly alwaysExists: boolean
  place(user: Identity, params: HookParams): Authorizer<HookPlace>
  /** The push that a webhook is tested with; undefined for a `ping`. */
  testPush?(
    services: Services,
    params: HookParams,
    ref: string,
    client: string,
  ): Promise<TestPush | undefined>
}

/** What the routes of a group declare of access: credentials, scopes, and responses that refuse. */
const declaredAccess = ({ auth, scope, canForbid }: HookGroup) => {
  const forbidden = canForbid ? { 403: Forbidden } : {}
  return {
    read: { auth, scope: `read:${scope}`, tag: 'webhook' },
    write: { auth, scope: `write:${scope}`, tag: 'webhook' },
    forbidden,
    failures: { ...forbidden, 404: NotFound },
  } as const
}

/** Lists and creates webhooks. */
export const listRoutesOf = (group: HookGroup): HookRoute[] => {
  const { path, names, prefix, ownerText, alwaysExists, place } = group
  const { read, write, forbidden, failures } = declaredAccess(group)
  return [
    route({
      ...read,
      method: 'GET',
      path,
      operationId: `${prefix}ListHooks`,
      summary: `The webhooks of ${ownerText}`,
      params: v.object(names),
      paging: 'pages',
      responses: { 200: v.array(Hook), ...failures },
      handle: async ({ user, params, page }, { hosting }) => {
        const found = await hosting.hooks.list(place(user, params), page)
        return found === undefined ? reply(404) : replyPage(found, presentHook)
      },
    }),
    route({
      ...write,
      method: 'POST',
      path,
      operationId: `${prefix}CreateHook`,
      summary: `Create a webhook of ${ownerText}`,
      params: v.object(names),
      body: CreateHookOption,
      responses: {
        201: Hook,
        ...(alwaysExists ? forbidden : failures),
        409: ErrorBody,
        422: ValidationError,
      },
      handle: async ({ user, params, body, baseUrl }, { hosting }) => {
        const hook = await hosting.hooks.create(user, place(user, params), newHookIn(body, baseUrl))
        if (hook === undefined) throw new AllotError('not_found', 'there is nothing at this path')
        return reply(201, presentHook(hook))
      },
    }),
  ]
}

/** Reads, changes and deletes a webhook. */
export const hookRoutesOf = (group: HookGroup): HookRoute[] => {
  const { path, names, prefix, ownerText, place } = group
  const { read, write, failures } = declaredAccess(group)
  const params = v.object({ ...names, id: hookId })
  return [
    route({
      ...read,
      method: 'GET',
      path: `${path}/{id}`,
      operationId: `${prefix}GetHook`,
      summary: `A webhook of ${ownerText}`,
      params,
      responses: { 200: Hook, ...failures },
      handle: async ({ user, params }, { hosting }) =>
        replyFound(await hosting.hooks.find(place(user, params), params.id), presentHook),
    }),
    route({
      ...write,
      method: 'PATCH',
      path: `${path}/{id}`,
      operationId: `${prefix}EditHook`,
      summary: `Change a webhook of ${ownerText}; with another receiver, the Authorization header is removed unless it is given again`,
      params,
      body: EditHookOption,
      responses: { 200: Hook, ...failures, 422: ValidationError },
      handle: async ({ user, params, body, baseUrl }, { hosting }) => {
        const edit = { ...editIn(body), baseUrl }
        const hook = await hosting.hooks.edit(user, place(user, params), params.id, edit)
        return replyFound(hook, presentHook)
      },
    }),
    route({
      ...write,
      method: 'DELETE',
      path: `${path}/{id}`,
      operationId: `${prefix}DeleteHook`,
      summary: `Delete a webhook of ${ownerText}, with its deliveries`,
      params,
      responses: { 204: Empty, ...failures },
      handle: async ({ user, params }, { hosting }) =>
        replyEmpty(await hosting.hooks.remove(user, place(user, params), params.id)),
    }),
  ]
}

/** Lists, reads and repeats what was sent to a webhook. */
export const deliveryRoutesOf = (group: HookGroup): HookRoute[] => {
  const { path, names, prefix, ownerText, place } = group
  const { read, write, failures } = declaredAccess(group)
  const params = v.object({ ...names, id: hookId })
  const deliveryParams = v.object({ ...names, id: hookId, delivery: deliveryId })
  return [
    route({
      ...read,
      method: 'GET',
      path: `${path}/{id}/deliveries`,
      operationId: `${prefix}ListHookDeliveries`,
      summary: `The deliveries of a webhook of ${ownerText} in the last days, the newest first`,
      params,
      paging: 'pages',
      responses: { 200: v.array(HookDelivery), ...failures },
      handle: async ({ user, params, page }, { hosting }) => {
        const found = await hosting.hooks.deliveries(place(user, params), params.id, page)
        return found === undefined ? reply(404) : pageOf(found.items.map(presentDelivery), found.total)
      },
    }),
    route({
      ...read,
      method: 'GET',
      path: `${path}/{id}/deliveries/{delivery}`,
      operationId: `${prefix}GetHookDelivery`,
      summary: `A delivery of a webhook of ${ownerText}, with what was sent and the answer`,
      params: deliveryParams,
      responses: { 200: HookDeliveryDetails, ...failures },
      handle: async ({ user, params }, { hosting }) => {
        const found = await hosting.hooks.delivery(user, place(user, params), params.id, params.delivery)
        return replyFound(found, presentDeliveryDetails)
      },
    }),
    route({
      ...write,
      method: 'POST',
      path: `${path}/{id}/deliveries/{delivery}/attempts`,
      operationId: `${prefix}RedeliverHook`,
      summary: `Send a delivery of a webhook of ${ownerText} again`,
      params: deliveryParams,
      responses: { 202: HookDelivery, ...failures, 409: ErrorBody },
      handle: async ({ user, params }, { hosting }) => {
        const sent = await hosting.hooks.resend(place(user, params), params.id, params.delivery)
        return sent === undefined ? reply(404) : reply(202, presentDelivery(sent))
      },
    }),
  ]
}

const TestQuery = v.object({
  ref: v.optional(parameter(shortText, 'Branch, tag or commit of the push; the default branch when absent.')),
})

interface TestRequest {
  readonly user: Identity
  readonly params: HookParams & { readonly id: number }
  readonly client: () => string
}

/** Sends a test to a webhook. */
export const testRouteOf = (group: HookGroup): HookRoute => {
  const { path, names, prefix, ownerText, place, testPush } = group
  const { write, failures } = declaredAccess(group)
  const declaration = {
    ...write,
    method: 'POST',
    path: `${path}/{id}/tests`,
    operationId: `${prefix}TestHook`,
    summary: `Send a test to a webhook of ${ownerText}: ${testPush === undefined ? 'a ping' : 'a push of the last commit, or a ping when there is none'}`,
    params: v.object({ ...names, id: hookId }),
    responses: { 204: Empty, ...failures, 409: ErrorBody },
  } as const
  const test = async ({ user, params, client }: TestRequest, services: Services, ref: string) => {
    const { hooks } = services.hosting
    const where = place(user, params)
    // Before git data is read, since this finds out whether the caller may.
    if ((await hooks.find(where, params.id)) === undefined) return reply(404)
    const push = await testPush?.(services, params, ref, client())
    return replyEmpty(await hooks.test(user, where, params.id, push))
  }
  if (testPush === undefined)
    return route({ ...declaration, handle: (request, services) => test(request, services, '') })
  return route({
    ...declaration,
    query: TestQuery,
    handle: (request, services) => test(request, services, request.query.ref ?? ''),
  })
}
