import * as v from 'valibot'
import type { Answer } from './source-requests.ts'

/** One request for each scope that a run needs, which a token without the scope is refused. */
const PROBES: readonly [scope: string, path: string][] = [
  ['read:admin', '/admin/users?limit=1'],
  ['read:organization', '/user/orgs?limit=1'],
  ['read:repository', '/user/repos?limit=1'],
]

export const SCOPES = 'read:admin, read:organization, read:repository, read:user'

const Tokens = v.array(
  v.object({
    token_last_eight: v.optional(v.string()),
    scopes: v.optional(v.nullable(v.array(v.string()))),
    repositories: v.optional(v.nullable(v.array(v.unknown()))),
  }),
)

/**
 * A token that sees only a part of the source would make the rest look withdrawn, so it is refused before anything is copied.
 * @throws Error that names the scope
 */
export const checkScopes = async (
  base: string,
  login: string,
  token: string,
  ask: (path: string, authorization?: string) => Promise<Answer>,
): Promise<void> => {
  for (const [scope, path] of PROBES) {
    const { status } = await ask(path)
    if (status === 401 || status === 403)
      throw new Error(
        `the token of ${login} lacks the scope ${scope}: nothing was copied; it takes an administrator's token with the scopes ${SCOPES}`,
      )
    if (status >= 300) throw new Error(`${base}/api/v1${path} answered ${status}: nothing was copied`)
  }
  // A Gitea shows them to Basic credentials only.
  const { status, text } = await ask(
    `/users/${encodeURIComponent(login)}/tokens?limit=50`,
    basicOf(login, token),
  )
  if (status !== 200) return
  const { success, output } = v.safeParse(Tokens, parsed(text))
  const own = success ? output.find((one) => one.token_last_eight === token.slice(-8)) : undefined
  if (own?.scopes?.includes('public-only') || (own?.repositories?.length ?? 0) > 0)
    throw new Error(
      `the token of ${login} sees only a part of ${base}: nothing was copied; it takes one for all repositories, public and private`,
    )
}

export const basicOf = (login: string, token: string): string =>
  `Basic ${Buffer.from(`${login}:${token}`).toString('base64')}`

const parsed = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
