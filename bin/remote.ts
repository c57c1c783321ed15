import { Usage } from './usage.ts'

/** A running server to talk to, in the place of the store. */
export interface RemoteFlags {
  url?: string
  token?: string
}

export interface Remote {
  /** Sends JSON, and answers the JSON that came. @throws Error with the server's own words for a refusal. */
  post<T>(path: string, body: unknown): Promise<T>
}

/** Undefined where neither the command line nor the environment names a server. */
export const remoteIn = ({
  url = env('ALLOT_URL'),
  token = env('ALLOT_TOKEN'),
}: RemoteFlags): Remote | undefined => {
  if (url === undefined) return undefined
  if (token === undefined) throw new Usage('--url needs a token: --token, or ALLOT_TOKEN in the environment')
  const api = apiIn(url)
  return {
    async post(path, body) {
      const headers = { authorization: `token ${token}`, 'content-type': 'application/json' }
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
