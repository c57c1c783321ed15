import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Allot, type AllotOptions, createAllot } from '../../lib/index.ts'
import { askedHost } from '../hosts/mounts.ts'
import { assertDeclared } from './declared-answers.ts'
import { type Answer, createSender, type RequestOptions } from './request.ts'
import { createSpecStore } from './store.ts'

export { type Answer, createSender, type RequestOptions } from './request.ts'

export interface Person {
  name: string
  id: number
  token: string
  password: string
}

/** A started server, spoken to over a socket. */
export interface TestServer {
  allot: Allot
  /** Without a slash at the end. */
  base: string
  api: string
  root: Person
  request(method: string, path: string, options?: RequestOptions): Promise<Answer>
  /** The same, as a person, or as nobody. */
  as(person: Person | undefined, method: string, path: string, body?: unknown): Promise<Answer>
  /** A new user with a token of all scopes; the password is set for those who need one. */
  person(name?: string, options?: { password?: string; email?: string; admin?: boolean }): Promise<Person>
  /** A token of a person with the given scopes. */
  scoped(person: Person, ...scopes: string[]): Promise<string>
  stop(): Promise<void>
}

const quiet = { error: () => undefined, info: () => undefined }

/** How the listener is put into a server: plain, unless a spec mounts it elsewhere. */
export type Mount = (handler: Allot['handler']) => RequestListener

export interface StartOptions {
  mount?: Mount
  prefix?: string
  /** Where the store comes from when the options bring no driver. */
  store?: typeof createSpecStore
  /** Login of the first user, an administrator. */
  root?: string
}

export const start = async (
  options: Partial<AllotOptions> = {},
  { mount, prefix = '', store = createSpecStore, root = 'root' }: StartOptions = {},
): Promise<TestServer> => {
  const folder = mkdtempSync(join(tmpdir(), 'allot-'))
  const repositories = { directory: join(folder, 'repositories') }
  const files = { directory: join(folder, 'files') }
  const { driver, drop } = options.driver ? { driver: options.driver, drop: undefined } : await store()
  const allot = await createAllot({ log: quiet, repositories, files, ...options, driver })
  const asked = askedHost()
  const host =
    mount === undefined && asked !== undefined
      ? await asked(allot)
      : { listener: mount?.(allot.handler) ?? allot.handler, prefix }
  const server = createServer(host.listener)
  // A spec that lets a program work may not ask for a while: its connection must not end just as it asks again.
  server.keepAliveTimeout = 60_000
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const base = `http://127.0.0.1:${(server.address() as AddressInfo).port}${host.prefix}`
  const api = `${base}${options.basePath ?? '/api/v1'}`
  const unchecked = createSender(api)
  const ask: TestServer['request'] = async (method, path, asked) => {
    const answer = await unchecked(method, path, asked)
    assertDeclared(method, path, answer)
    return answer
  }
  let people = 0

  const person: TestServer['person'] = async (name, given = {}) => {
    const login = name ?? `user${++people}`
    const { hosting } = allot
    const account = await hosting.accounts.createUser({ name: login, ...given })
    const { secret } = await hosting.tokens.create(account.id, 'spec', ['all'])
    return { name: login, id: account.id, token: secret, password: given.password ?? '' }
  }

  return {
    allot,
    base,
    api,
    request: ask,
    as: (who, method, path, body) =>
      ask(method, path, { ...(who ? { token: who.token } : {}), ...(body === undefined ? {} : { body }) }),
    person,
    root: options.authenticate === undefined ? await person(root, { admin: true }) : nobody,
    async scoped({ id }, ...scopes) {
      return (await allot.hosting.tokens.create(id, `scoped ${++people}`, scopes)).secret
    },
    async stop() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
      const { named } = await allot.verify()
      await allot.close()
      await drop?.()
      rmSync(folder, { recursive: true, force: true })
      assert.deepEqual(named, [], 'a recount agrees with everything that is kept')
    },
  }
}

const nobody: Person = { name: '', id: 0, token: '', password: '' }

/** `Basic` credentials. */
export const basic = (name: string, password: string): Record<string, string> => ({
  authorization: `Basic ${Buffer.from(`${name}:${password}`).toString('base64')}`,
})
