import { hash } from 'node:crypto'
import type { Identity } from '../accounts/access.ts'
import { avatarOf } from '../accounts/avatars.ts'
import { isAccountName } from '../accounts/names.ts'
import { AllotError } from '../errors.ts'
import { SANDBOX, type StreamReply, type StreamRequest } from '../http/index.ts'
import { matchesETag } from '../http/responses.ts'
import { stream } from './route.ts'

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

/** The images themselves, at the `avatar_url` of each account. */
export const avatarRoutes = [
  stream({ method: 'GET', path: '/avatars/{name}', auth: 'none', handle: madeOfName }),
]
