import { hash } from 'node:crypto'
import type { Identity } from '../accounts/access.ts'
import { avatarSvg } from '../accounts/avatar.ts'
import { isName } from '../accounts/names.ts'
import { AllotError } from '../errors.ts'
import type { StreamReply, StreamRequest } from '../http/index.ts'
import { matchesETag } from '../http/responses.ts'
import { stream } from './route.ts'

/** The image of an account. It is made of the name in the path, so it does not tell whether the account exists. */
const avatar = async ({ params, headers }: StreamRequest<Identity, 'name'>): Promise<StreamReply> => {
  const { name } = params
  if (!isName(name)) throw new AllotError('not_found', 'this is not a name of an account')
  const body = avatarSvg(name)
  const tag = `"${hash('sha1', body, 'base64url')}"`
  const cached = { ...HEADERS, ETag: tag }
  if (matchesETag(headers['if-none-match'], tag)) return { status: 304, headers: cached, body: '' }
  return { status: 200, headers: { ...cached, 'Content-Type': 'image/svg+xml' }, body }
}

const HEADERS = {
  'Content-Security-Policy': "default-src 'none'; sandbox",
  'X-Content-Type-Options': 'nosniff',
  'Cache-Control': 'public, max-age=86400',
}

export const avatarRoutes = (['GET', 'HEAD'] as const).map((method) =>
  stream({ method, path: '/avatars/{name}', handle: avatar }),
)
