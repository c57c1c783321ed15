import { setTimeout as pause } from 'node:timers/promises'
import * as v from 'valibot'
import { Usage } from '../usage.ts'
import { SourceUser } from './shapes.ts'

type Shape<T> = v.GenericSchema<unknown, T>

/** The server that everything is copied from, over its API. */
export interface Source {
  /** Without a slash at the end. */
  readonly base: string
  /** Whose token it is. */
  readonly login: string
  /** An `Authorization` header that git is let in with. */
  readonly authorization: string
  /** @throws Refused */
  get<T>(shape: Shape<T>, path: string): Promise<T>
  /**
   * A list, page after page.
   * @param as whose eyes to see it with, where the server lets administrators do so: more is shown to oneself
   */
  list<T>(shape: Shape<T>, path: string, as?: string): AsyncGenerator<T, void, undefined>
  /** Whether there is anything at a path, with or without a body. */
  has(path: string): Promise<boolean>
  /** A page beside the API; undefined where there is none. */
  page(path: string): Promise<string | undefined>
}

/** The server is there, and does not give this. */
export class Refused extends Error {
  readonly status: number
  constructor(status: number, message: string) {
    super(message)
    this.status = status
  }
}

const SCOPES = 'read:admin, read:organization, read:repository, read:user'

/** Milliseconds for one answer, items on a page, and how often to ask again what is busy. */
const [PATIENCE, PAGE, TRIES] = [120_000, 50, 4]

interface Answer {
  status: number
  headers: Headers
  text: string
}

/** @throws Usage for what is no address; Error when there is no such API, or it takes the token for no administrator's. */
export const sourceAt = async (from: string, token: string): Promise<Source> => {
  const base = baseIn(from)
  const api = `${base}/api/v1`
  const headers = (as?: string) => ({
    authorization: `token ${token}`,
    accept: 'application/json',
    ...(as && { sudo: as }),
  })

  const ask = async (path: string, as?: string): Promise<Answer> => {
    for (let tries = 1; ; tries++) {
      const answer = await once(base, api + path, headers(as))
      if ((answer.status !== 429 && answer.status !== 503) || tries === TRIES) return answer
      await pause(Math.min(Number(answer.headers.get('retry-after')) || tries, 60) * 1000)
    }
  }

  const whole = async (path: string, as?: string): Promise<Answer> => {
    const answer = await ask(path, as)
    if (answer.status < 300) return answer
    // An account that may not sign in cannot be looked through, either.
    if (as !== undefined && (answer.status === 403 || answer.status === 401)) return whole(path)
    throw refusal(base, path, answer)
  }

  const { login, is_admin } = await introduced(base, ask)
  if (is_admin !== true)
    throw new Error(
      `${login}, whose token this is, is no administrator of ${base}: it takes the token of one, with the scopes ${SCOPES}`,
    )
  return {
    base,
    login,
    authorization: `Basic ${Buffer.from(`${login}:${token}`).toString('base64')}`,
    get: async (shape, path) => read(shape, base, path, (await whole(path)).text),
    async *list<T>(shape: Shape<T>, path: string, as?: string) {
      const sign = path.includes('?') ? '&' : '?'
      let before = ''
      for (let [page, seen] = [1, 0]; ; page++) {
        const { text, headers } = await whole(`${path}${sign}page=${page}&limit=${PAGE}`, as)
        // What is not paged answers the same again.
        if (text === before) return
        before = text
        const items = read(v.array(shape), base, path, text)
        yield* items
        seen += items.length
        const total = headers.get('x-total-count')
        // A total may count what is not shown.
        if (items.length === 0 && page * PAGE >= Number(total)) return
        if (total !== null && seen >= Number(total)) return
      }
    },
    has: async (path) => (await ask(path)).status < 300,
    async page(path) {
      const { status, text } = await once(base, base + path, {})
      return status === 200 ? text : undefined
    },
  }
}

/** People give the address of the server, or that of its API. */
const baseIn = (from: string): string => {
  if (!/^https?:\/\/[^/]/.test(from) || !URL.canParse(from))
    throw new Usage(
      `--from ${from.replace(/[^/@]*@/, '…@')}: expected an address such as https://git.example.org`,
    )
  const { origin, pathname, username, password } = new URL(from)
  if (username !== '' || password !== '')
    throw new Usage('--from must not hold a password: the token is enough')
  return origin + pathname.replace(/\/+$/, '').replace(/\/api\/v1$/, '')
}

const once = async (base: string, url: string, headers: Record<string, string>): Promise<Answer> => {
  try {
    const answer = await fetch(url, {
      ...{ headers, redirect: 'manual', signal: AbortSignal.timeout(PATIENCE) },
    })
    return { status: answer.status, headers: answer.headers, text: await answer.text() }
  } catch (cause) {
    throw new Error(`${base} cannot be reached: ${reasonOf(cause as Error)}`, { cause })
  }
}

/** Several addresses of one name fail with several reasons, and no words of their own. */
const reasonOf = ({ cause, message }: Error): string => {
  if (!(cause instanceof Error)) return message
  return cause instanceof AggregateError ? (cause.errors[0] as Error).message : cause.message
}

/** Who the token is of, and that this is such an API at all. */
const introduced = async (base: string, ask: (path: string) => Promise<Answer>): Promise<SourceUser> => {
  const version = await ask('/version')
  const elsewhere = version.headers.get('location')
  if (version.status >= 300 && version.status < 400 && elsewhere !== null)
    throw new Error(
      `${base} sends on to ${new URL(elsewhere, base).origin}, where no token goes by itself: give the address that it is served at`,
    )
  const isApi = version.status === 401 || v.is(v.object({ version: v.string() }), jsonIn(version.text))
  if (!isApi)
    throw new Error(
      `there is no Gitea, Forgejo or Allot at ${base}: ${base}/api/v1/version does not tell one`,
    )
  const user = await ask('/user')
  if (version.status === 401 || user.status === 401) throw new Error(`${base} does not know this token`)
  if (user.status >= 300) throw refusal(base, '/user', user)
  return read(SourceUser, base, '/user', user.text)
}

const refusal = (base: string, path: string, { status, text }: Answer): Refused => {
  const { success, output } = v.safeParse(v.object({ message: v.string() }), jsonIn(text))
  // A Forgejo repeats a wrong token in what it says of it.
  const words = success && status !== 401 && output.message !== '' ? `: ${output.message.split('\n')[0]}` : ''
  const needs = status === 403 ? `; it takes an administrator's token with the scopes ${SCOPES}` : ''
  return new Refused(
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
