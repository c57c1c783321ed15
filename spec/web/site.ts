import { randomBytes } from 'node:crypto'
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { mock } from 'node:test'
import type { AllotOptions } from '../../lib/index.ts'
import { SEARCH_MS } from '../../lib/repositories/contents/last-commits.ts'
import { DEADLINE_MS } from '../../lib/web/source/highlighter.ts'
import { POINTER, SUBMODULE_COMMIT } from '../api/contents/repository.ts'
import { aCheckout, git, urlFor } from '../git/client.ts'
import { png } from '../support/images.ts'
import { mountPages, type Person, start, type TestServer } from '../support/test-server.ts'
import { type PageServer, withBrowser } from './browser.ts'
import { MARKUP, PASSWORD } from './fixture.ts'

export const LONG = 'a-repository-with-a-rather-long-name-that-goes-on-and-on-for-a-narrow-screen'

/** The people and repositories of the site, for the specs. */
export interface Site extends PageServer {
  readonly mia: Person
  readonly noa: Person
  /** Ids of commits of `mia/atlas`: the first, and that of main. */
  readonly commits: { readonly first: string; readonly main: string }
}

/** Long enough for a machine that is busy with others. */
const PATIENT_MS = 60_000

/**
 * Extends the deadlines of what a page does without: the colors of a file, and the last commits of its
 * entries. Then it has the same content on every machine. Other timers run as always.
 */
const extendDeadlines = (): void => {
  const { setTimeout } = globalThis
  const extended = (run: () => void, delay?: number, ...args: []) =>
    setTimeout(run, delay === DEADLINE_MS || delay === SEARCH_MS ? PATIENT_MS : delay, ...args)
  mock.method(globalThis, 'setTimeout', extended as typeof setTimeout)
}

/**
 * Starts a server with people and repositories: of mia, whose name for people is written from right to left,
 * and of the organization guild, which has a private repository. noa can read what is public only.
 */
export const startSite = async (options: Partial<AllotOptions> = {}): Promise<Site> => {
  extendDeadlines()
  const server = await start({ ssh: { port: 2222 }, ...options }, { mount: mountPages })
  const { hosting } = server.allot
  const mia = await server.person('mia', { password: PASSWORD })
  const noa = await server.person('noa', { password: PASSWORD })
  await hosting.accounts.edit(mia.id, {
    fullName: 'מיה הרצליה',
    description: `Draws maps. ${MARKUP}`,
    website: 'https://example.org/maps',
    location: 'חיפה',
  })
  const made = async (path: string, body: object): Promise<void> => {
    const { status, text } = await server.as(mia, 'POST', path, body)
    if (status >= 300) throw new Error(`${path}: ${status} ${text}`)
  }
  await made('/orgs', { username: 'guild', full_name: 'Guild of mapmakers', description: 'Shared maps.' })
  for (const [name, more] of Object.entries({
    atlas: { description: 'An atlas of small places, with the tools that draw it.' },
    empty: {},
    [LONG]: { description: MARKUP },
  }))
    await made('/user/repos', { name, ...more })
  await made('/user/repos', { name: 'diary', private: true, description: 'Nothing for others.' })
  await made('/orgs/guild/repos', { name: 'plans', private: true })
  const commits = await pushAtlas(server, mia)
  await addContent(server, mia)
  return { ...withBrowser(server), mia, noa, commits }
}

const README = `# Atlas

A small atlas, drawn by [a program](src/draw.ts). See also [the guide](guide/install.md#install).

![The logo](guide/logo.png) ![Elsewhere](https://example.org/badge.png)

| place | people |
| --- | ---: |
| North harbor | 1,204 |
| Old mill | 312 |

> [!NOTE]
> The scale is 1:25,000.

- [x] coasts
- [ ] rivers

\`\`\`ts
draw({ place: 'North harbor', scale: 25_000 })
\`\`\`

Thanks to @noa. <script>alert(1)</script>
`

const DRAW = `import { readFile } from 'node:fs/promises'

/** Draws one place of the atlas. */
export const draw = async ({ place, scale }: { place: string; scale: number }): Promise<string> => {
  // ${MARKUP}
  const points = JSON.parse(await readFile(\`places/\${place}.json\`, 'utf8')) as [x: number, y: number][]
  if (points.length === 0) throw new Error('there is nothing to draw')
  return points.map(([x, y]) => \`L\${(x / scale).toFixed(2)} \${(y / scale).toFixed(2)}\`).join(' ')
}
`

const pushAtlas = async (server: TestServer, mia: Person): Promise<Site['commits']> => {
  const checkout = await aCheckout({ 'README.md': '# Atlas\n' })
  const first = await git(checkout, 'rev-parse', 'HEAD')
  for (const folder of ['src', 'guide', 'places']) mkdirSync(join(checkout, folder))
  const add = (file: string, content: string | Uint8Array) => writeFileSync(join(checkout, file), content)
  add('README.md', README)
  add('src/draw.ts', DRAW)
  add('src/page.html', `<!doctype html>${MARKUP}`)
  add('src/long.js', Array.from({ length: 9000 }, (_, line) => `const value${line} = ${line} * 2\n`).join(''))
  add('src/one-line.js', `const all = [${'0, '.repeat(40_000)}]\n`)
  add('guide/install.md', `# Install\n\n${'A paragraph about maps, with **bold** words. '.repeat(12)}\n`)
  add('guide/logo.png', png(96, 48))
  add('guide/drawing.svg', `<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>`)
  add('guide/مقدمة.txt', 'نص من اليمين إلى اليسار\n')
  add('data.bin', randomBytes(3000))
  add('blank', '')
  add('map.psd', POINTER('a'.repeat(64), 5_000_000))
  for (let place = 0; place < 230; place++) add(`places/place-${String(place).padStart(3, '0')}.json`, '[]\n')
  symlinkSync('src/draw.ts', join(checkout, 'draw'))
  add('.gitmodules', '[submodule "lib"]\n\tpath = lib\n\turl = https://code.example.org/mia/lib.git\n')
  await git(checkout, 'add', '-A')
  await git(checkout, 'update-index', '--add', '--cacheinfo', `160000,${SUBMODULE_COMMIT},lib`)
  await git(checkout, 'commit', '--quiet', '-m', `Draw the first places\n\nThe scale follows. ${MARKUP}`)
  await git(checkout, 'tag', '-a', 'v1.0', '-m', 'Version 1')
  add('src/draw.ts', DRAW.replace('toFixed(2)', 'toFixed(3)'))
  add('guide/install.md', '# Install\n\nRun `npm install`.\n')
  await git(checkout, 'add', 'src', 'guide')
  await git(checkout, 'commit', '--quiet', '-m', 'Draw finer lines')
  await git(checkout, 'branch', 'feature/rivers', first)
  await git(checkout, 'push', '--quiet', urlFor(server, 'mia/atlas', mia), 'main', 'feature/rivers', '--tags')
  return { first, main: await git(checkout, 'rev-parse', 'HEAD') }
}

/** Issues with comments, releases with files, and packages. */
const addContent = async ({ allot }: TestServer, mia: Person): Promise<void> => {
  const { issues, comments, releases, attachments, packages } = allot.hosting
  const viewer = { id: mia.id, admin: false }
  const atlas = { owner: 'mia', name: 'atlas' }
  const file = (name: string) => ({ name, content: Readable.from([Buffer.from(MARKUP)]), maxSize: 5000 })
  await issues.create(viewer, atlas, { title: 'The coast is missing', body: 'See [the code](src/draw.ts).' })
  await issues.create(viewer, atlas, { title: MARKUP, body: MARKUP, closed: true })
  await attachments.add(viewer, atlas, { issue: 1 }, file('screen <1>.png'))
  for (const body of ['It is **drawn** in #2.', MARKUP, 'نص من اليمين إلى اليسار'])
    await comments.create(viewer, atlas, 1, body)
  const release = { tag: 'v1.0', name: 'The first edition', body: 'With all places of the north.' }
  const made = await releases.create(viewer, atlas, release)
  await attachments.add(viewer, atlas, { release: made!.release.id }, file('atlas-1.0.pdf'))
  await releases.create(viewer, atlas, { tag: 'v2.0', name: 'Draft', draft: true })
  const version = { owner: 'mia', type: 'generic', name: 'atlas-tools', version: '1.0.0' }
  await packages.add(viewer, version, 'tools.tar.gz', Readable.from([Buffer.from(MARKUP)]), undefined)
  const secret = await issues.create(viewer, { owner: 'mia', name: 'diary' }, { title: 'Secret' })
  if (secret === undefined) throw new Error('the private issue was not made')
}
