import type { AllotOptions } from '../../lib/index.ts'
import { exchange } from '../support/request.ts'
import { mountPages, type StartOptions, start, type TestServer } from '../support/test-server.ts'

/** A response; redirects are not followed. */
export interface PageResponse {
  status: number
  text: string
  headers: Headers
}

/** Sends requests as a browser does: keeps cookies, and sends the CSRF token with forms. */
export interface PageClient {
  cookie: string
  get(path: string, headers?: Record<string, string>): Promise<PageResponse>
  /** Sends a form with the CSRF token of the last page. */
  post(path: string, fields: FormFields, headers?: Record<string, string>): Promise<PageResponse>
  signIn(name: string, secret: string): Promise<PageResponse>
}
export type FormFields = Record<string, string | readonly string[]>

export type PageServer = TestServer & {
  browser(): PageClient
  /** A browser in which the user has signed in; without a name by a token. */
  signedIn(name: string, secret: string): Promise<PageClient>
}

export type PageOptions = NonNullable<AllotOptions['pages']>

/** Starts a server with the API and the pages. */
export const startPages = async (
  options: Partial<AllotOptions> = {},
  startOptions: StartOptions = {},
): Promise<PageServer> =>
  withBrowser(await start({ repositories: false, ...options }, { mount: mountPages, ...startOptions }))

export const withBrowser = (server: TestServer): PageServer => {
  const browser = () => createPageClient(server.base)
  return {
    ...server,
    browser,
    async signedIn(name, secret) {
      const client = browser()
      await client.signIn(name, secret)
      return client
    },
  }
}

export const createPageClient = (base: string): PageClient => {
  const jar = new Map<string, string>()
  let form = ''
  const headersOf = (own: Record<string, string>) =>
    new Headers({ ...(jar.size === 0 ? {} : { cookie: cookies() }), ...own })
  const keepOf = (response: PageResponse): PageResponse => {
    for (const cookie of response.headers.getSetCookie()) keep(cookie)
    form = /name="form" value="([^"]*)"/.exec(response.text)?.[1] ?? form
    return response
  }
  const cookies = () => [...jar].map(([name, value]) => `${name}=${value}`).join('; ')
  const keep = (cookie: string) => {
    const [, name, value] = /^([^=]+)=([^;]*)/.exec(cookie)!
    jar.set(name!, value!)
  }
  const browser: PageClient = {
    get cookie() {
      return cookies()
    },
    get: async (path, headers = {}) => keepOf(await exchange(base + path, { headers: headersOf(headers) })),
    async post(path, fields, own = {}) {
      const headers = headersOf({ 'content-type': 'application/x-www-form-urlencoded;charset=UTF-8', ...own })
      const body = String(bodyOf({ form, ...fields }))
      return keepOf(await exchange(base + path, { method: 'POST', headers, body }))
    },
    async signIn(name, secret) {
      await browser.get('/-/sign-in')
      const answer = await browser.post('/-/sign-in', { name, secret })
      if (answer.status === 303) await browser.get('/')
      return answer
    },
  }
  return browser
}

const bodyOf = (fields: FormFields): URLSearchParams =>
  new URLSearchParams(
    Object.entries(fields).flatMap(([name, value]) => [value].flat().map((one) => [name, one as string])),
  )

/** The visible text of the main part of a page. */
export const words = (html: string): string =>
  html
    .replace(/^.*<main[^>]*>/s, '')
    .replace(/<wbr\/?>/g, '')
    .replace(/<[^>]*>/g, ' ')
    .replace(/\s+/g, ' ')
