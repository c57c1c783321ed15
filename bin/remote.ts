import { Usage } from './usage.ts'

/** A running server to talk to, in the place of the store. */
export interface RemoteFlags {
  url?: string
  token?: string
}

export interface Remote {
  /** Sends JSON, and answers the JSON that came. @throws Error with the server's own words for a refusal. */
  post<T>(path: string, body: unknown): Promise<T>
  /** The bytes of an answer as they come. @throws Error also when they break off. */
  stream(path: string): AsyncIterable<Uint8Array>
}

/** Undefined where neither the command line nor the environment names a server. */
export const remoteIn = ({
  url = env('ALLOT_URL'),
  token = env('ALLOT_TOKEN'),
}: RemoteFlags): Remote | undefined => {
  if (url === undefined) return undefined
  if (token === undefined) throw new Usage('--url needs a token: --token, or ALLOT_TOKEN in the environment')
  const api = apiIn(url)
  const authorization = `token ${token}`
  return {
    async *stream(path) {
      const answer = await send(api + path, { headers: { authorization } })
      try {
        for await (const chunk of answer.body!) yield chunk as Uint8Array
      } catch (cause) {
        throw new Error(`the answer of ${api}${path} broke off: its log says why`, { cause })
      }
    },
    async post(path, body) {
      const headers = { authorization, 'content-type': 'application/json' }
      const answer = await send(api + path, { method: 'POST', headers, body: JSON.stringify(body) })
      return (await answer.json()) as never
    },
  }
}

const env = (name: string): string | undefined => process.env[name] || undefined

/** The API of a server that is given by its address alone is where it is unless its configuration moves it. */
const apiIn = (url: string): string => {
  if (!/^https?:\/\/[^/]/.test(url) || !URL.canParse(url))
    throw new Usage(`--url ${url}: expected an address such as http://127.0.0.1:3000`)
  const { origin, pathname } = new URL(url)
  return pathname === '/' ? `${origin}/api/v1` : origin + pathname.replace(/\/+$/, '')
}

const send = async (url: string, request: RequestInit): Promise<Response> => {
  const answer = await fetch(url, request).catch((error: Error) => {
    throw new Error(
      `${url} cannot be reached: ${(error.cause as Error | undefined)?.message ?? error.message}`,
    )
  })
  if (answer.ok) return answer
  const text = await answer.text()
  throw new Error(`${url} answered ${answer.status}${text === '' ? '' : `: ${messageIn(text)}`}`)
}

const messageIn = (text: string): string => {
  try {
    return String((JSON.parse(text) as { message?: unknown }).message ?? text)
  } catch {
    return text.slice(0, 200)
  }
}
