import { hash } from 'node:crypto'
import { Readable } from 'node:stream'
import * as v from 'valibot'
import type { Identity } from '../accounts/access.ts'
import { authorizeOrganization } from '../accounts/authorize.ts'
import { avatarOf } from '../accounts/avatars.ts'
import { isAccountName } from '../accounts/names.ts'
import { AllotError } from '../errors.ts'
import {
  Empty,
  Forbidden,
  NotFound,
  SANDBOX,
  type StreamReply,
  type StreamRequest,
  ValidationError,
} from '../http/index.ts'
import { matchesETag } from '../http/responses.ts'
import { base64, example } from './fields.ts'
import { reply, replyEmpty, route, type StreamServices, stream } from './route.ts'
import { accountDeleted } from './users.ts'

/** A PNG of one pixel. */
const SAMPLE =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='

const UpdateAvatarOption = v.object({
  /** The image in base64 */
  image: example(base64, SAMPLE),
})

const user = { auth: 'required', scope: 'write:user', tag: 'user', path: '/user/avatar' } as const
const rights = { auth: 'required', scope: 'write:organization', tag: 'organization' } as const
const organization = { ...rights, path: '/orgs/{org}/avatar' } as const

/** Routes that change the image of an account. */
export const avatarChangeRoutes = [
  route({
    ...user,
    method: 'POST',
    operationId: 'userUpdateAvatar',
    summary: "Replace the signed-in user's image",
    body: UpdateAvatarOption,
    responses: { 204: Empty, 422: ValidationError },
    handle: async ({ user, body }, { hosting }) => {
      if (!(await hosting.avatars.set(user.id, Buffer.from(body.image, 'base64')))) throw accountDeleted()
      return reply(204)
    },
  }),
  route({
    ...user,
    method: 'DELETE',
    operationId: 'userDeleteAvatar',
    summary: "Remove the signed-in user's image: the one that is made of the name is shown again",
    responses: { 204: Empty },
    handle: async ({ user }, { hosting }) => {
      if (!(await hosting.avatars.remove(user.id))) throw accountDeleted()
      return reply(204)
    },
  }),
  route({
    ...organization,
    method: 'POST',
    operationId: 'orgUpdateAvatar',
    summary: 'Replace the image of an organization',
    body: UpdateAvatarOption,
    responses: { 204: Empty, 403: Forbidden, 404: NotFound, 422: ValidationError },
    handle: async ({ user, params, body }, { hosting }) =>
      replyEmpty(
        await hosting.avatars.set(authorizeOrganization(user, params.org), Buffer.from(body.image, 'base64')),
      ),
  }),
  route({
    ...organization,
    method: 'DELETE',
    operationId: 'orgDeleteAvatar',
    summary: 'Remove the image of an organization: the one that is made of the name is shown again',
    responses: { 204: Empty, 403: Forbidden, 404: NotFound },
    handle: async ({ user, params }, { hosting }) =>
      replyEmpty(await hosting.avatars.remove(authorizeOrganization(user, params.org))),
  }),
]

const HEADERS = {
  ...SANDBOX,
  'X-Content-Type-Options': 'nosniff',
}

/** @param name a valid account name, which needs no escaping */
const avatarSvg = (name: string): string => {
  const { letter, color } = avatarOf(name)
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 64 64" width="256" height="256"><rect width="64" height="64" fill="${color}"/><text x="32" y="43" font-family="system-ui,sans-serif" font-size="32" font-weight="600" text-anchor="middle" fill="#fff">${letter}</text></svg>`
}

/** The image that is made of the name in the path, so it does not tell whether the account exists. */
const madeOfName = async ({ params, headers }: StreamRequest<Identity, 'name'>): Promise<StreamReply> => {
  const { name } = params
  if (!isAccountName(name)) throw new AllotError('not_found', 'this is not a name of an account')
  const body = avatarSvg(name)
  const tag = `"${hash('sha1', body, 'base64url')}"`
  const cached = { ...HEADERS, ETag: tag, 'Cache-Control': 'public, max-age=86400' }
  if (matchesETag(headers['if-none-match'], tag)) return { status: 304, headers: cached, body: '' }
  return { status: 200, headers: { ...cached, 'Content-Type': 'image/svg+xml' }, body }
}

/** An uploaded image, for everyone who knows its address. */
const uploaded = async (
  { params, headers }: StreamRequest<Identity, 'name' | 'key'>,
  { hosting }: StreamServices,
): Promise<StreamReply> => {
  const { type, content } = await hosting.avatars.read(params.name, params.key)
  const tag = `"${params.key}"`
  const cached = { ...HEADERS, ETag: tag, 'Cache-Control': 'public, max-age=31536000, immutable' }
  if (matchesETag(headers['if-none-match'], tag)) return { status: 304, headers: cached, body: '' }
  const sent = { ...cached, 'Content-Type': type, 'Content-Length': String(content.length) }
  return {
    status: 200,
    headers: sent,
    body: async () => ({ stream: Readable.from([content], { objectMode: false }) }),
  }
}

/** The images themselves, at the `avatar_url` of each account. */
export const avatarRoutes = (['GET', 'HEAD'] as const).flatMap((method) => [
  stream({ method, path: '/avatars/{name}', handle: madeOfName }),
  stream({ method, path: '/avatars/{name}/{key}', handle: uploaded }),
])
