import type { AllotOptions } from '../../lib/index.ts'
import { type StartOptions, start, type TestServer } from '../support/test-server.ts'

/** What came back, with nothing followed. */
export interface Shown {
  status: number
  text: string
  headers: Headers
}

/** Somebody with a browser: keeps cookies, and sends forms as they are shown. */
export interface Visitor {
  cookie: string
  get(path: string, headers?: Record<string, string>): Promise<Shown>
  /** Sends a form with the token of the page that was shown last. */
  post(path: string, fields: Fields, headers?: Record<string, string>): Promise<Shown>
  signIn(name: string, secret: string): Promise<Shown>
}
export type Fields = Record<string, string | readonly string[]>

/** A server that shows pages beside the API. */
export const startPages = (options: Partial<AllotOptions> = {}, started: StartOptions = {}): Promise<Paged> =>
  startWith({ repositories: false, ...options }, started)

export type Paged = TestServer & { browser(): Visitor }

const startWith = async (options: Partial<AllotOptions>, started: StartOptions): Promise<Paged> => {
  let handled: TestServer['allot'] | undefined
  const running = await start(options, {
    mount: (handler) => (req, res) => handled!.page(req, res, () => handler(req, res)),
    ...started,
  })
  handled = running.allot
  return { ...running, browser: () => visitorAt(running.base) }
}

export const visitorAt = (base: string): Visitor => {
  const jar = new Map<string, string>()
  let form = ''
  const ask = async (path: string, init: RequestInit): Promise<Shown> => {
    const headers = { ...(jar.size === 0 ? {} : { cookie: cookies() }), ...(init.headers as object) }
    const answer = await fetch(base + path, { ...init, headers, redirect: 'manual' })
    for (const cookie of answer.headers.getSetCookie()) keep(cookie)
    const text = await answer.text()
    form = /name="form" value="([^"]*)"/.exec(text)?.[1] ?? form
    return { status: answer.status, text, headers: answer.headers }
  }
  const cookies = () => [...jar].map(([name, value]) => `${name}=${value}`).join('; ')
  const keep = (cookie: string) => {
    const [, name, value] = /^([^=]+)=([^;]*)/.exec(cookie)!
    jar.set(name!, value!)
  }
  const browser: Visitor = {
    get cookie() {
      return cookies()
    },
    get: (path, headers = {}) => ask(path, { headers }),
    post: (path, fields, headers = {}) =>
      ask(path, { method: 'POST', headers, body: bodyOf({ form, ...fields }) }),
    async signIn(name, secret) {
      await browser.get('/-/sign-in')
      const answer = await browser.post('/-/sign-in', { name, secret })
      if (answer.status === 303) await browser.get('/')
      return answer
    },
  }
  return browser
}

const bodyOf = (fields: Fields): URLSearchParams =>
  new URLSearchParams(
    Object.entries(fields).flatMap(([name, value]) => [value].flat().map((one) => [name, one as string])),
  )
