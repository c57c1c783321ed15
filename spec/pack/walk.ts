import assert from 'node:assert/strict'
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { fileURLToPath } from 'node:url'
import { transformSync } from 'esbuild'
import { snippetsOf } from '../readme/documents.ts'
import { killGroup, output, printed, spawnChild } from '../support/child.ts'
import { createSender } from '../support/test-server.ts'
import { createPageClient } from '../web/browser.ts'
import { folder, install, pack, root, run } from './packed.ts'

/**
 * `npm run spec:pack`: what a new user does with the package alone. From an empty folder over the snippets of
 * the documents, as they stand, to a token, a repository, a rule that bites, the pages and a call of the
 * typed client.
 */
const embed = snippetsOf('README.md', 'ts')[1]!
const quota = snippetsOf('docs/quota.md', 'ts')[0]!

/** The snippet of the page about embedding that imports a package and has the pages. */
const mountOf = (name: string): string =>
  snippetsOf('docs/embedding.md', 'ts').find(
    (code) => code.includes(`from '${name}'`) && code.includes("'/storage'"),
  )!

const HOSTS: Record<string, string> = {
  'node:http': embed,
  Express: mountOf('express'),
  Fastify: mountOf('fastify'),
  Hono: mountOf('hono'),
}

/** The packages that the page about embedding installs for its snippets. */
const PACKAGES = ['express', 'fastify', 'hono', '@hono/node-server', '@types/node@20', '@types/express']

const WAYS = Object.entries(HOSTS).flatMap(([host, mount]) =>
  ['TypeScript', 'JavaScript'].map((language) => ({
    ...{ host, language, code: `${mount}\n${quota}`, name: `${host.replace(':', '-')}-${language}` },
    file: language === 'TypeScript' ? 'server.mts' : 'server.mjs',
  })),
)

const CLIENT = `import { createClient, type Schemas } from 'allot/client'
const [baseUrl = '', token] = process.argv.slice(2)
const client = createClient({ baseUrl, token })
const created = await client.POST('/user/repos', { body: { name: 'first' } })
const repository: Schemas['Repository'] | undefined = created.data
const { data: over } = await client.GET('/admin/quota/over')
console.log(repository?.full_name, over?.map(({ owner, rule }) => [owner.login, rule]).join())
`

describe('A new user of the package', () => {
  let project: string
  let preload: string

  before(async () => {
    const { tarball } = await pack()
    project = await install('walk', tarball, ...PACKAGES)
    preload = join(project, 'listen-on-free-port.mjs')
    const source = fileURLToPath(new URL('../readme/listen-on-free-port.ts', import.meta.url))
    writeFileSync(preload, transformSync(readFileSync(source, 'utf8'), { loader: 'ts' }).code)
  })
  after(() => rmSync(folder, { recursive: true }))

  it('compiles the snippets of all hosts and a call of the client in strict TypeScript', async () => {
    writeFileSync(join(project, 'client.mts'), CLIENT)
    for (const { name, file, code } of WAYS) {
      mkdirSync(join(project, name))
      writeFileSync(join(project, name, file), code)
    }
    const files = WAYS.map(({ name, file }) => join(name, file)).filter((file) => file.endsWith('.mts'))
    const strict = ['--strict', '--target', 'es2023', '--module', 'nodenext', '--types', 'node']
    const compiler = join(root, 'node_modules/typescript/bin/tsc')
    await run(process.execPath, [compiler, ...strict, 'client.mts', ...files], project)
  })

  for (const { host, language, name } of WAYS)
    it(`gets from the snippet of ${host} in ${language} to a rule that bites`, async () => {
      const cwd = join(project, name)
      const server = await startServer(cwd)
      await useEverything(server, cwd)
      await server.stop()
    })

  /** Starts the server of a folder, and waits until its last snippet has printed. */
  const startServer = async (cwd: string) => {
    const child = spawnChild(process.execPath, ['--import', preload, 'server.mjs'], { cwd })
    const ended = output(child)
    // All that it prints until then.
    const [out] = await printed(child, /[\s\S]*few-artifacts .*\n/)
    const stop = () => {
      killGroup(child)
      return ended
    }
    return { out, stop }
  }

  const useEverything = async ({ out }: { out: string }, cwd: string) => {
    const [, port] = /^listening on (\d+)$/m.exec(out)!
    const token = /^Authorization: token ([0-9a-f]{40})$/m.exec(out)![1]!
    assert.match(out, /^true\nfew-artifacts 1000 -500$/m)
    const origin = `http://127.0.0.1:${port}`
    const api = `${origin}/api/v1`
    const ask = createSender(api)
    assert.equal((await ask('GET', '/user', { token })).body.login, 'root')
    const client = await run(process.execPath, ['../client.mjs', api, token], cwd)
    assert.equal(client, 'root/first alice,few-artifacts\n')
    const clone = ['clone', '--quiet', `http://root:${token}@127.0.0.1:${port}/root/first.git`]
    await run('git', clone, cwd)
    const browser = createPageClient(`${origin}/storage`)
    assert.equal((await browser.signIn('', token)).status, 303)
    const page = await browser.get('/-/storage/alice')
    assert.match(page.text.replace(/<[^>]*>/g, ''), /Over quota by 500\u00a0B/)
  }
})
