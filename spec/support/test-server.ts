import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import type { RequestListener } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { before } from 'node:test'
import { type OpenAllot, openAllot } from '../../lib/allot.ts'
import type { AllotOptions } from '../../lib/index.ts'
import type { Mount as MountInHost } from '../hosts/mounts.ts'
import { atEnd, once } from './cleanup.ts'
import { assertDeclared } from './declared-answers.ts'
import { hashQuickly } from './hashing.ts'
import { listen } from './listen.ts'
import { notNested } from './not-nested.ts'
import { type Answer, createSender, type RequestOptions } from './request.ts'
import { createSpecStore } from './store.ts'

export { type Answer, createSender, type RequestOptions } from './request.ts'

export interface Person {
  name: string
  id: number
  token: string
  password: string
}

/** A running server, and functions that send requests to it over a socket. */
export interface TestServer {
  allot: OpenAllot
  /** Without a slash at the end. */
  base: string
  api: string
  root: Person
  request(method: string, path: string, options?: RequestOptions): Promise<Answer>
  /** Sends a request with the token of a person; undefined sends it anonymously. */
  as(person: Person | undefined, method: string, path: string, body?: unknown): Promise<Answer>
  /** Sends a request that must succeed, and returns the body of the response. */
  done(...sent: Parameters<TestServer['as']>): Promise<Answer['body']>
  /** Posts what must be created, and returns the body of the response. */
  made(person: Person, path: string, body?: unknown): Promise<Answer['body']>
  /**
   * Attaches a file to an issue, a comment or a release, and returns the attachment.
   * @param path of it in the API
   */
  attach(person: Person, path: string, content: string, name: string): Promise<Answer['body']>
  /** Puts a file at a path of the server, as clients of LFS and packages do. */
  upload(person: Person, path: string, content: string): Promise<void>
  /** Creates a user with a token of all scopes. */
  person(name?: string, options?: { password?: string; email?: string; admin?: boolean }): Promise<Person>
  /** Creates a token with the given scopes. */
  scoped(person: Person, ...scopes: string[]): Promise<string>
  /** Ends the server, and fails when its store is not sound. The end of the file does the same. */
  stop(): Promise<void>
}

/**
 * Options for a machine that is busy with others: texts are rendered at a low priority, which takes long
 * there, and requests for contents of one client wait for each other longer than clients have to. The limits
 * have specs of their own.
 */
export const PATIENT = {
  markdown: { timeout: 60_000 },
  contents: { maxConcurrent: 64, processes: 64 },
  log: { error: () => undefined, info: () => undefined },
}

/** Mounts the handler in a host; the default is a plain node:http server. */
export type Mount = (handler: OpenAllot['handler'], allot: OpenAllot) => RequestListener

/** Mounts the pages before the API; they also respond to what neither has. */
export const mountPages: Mount =
  (handler, { pages }) =>
  (req, res) =>
    pages(req, res, () => handler(req, res, () => pages(req, res)))

export interface StartOptions {
  mount?: Mount
  /** Mounts all of Allot in a host. */
  host?: MountInHost | undefined
  prefix?: string
  /** Creates the store when the options have no driver. */
  store?: typeof createSpecStore
  /** Name of the first user, an administrator. */
  root?: string
}

export const start = async (
  options: Partial<AllotOptions> = {},
  { mount, host: mountInHost, prefix = '', store = createSpecStore, root = 'root' }: StartOptions = {},
): Promise<TestServer> => {
  hashQuickly()
  const folder = mkdtempSync(join(tmpdir(), 'allot-'))
  const repositories = { directory: join(folder, 'repositories') }
  const files = { directory: join(folder, 'files') }
  const own = options.driver === undefined ? await store() : undefined
  const driver = options.driver ?? notNested(own!.driver)
  const allot = await openAllot({ ...PATIENT, repositories, files, ...options, driver })
  const host = (await mountInHost?.(allot)) ?? {
    listener: mount?.(allot.handler, allot) ?? allot.handler,
    prefix,
  }
  const server = await listen(host.listener)
  const base = `${server.origin}${host.prefix}`
  const api = `${base}${options.basePath ?? '/api/v1'}`
  const unchecked = createSender(api)
  const request: TestServer['request'] = async (method, path, requestOptions) => {
    const answer = await unchecked(method, path, requestOptions)
    assertDeclared(method, path, answer)
    return answer
  }
  let people = 0
  const stop = once(async () => {
    await server.stop()
    try {
      const { messages } = await allot.verify()
      assert.deepEqual(messages, [], 'verify finds no fault in the store')
    } finally {
      await allot.close()
      await own?.drop?.()
      rmSync(folder, { recursive: true, force: true })
    }
  })
  atEnd(stop)

  const person: TestServer['person'] = async (name, fields = {}) => {
    const login = name ?? `user${++people}`
    const { hosting } = allot
    const account = await hosting.accounts.createUser({ name: login, ...fields })
    const { secret } = await hosting.tokens.create(account.id, 'spec', ['all'])
    return { name: login, id: account.id, token: secret, password: fields.password ?? '' }
  }

  const as: TestServer['as'] = (user, method, path, body) =>
    request(method, path, {
      ...(user ? { token: user.token } : {}),
      ...(body === undefined ? {} : { body }),
    })

  return {
    allot,
    base,
    api,
    request,
    as,
    async done(...sent) {
      const { status, text, body } = await as(...sent)
      assert.ok(status < 300, `${sent[1]} ${sent[2]}: ${status} ${text}`)
      return body
    },
    async made(user, path, body) {
      const answer = await as(user, 'POST', path, body)
      assert.equal(answer.status, 201, answer.text)
      return answer.body
    },
    async attach({ token }, path, content, name) {
      const body = new FormData()
      body.append('attachment', new Blob([content]), name)
      const headers = { authorization: `token ${token}` }
      const answer = await fetch(`${api}${path}/assets`, { method: 'POST', body, headers })
      assert.equal(answer.status, 201, path)
      return answer.json()
    },
    async upload({ token }, path, content) {
      const headers = { authorization: `token ${token}` }
      const { ok } = await fetch(base + path, { method: 'PUT', body: content, headers })
      assert.ok(ok, path)
    },
    person,
    root: options.authenticate === undefined ? await person(root, { admin: true }) : anonymous,
    async scoped({ id }, ...scopes) {
      return (await allot.hosting.tokens.create(id, `scoped ${++people}`, scopes)).secret
    },
    stop,
  }
}

/** Makes an object without a class before the tests of a file. It has its members from then on. */
export const madeBefore = <Made extends object>(make: () => Promise<Made>): Made => {
  const made = {} as Made
  before(async () => void Object.defineProperties(made, Object.getOwnPropertyDescriptors(await make())))
  return made
}

/** Starts a server before the tests of a file. */
export const startBefore = (...given: Parameters<typeof start>): TestServer =>
  madeBefore(() => start(...given))

/** Creates users of that server, each with a token of all scopes, before the tests of a file. */
export const peopleBefore = <Names extends readonly string[]>(
  allot: Pick<TestServer, 'person'>,
  ...names: Names
) => names.map((name) => madeBefore(() => allot.person(name))) as { readonly [Index in keyof Names]: Person }

const anonymous: Person = { name: '', id: 0, token: '', password: '' }

/** The header of HTTP Basic authentication. */
export const basic = (name: string, password: string): Record<string, string> => ({
  authorization: `Basic ${Buffer.from(`${name}:${password}`).toString('base64')}`,
})
