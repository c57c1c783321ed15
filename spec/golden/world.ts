import assert from 'node:assert/strict'
import { Agent, request } from 'node:http'
import type { AllotOptions } from '../../lib/index.ts'
import { assertDeclared } from '../support/declared-answers.ts'
import { type Answer, start, type TestServer } from '../support/test-server.ts'
import type { Recording } from './recordings.ts'

/** A started Allot with the accounts of the recorded server. */
export interface World {
  running: TestServer
  /** Tokens by the name that placeholders use: `alice`, `alice:ro`. */
  tokens: Map<string, string>
  /** Sends the request of a recording, byte for byte. */
  send(recording: Pick<Recording, 'as' | 'request'>): Promise<Answer>
  /** Sends a request that prepares the state, and asserts that it succeeds. */
  make(as: string, method: string, path: string, body?: unknown): Promise<Answer>
  /** Creates the token that the placeholder `<TOKEN:name>` stands for, such as `alice:ro`. */
  makeToken(name: string, scopes: string[]): Promise<void>
  setVisibility(name: string, visibility: 'public' | 'limited' | 'private'): Promise<unknown>
}

/** In the order of their ids, from 1. Their password is their name followed by `pass1`. */
const USERS: { name: string; fullName?: string; visibility?: 'public' | 'limited' | 'private' }[] = [
  { name: 'root1' },
  { name: 'alice' },
  { name: 'bob' },
  { name: 'carol' },
  { name: 'dave', fullName: 'Dave <b>Private</b> & Co', visibility: 'private' },
  { name: 'eve', visibility: 'limited' },
  { name: 'frank' },
]

const BOB = {
  fullName: 'Bob Ünïcode',
  website: 'https://bob.example.com',
  description: 'I am <b>Bob</b>',
  location: 'Here & there',
}

const passwordOf = (name: string): string => `${name}pass1`

export interface WorldOptions {
  options?: Partial<AllotOptions>
  /** Number of users that exist; the organizations exist only with all users. */
  users?: number
  /** Whether a user signs in with a password. The others have none, because hashing is slow. */
  signsIn?: (name: string) => boolean
}

/** Starts an Allot with the users and organizations of the recorded server, and no repository. */
export const startWorld = async ({
  options,
  users = USERS.length,
  signsIn = () => false,
}: WorldOptions = {}): Promise<World> => {
  const running = await start(options, { root: 'root1' })
  const { accounts, tokens: made } = running.allot.hosting
  const tokens = new Map<string, string>()
  const ids = new Map<string, number>()
  for (const user of USERS.slice(0, users)) {
    const { name } = user
    const password = signsIn(name) ? { password: passwordOf(name) } : {}
    const given = { ...user, ...password, email: `${name}@example.com` }
    const known = name === running.root.name ? await accounts.edit(running.root.id, given) : undefined
    const { id } = known ?? (await accounts.createUser({ ...given, ...(name === 'bob' ? BOB : {}) }))
    ids.set(name, id)
    const isRoot = name === running.root.name
    tokens.set(name, isRoot ? running.root.token : (await made.create(id, 'main', ['all'])).secret)
  }
  if (users === USERS.length) await makeOrganizations(running, ids)
  const world: World = {
    running,
    tokens,
    send: (recording) => send(world, recording),
    async make(as, method, path, body) {
      const headers = body === undefined ? {} : { 'content-type': 'application/json' }
      const asked = { method, path: `/api/v1${path}`, auth: 'token', headers, body }
      const answer = await send(world, { as, request: asked })
      assert.ok(answer.status < 300, `${method} ${path}: ${answer.status} ${answer.text}`)
      return answer
    },
    async makeToken(name, scopes) {
      const [user, title = 'main'] = name.split(':') as [string, string?]
      const account = await accounts.byName(user)
      tokens.set(name, (await made.create(account!.id, title, scopes)).secret)
    },
    setVisibility: (name, visibility) => accounts.edit(ids.get(name)!, { visibility }),
  }
  return world
}

const makeOrganizations = async ({ allot }: TestServer, ids: Map<string, number>): Promise<void> => {
  const { organizations } = allot.hosting
  const [alice, carol] = [ids.get('alice')!, ids.get('carol')!]
  const acme = { fullName: 'Acme Inc', description: 'An org', website: 'http://acme.example.com' }
  await organizations.create(alice, { name: 'acme', ...acme })
  await organizations.create(alice, { name: 'secretorg', visibility: 'private' })
  await organizations.create(carol, { name: 'carolorg' })
}

const send = async (
  world: World,
  { as, request: asked }: Pick<Recording, 'as' | 'request'>,
): Promise<Answer> => {
  const { method, path, query, headers = {}, auth } = asked
  const filled = (text: string) => filledIn(world, text)
  const authorization = auth === undefined ? {} : { authorization: authorizationOf(world, as, auth) }
  const target = filled(query === undefined ? path : `${path}?${query}`)
  const body = bodyOf(asked.body)
  const answer = await exchange(
    `${world.running.base}`,
    method,
    target,
    { ...headers, ...authorization, ...(body === undefined ? {} : { 'content-length': body.length }) },
    body,
  )
  assertDeclared(method, target.replace(/^\/api\/v1/, ''), answer)
  return answer
}

const authorizationOf = (world: World, as: string, auth: string): string => {
  if (auth === 'token') return `token ${world.tokens.get(as)}`
  if (auth === 'bearer') return `Bearer ${world.tokens.get(as)}`
  if (auth === 'basic') return `Basic ${base64(`${as}:${passwordOf(as)}`)}`
  return filledIn(world, auth)
}

/** `<TOKEN:alice>` is a token, `<B64:bob:TOKEN-of-alice>` the Base64 of credentials with one. */
const filledIn = (world: World, text: string): string =>
  text
    .replace(/<TOKEN:([^>]*)>/g, (_, name: string) => world.tokens.get(name) ?? 'f'.repeat(40))
    .replace(/<B64:([^>]*)>/g, (_, pair: string) =>
      base64(pair.replace(/TOKEN(-of-alice)?/, world.tokens.get('alice')!)),
    )

const base64 = (text: string): string => Buffer.from(text).toString('base64')

/**
 * `{$bytes}` is a file of that many bytes, `{$multipart}` a form with such files; text goes as it is, the
 * rest as JSON.
 */
const bodyOf = (body: unknown): Buffer | undefined => {
  if (body === undefined) return undefined
  if (typeof body === 'string') return Buffer.from(body)
  const { $bytes, $multipart } = Object(body) as { $bytes?: number; $multipart?: Part[] }
  if ($bytes !== undefined) return Buffer.alloc($bytes, 'x')
  if ($multipart === undefined) return Buffer.from(JSON.stringify(body))
  return Buffer.concat([...$multipart.map(partOf), Buffer.from('--XXBOUNDARYXX--\r\n')])
}

interface Part {
  field: string
  filename: string | null
  'content-type': string | null
  bytes: number
}

const partOf = ({ field, filename, bytes, ...part }: Part): Buffer => {
  const file = filename === null ? '' : `; filename="${filename}"`
  const type = part['content-type'] === null ? '' : `Content-Type: ${part['content-type']}\r\n`
  return Buffer.concat([
    Buffer.from(`--XXBOUNDARYXX\r\nContent-Disposition: form-data; name="${field}"${file}\r\n${type}\r\n`),
    Buffer.alloc(bytes, 'x'),
    Buffer.from('\r\n'),
  ])
}

const agent = new Agent({ keepAlive: true })

/** Does not use fetch, which normalizes paths such as `/./version`. */
const exchange = (
  base: string,
  method: string,
  path: string,
  headers: Record<string, string | number>,
  body: Buffer | undefined,
): Promise<Answer> =>
  new Promise((resolve, reject) => {
    const { hostname, port } = new URL(base)
    const sent = request({ hostname, port, method, path, headers, agent }, (res) => {
      const chunks: Buffer[] = []
      res.on('data', (chunk: Buffer) => chunks.push(chunk))
      res.on('error', reject)
      res.on('end', () => {
        const text = Buffer.concat(chunks).toString()
        const isJson = res.headers['content-type']?.startsWith('application/json') && text !== ''
        const body = isJson ? JSON.parse(text) : undefined
        resolve({ status: res.statusCode!, headers: headersOf(res.headers), text, body })
      })
    })
    sent.on('error', reject)
    sent.end(body)
  })

const headersOf = (headers: NodeJS.Dict<string | string[]>): Headers =>
  new Headers(
    Object.entries(headers).flatMap(([name, value]) =>
      [value ?? []].flat().map((one): [string, string] => [name, one]),
    ),
  )
