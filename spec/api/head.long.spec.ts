import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { existsSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { before, describe, it } from 'node:test'
import { routes, streamRoutesFor } from '../../lib/api/index.ts'
import { type Route, Download as Streamed } from '../../lib/http/index.ts'
import { pageRoutes } from '../../lib/web/page-routes.ts'
import { temporaryDirectory } from '../support/folder.ts'
import { exchange } from '../support/request.ts'
import { wrappedGit } from '../support/wrapped-git.ts'
import type { PageClient } from '../web/browser.ts'
import { PASSWORD } from '../web/fixture.ts'
import { type Site, startSite } from '../web/site.ts'
import { POINTER } from './contents/repository.ts'

const LARGE = Buffer.alloc(5_000_000, 'map')
const OID = createHash('sha256').update(LARGE).digest('hex')

/** Has a line for each start of git. */
const starts = join(temporaryDirectory(), 'starts')

let site: Site
let mia: PageClient
/** What each parameter of a path stands for, besides the repository. */
let values: Record<string, string>
before(async () => {
  const directory = temporaryDirectory()
  const repositories = { directory, git: wrappedGit(`echo "$*" >> '${starts}'`) }
  site = await startSite({ repositories, webhooks: true })
  mia = await site.signedIn('mia', PASSWORD)
  for (const name of REPOSITORIES) await addLargeFiles(name)
  const [attachment] = (await site.as(site.mia, 'GET', '/repos/mia/atlas/issues/1/assets')).body
  values = {
    ...{ owner: 'mia', username: 'mia', org: 'guild', target: 'noa', collaborator: 'noa', team: 'Owners' },
    ...{ topic: 'maps', id: '1', index: '1', delivery: '1', attachment_id: String(attachment.id) },
    ...{ sha: 'main', branch: 'main', tag: 'v1.0', ref: 'heads/main', basehead: 'main...feature/rivers' },
    ...{ filepath: 'large.bin', rest: 'branch/main/plain.bin', archive: 'main.zip', oid: OID },
    ...{ type: 'generic', name: 'atlas-tools', version: '1.0.0', file: 'tools.tar.gz', kind: 'packages' },
    ...{ quotarule: 'none', quotagroup: 'none', key: '1', token: 'spec', uuid: attachment.uuid },
  }
})

/** A public repository, a private one, and one that does not exist. */
const REPOSITORIES = ['atlas', 'diary'] as const
const NAMES = [...REPOSITORIES, 'missing'] as const

/** Adds a file that is too large to be read into memory, and one that stands for such a file. */
const addLargeFiles = async (name: string): Promise<void> => {
  const { hosting } = site.allot
  const viewer = { id: site.mia.id, admin: false, username: 'mia' }
  const { body } = await site.as(site.mia, 'GET', `/repos/mia/${name}`)
  await hosting.lfs.add(viewer, body.id, { oid: OID, size: LARGE.length }, Readable.from([LARGE]), undefined)
  const contents = { 'large.bin': POINTER(OID, LARGE.length), 'plain.bin': LARGE }
  const files = Object.entries(contents).map(([path, content]) => {
    return { operation: 'create', path, content: Buffer.from(content).toString('base64') }
  })
  const { status, text } = await site.as(site.mia, 'POST', `/repos/mia/${name}/contents`, { files })
  assert.equal(status, 201, text)
}

const declared = (routes as unknown as Route[]).filter(({ method }) => method === 'GET')
const streams = streamRoutesFor({ git: true, contents: true, lfs: true, packages: true, issues: true })

/** Of each repository, and with a value for the last parameter that nothing has. */
interface Paths {
  /** By the name of the repository; only `atlas` when the path names none. */
  of: Record<string, string>
  missing: string[]
}

const pathsOf = (path: string): Paths => {
  const last = /.*\{(\w+)\}/.exec(path)?.[1]
  const filled = (repo: string, own: Record<string, string> = {}) =>
    path.replace(/\{(\w+)\}/g, (_whole, name: string) => {
      const value = name === 'repo' || name === 'reponame' ? repo : (own[name] ?? values[name])
      assert.ok(value, `say in values what {${name}} may be`)
      return value
    })
  const names = /\{repo(?:name)?\}/.test(path) ? NAMES : ['atlas']
  const missing = last === undefined || /^repo/.test(last) ? [] : [filled('atlas', { [last]: 'missing' })]
  return { of: Object.fromEntries(names.map((name) => [name, filled(name)])), missing }
}

type Reply = Awaited<ReturnType<typeof exchange>>

const send = (method: string, url: string, headers: Record<string, string>): Promise<Reply> =>
  exchange(url, { method, headers: new Headers(headers) })

const REPLY_HEADERS = ['content-type', 'content-disposition', 'etag', 'accept-ranges', 'location', 'allow']

/** Compares the responses to HEAD and to GET: HEAD comes first, so that nothing of a GET helps it. */
const compare = async (url: string, headers: Record<string, string>): Promise<Reply> => {
  const head = await send('HEAD', url, headers)
  assert.equal(head.text, '', url)
  const commands = existsSync(starts) ? readFileSync(starts, 'utf8') : ''
  assert.doesNotMatch(commands, OF_BODIES, `HEAD ${url} starts git for a body`)
  const get = await send('GET', url, headers)
  for (const command of BODY_COMMANDS)
    if (existsSync(starts) && readFileSync(starts, 'utf8').includes(` ${command} `)) startedByGet.add(command)
  rmSync(starts, { force: true })
  assert.equal(head.status, get.status, url)
  for (const name of REPLY_HEADERS)
    assert.equal(head.headers.get(name), get.headers.get(name), `${name} of ${url}`)
  const length = head.headers.get('content-length')
  // Pages show how long ago something was.
  if (length !== null && get.headers.has('content-disposition'))
    assert.equal(length, get.headers.get('content-length'), url)
  return get
}

/** The commands of git whose output is the body of a response. */
const BODY_COMMANDS = ['archive', 'format-patch', 'diff-tree -p', 'cat-file blob']
const OF_BODIES = new RegExp(` (?:${BODY_COMMANDS.join('|')}) `)
/** Those that some GET has started. */
const startedByGet = new Set<string>()

/**
 * Sends HEAD and GET to paths of a route, as their owner and as nobody.
 * @returns the statuses of GET
 */
const compareAll = async (
  base: string,
  path: string,
  owner: Record<string, string>,
  query = '',
): Promise<Set<number>> => {
  const statuses = new Set<number>()
  const { of, missing } = pathsOf(path)
  for (const headers of [owner, {}])
    for (const filled of [...Object.values(of), ...missing])
      statuses.add((await compare(base + filled + query, headers)).status)
  return statuses
}

describe('A response to HEAD is that to GET without its body', () => {
  const token = () => ({ authorization: `token ${site.root.token}` })
  for (const { path, responses } of declared)
    it(`at ${path} of the API`, async () => {
      const statuses = await compareAll(site.api, path, token())
      if (Object.values(responses).includes(Streamed))
        assert.ok(statuses.has(200), `no path of ${path} has a file`)
    })

  for (const { path } of streams.filter(({ method }) => method === 'GET'))
    it(`at ${path}`, async () => {
      const statuses = await compareAll(site.base, path, token(), '?service=git-upload-pack')
      // Locks are refused for every repository.
      if (!path.endsWith('/locks')) assert.ok(statuses.has(200), `no path of ${path} has a file`)
    })

  for (const { path } of pageRoutes.filter(({ method }) => method === 'GET'))
    it(`at the page ${path}`, async () => {
      await compareAll(site.base, path, { cookie: mia.cookie, accept: 'text/html' })
    })

  it('and each command of git that HEAD must not start is one that GET starts', () => {
    assert.deepEqual([...startedByGet].sort(), BODY_COMMANDS.toSorted())
  })
})
