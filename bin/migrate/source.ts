import * as v from 'valibot'
import { UsageError } from '../errors.ts'
import { pagesOf } from './paging.ts'
import { basicOf, checkScopes, SCOPES } from './scopes.ts'
import { type Answer, LIMITS, type Limits, patientRequest, request } from './source-requests.ts'
import { SourceUser } from './source-types.ts'

type Shape<T> = v.GenericSchema<unknown, T>

/** The server that everything is copied from, over its API. */
export interface Source {
  /** Without a slash at the end. */
  readonly base: string
  /** An Allot, whose members of an organization may write to all its repositories. */
  readonly isAllot: boolean
  /** Whether it answers without a token: else what is public there is for its own users. */
  readonly isOpen: boolean
  /** Whose token it is. */
  readonly login: string
  /** An `Authorization` header that git is let in with. */
  readonly authorization: string
  /** @throws Refused */
  get<T>(shape: Shape<T>, path: string): Promise<T>
  /**
   * A list, page after page.
   * @param as whose eyes to see it with, where the server lets administrators do so: more is shown to oneself
   * @param onRefused called when the server does not let it be seen so, and it is seen as the token's owner instead
   */
  list<T>(
    shape: Shape<T>,
    path: string,
    as?: string,
    onRefused?: () => void,
  ): AsyncGenerator<T, void, undefined>
  /** The status of the answer at a path. */
  status(path: string): Promise<number>
  /** A page beside the API; undefined where there is none. */
  page(path: string): Promise<string | undefined>
}

/** The server is there, and does not give this. */
export class SourceError extends Error {
  readonly status: number
  constructor(status: number, message: string) {
    super(message)
    this.status = status
  }
}

/** @throws Usage for what is no address; Error when there is no such API, or the token does not let a run see everything. */
export const connectSource = async (
  from: string,
  token: string,
  limits: Limits = LIMITS,
): Promise<Source> => {
  const base = baseIn(from)
  const api = `${base}/api/v1`
  const headers = (as?: string, authorization = `token ${token}`) => ({
    authorization,
    accept: 'application/json',
    ...(as && { sudo: as }),
  })

  const ask = (path: string, as?: string): Promise<Answer> =>
    patientRequest(() => request(base, api + path, headers(as), limits))

  const whole = async (path: string, as?: string, onRefused?: () => void): Promise<Answer> => {
    const answer = await ask(path, as)
    if (answer.status < 300) return answer
    // An account that may not sign in cannot be looked through, either.
    if (as !== undefined && (answer.status === 403 || answer.status === 401)) {
      onRefused?.()
      return whole(path)
    }
    throw refusal(base, path, answer)
  }

  const version = await introduced(base, ask)
  const { login, is_admin } = await tokenOwner(base, ask)
  if (is_admin !== true)
    throw new Error(
      `${login}, whose token this is, is no administrator of ${base}: it takes the token of one, with the scopes ${SCOPES}`,
    )
  await checkScopes(base, login, token, (path, authorization) =>
    patientRequest(() => request(base, api + path, headers(undefined, authorization), limits)),
  )
  const open = await request(base, `${api}/version`, { accept: 'application/json' }, limits)
  return {
    base,
    login,
    isAllot: version.includes('+allot-'),
    isOpen: open.status === 200,
    authorization: basicOf(login, token),
    get: async (shape, path) => read(shape, base, path, (await whole(path)).text),
    list: <T>(shape: Shape<T>, path: string, as?: string, onRefused?: () => void) =>
      pagesOf(
        path,
        (page) => whole(page, as, onRefused),
        (text) => read(v.array(shape), base, path, text),
        limits,
      ),
    status: async (path) => (await ask(path)).status,
    async page(path) {
      const { status, text } = await request(base, base + path, {}, limits)
      return status === 200 ? text : undefined
    },
  }
}

/** People give the address of the server, or that of its API. */
const baseIn = (from: string): string => {
  if (!/^https?:\/\/[^/]/.test(from) || !URL.canParse(from))
    throw new UsageError(
      `--from ${from.replace(/[^/@]*@/, '…@')}: expected an address such as https://git.example.org`,
    )
  if (from.length > 255) throw new UsageError('--from must not be longer than 255 characters')
  const { origin, pathname, username, password } = new URL(from)
  if (username !== '' || password !== '')
    throw new UsageError('--from must not hold a password: the token is enough')
  return origin + pathname.replace(/\/+$/, '').replace(/\/api\/v1$/, '')
}

/** @returns the version; empty where it is not shown without a known token */
const introduced = async (base: string, ask: (path: string) => Promise<Answer>): Promise<string> => {
  const version = await ask('/version')
  const elsewhere = version.headers.get('location')
  if (version.status >= 300 && version.status < 400 && elsewhere !== null)
    throw new Error(
      `${base} sends on to ${new URL(elsewhere, base).origin}, where no token goes by itself: give the address that it is served at`,
    )
  if (version.status === 401) throw new Error(`${base} does not know this token`)
  const { success, output } = v.safeParse(v.object({ version: v.string() }), jsonIn(version.text))
  if (success) return output.version
  throw new Error(`there is no Gitea, Forgejo or Allot at ${base}: ${base}/api/v1/version does not tell one`)
}

const tokenOwner = async (base: string, ask: (path: string) => Promise<Answer>): Promise<SourceUser> => {
  const user = await ask('/user')
  if (user.status === 401) throw new Error(`${base} does not know this token`)
  if (user.status >= 300) throw refusal(base, '/user', user)
  return read(SourceUser, base, '/user', user.text)
}

const refusal = (base: string, path: string, { status, text }: Answer): SourceError => {
  const { success, output } = v.safeParse(v.object({ message: v.string() }), jsonIn(text))
  // A Forgejo repeats a wrong token in what it says of it.
  const words =
    success && status !== 401 && output.message !== ''
      ? `: ${output.message.split('\n')[0]!.slice(0, 300)}`
      : ''
  const needs = status === 403 ? `; it takes an administrator's token with the scopes ${SCOPES}` : ''
  return new SourceError(
    status,
    `${base}/api/v1${path.replace(/[?&]page=.*/, '')} answered ${status}${words}${needs}`,
  )
}

const read = <T>(shape: Shape<T>, base: string, path: string, text: string): T => {
  const { success, output, issues } = v.safeParse(shape, jsonIn(text))
  if (success) return output
  const [{ message }] = issues
  throw new Error(`${base}/api/v1${path} did not answer as a Gitea or a Forgejo does: ${message}`)
}

const jsonIn = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
