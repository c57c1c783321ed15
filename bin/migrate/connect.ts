import * as v from 'valibot'
import { parseAddress, withoutEndSlashes } from '../client/api.ts'
import { UsageError } from '../errors.ts'
import { ifAvailable } from './migration.ts'
import { SourceUser } from './shapes.ts'
import {
  apiPath,
  DRAFTS_SCOPE,
  parseJson,
  parseResponse,
  SCOPES,
  Source,
  SourceError,
  sourceError,
} from './source.ts'
import { LIMITS } from './source-requests.ts'

/**
 * @throws UsageError when `from` isn't an address
 * @throws Error when the address has no such API, or the token does not permit reading everything
 */
export const connectSource = async (from: string, token: string, limits = LIMITS): Promise<Source> => {
  const source = new Source(parseBase(from), token, limits)
  source.isAllot = (await readVersion(source)).includes('+allot-')
  source.login = await readAdministrator(source)
  await checkScopes(source)
  source.isOpen = await source.answersEveryone()
  return source
}

/** Accepts the address of the server, and that of its API. */
const parseBase = (from: string): string => {
  const { origin, pathname, search, hash, username, password } = parseAddress(
    '--from',
    from,
    'https://git.example.org',
  )
  if (from.length > 255) throw new UsageError('--from must not be longer than 255 characters')
  if (username !== '' || password !== '')
    throw new UsageError('--from must not hold a password: the token is enough')
  if (search !== '' || hash !== '')
    throw new UsageError('--from must not have a query or a fragment: give the address of the server alone')
  return withoutEndSlashes(origin + pathname).replace(/\/api\/v1$/, '')
}

const readVersion = async (source: Source): Promise<string> => {
  const { base } = source
  const { status, headers, text } = await source.request('/version')
  const location = headers.get('location')
  if (status >= 300 && status < 400 && location !== null) throw new Error(redirectError(base, location))
  if (status === 401) throw new Error(`${base} does not know this token`)
  const { success, output } = v.safeParse(v.object({ version: v.string() }), parseJson(text))
  if (success) return output.version
  throw new Error(`there is no Gitea, Forgejo or Allot at ${base}: ${base}${VERSION_PATH} has no version`)
}

const VERSION_PATH = '/api/v1/version'

const redirectError = (base: string, location: string): string => {
  const { origin, pathname } = new URL(location, base + VERSION_PATH)
  return `${base} redirects ${VERSION_PATH} to ${origin}${pathname}, and the token is not sent there: give the address that answers without that`
}

/** @returns the owner of the token */
const readAdministrator = async (source: Source): Promise<string> => {
  const { base } = source
  const response = await source.request('/user')
  if (response.status === 401) throw new Error(`${base} does not know this token`)
  if (response.status >= 300) throw sourceError(base, '/user', response)
  const { login, is_admin } = parseResponse(SourceUser, base, '/user', response.text)
  if (is_admin) return login
  throw new Error(
    `the token belongs to ${login}, who is not an administrator of ${base}: use an administrator's token with the scopes ${SCOPES}`,
  )
}

const Found = v.object({ data: v.array(v.object({ full_name: v.string() })) })

/**
 * For each scope a request that is refused without it. `read:user` is needed for `/user`, which was read
 * before. Issues belong to a repository: any one will do. A source without a repository has none.
 */
const probesOf = async (source: Source): Promise<[scope: string, path: string][]> => {
  const found = await ifAvailable(source.get(Found, '/repos/search?limit=1'))
  const path = found?.data[0]?.full_name
  return [
    ['read:admin', '/admin/users?limit=1'],
    ['read:organization', '/user/orgs?limit=1'],
    [DRAFTS_SCOPE, '/user/repos?limit=1'],
    ['read:package', `/packages/${encodeURIComponent(source.login)}?limit=1`],
    ...(path === undefined ? [] : [['read:issue', `/repos/${path}/issues?limit=1`] as [string, string]]),
  ]
}

const SourceToken = v.object({
  token_last_eight: v.optional(v.string()),
  scopes: v.nullish(v.array(v.string())),
  repositories: v.nullish(v.array(v.unknown())),
})

/** The token of the source among those of its owner; undefined when the source does not show them. */
const ownToken = async (source: Source): Promise<v.InferOutput<typeof SourceToken> | undefined> => {
  const { token, login, authorization } = source
  try {
    // Gitea lists tokens only with Basic credentials.
    for await (const one of source.items(SourceToken, `${apiPath('users', login)}/tokens`, { authorization }))
      if (one.token_last_eight === token.slice(-8)) return one
  } catch (error) {
    if (!(error instanceof SourceError) || ![401, 403, 404, 405].includes(error.status)) throw error
  }
  return undefined
}

const lacking = (login: string, scope: string) =>
  new Error(
    `the token of ${login} lacks the scope ${scope}: nothing was copied; use an administrator's token with the scopes ${SCOPES}`,
  )

/**
 * Refuses a token that can see only a part of the source: the rest would look deleted, and would be revoked
 * here.
 * @throws Error that names the missing scope
 */
const checkScopes = async (source: Source): Promise<void> => {
  const { base, login } = source
  for (const [scope, path] of await probesOf(source)) {
    const { status } = await source.request(path)
    if (status === 401 || status === 403) throw lacking(login, scope)
    // The source can lack packages and issues, or have them turned off.
    const canBeAbsent = scope === 'read:package' || scope === 'read:issue'
    if (status >= 300 && !(status === 404 && canBeAbsent))
      throw new Error(`${base}/api/v1${path} answered ${status}: nothing was copied`)
  }
  const own = await ownToken(source)
  // No request that only reads is refused without it: the drafts are just absent.
  if (own?.scopes && !own.scopes.some((scope) => scope === 'all' || scope === DRAFTS_SCOPE))
    throw lacking(login, DRAFTS_SCOPE)
  if (own?.scopes?.includes('public-only') || (own?.repositories?.length ?? 0) > 0)
    throw new Error(
      `the token of ${login} sees only a part of ${base}: nothing was copied; use one for all repositories, public and private`,
    )
}
