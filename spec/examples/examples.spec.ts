import assert from 'node:assert/strict'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { fileURLToPath } from 'node:url'
import { aCheckout, git } from '../git/client.ts'
import { packageEnvironment } from '../support/built-package.ts'
import { output, printed, run, runSync, spawnChild } from '../support/child.ts'
import { temporaryDirectory } from '../support/folder.ts'
import { isLong } from '../support/long.ts'

const examples = fileURLToPath(new URL('../../examples/', import.meta.url))

/** The folder in which an example runs. */
const cwdOf = new Map<string, string>()

/**
 * Runs the command of a reader in a temporary directory. The program `tsx` itself can end before its child
 * does.
 */
const command = (file: string): [string, string[], object] => {
  const args = ['--import', import.meta.resolve('tsx'), join(examples, file)]
  const env = { ...process.env, PORT: '0', ...packageEnvironment() }
  const cwd = temporaryDirectory()
  cwdOf.set(file, cwd)
  return [process.execPath, args, { cwd, env }]
}

const files = readdirSync(examples).filter((file) => file.endsWith('.ts'))
/** All of them in the long suite; `npm run check` compiles the others. */
const started = isLong ? files : ['custom-driver.ts', 'node-http.ts', 'refuse-upload.ts', 'saas-files.ts']
const sourceOf = (file: string) => readFileSync(join(examples, file), 'utf8')
/** An example that used the folder of another program could not be run beside it, nor after it. */
const assertOwnFolder = (file: string) => {
  const cwd = cwdOf.get(file)!
  assert.deepEqual(
    readdirSync(cwd).filter((name) => name !== 'example-data'),
    [],
  )
  const folders = existsSync(join(cwd, 'example-data')) ? readdirSync(join(cwd, 'example-data')) : []
  for (const folder of folders) assert.ok(folder.startsWith(file.replace('.ts', '')), folder)
}
const serves = (file: string) => /listen\(|serve\(/.test(sourceOf(file))
const hasPages = (file: string) => sourceOf(file).includes("'/storage'")

const CURL = /try: (curl .*)\n/
const PAGES_TOO = /try: (curl .*)\nor open (.*)\n/

/**
 * Further requests that a reader would try, by example.
 * @param curl the command that the example prints
 */
const MORE: Record<string, (curl: string) => Promise<void>> = {
  'refuse-upload.ts': async (curl) => {
    const url = /http\S+/.exec(curl)![0]
    const upload = async (bytes: number, user = 'alice') => {
      const headers = { 'X-Forwarded-User': user }
      const response = await fetch(url, { method: 'POST', headers, body: 'x'.repeat(bytes) })
      return [response.status, await response.text()]
    }
    assert.deepEqual(await upload(1024), [413, 'only 1018 bytes are left\n'])
    assert.equal((await upload(1018))[0], 201)
    assert.deepEqual(await upload(1), [413, 'only 0 bytes are left\n'])
    for (const [user, bytes, fit] of [
      ['bob', 102, 10],
      ['carol', 1000, 1],
    ] as const) {
      const statuses = await Promise.all(Array.from({ length: 50 }, () => upload(bytes, user)))
      assert.equal(statuses.filter(([status]) => status === 201).length, fit)
    }
  },
  'saas-files.ts': async (curl) => {
    const { origin } = new URL(/http\S+/.exec(curl)![0])
    const upload = async (tenant: string, bytes: number) => {
      const headers = { 'X-Forwarded-User': tenant }
      const body = 'x'.repeat(bytes)
      return (await fetch(`${origin}/?name=<b>`, { method: 'POST', headers, body })).status
    }
    const page = async (tenant: string) =>
      (await fetch(origin, { headers: { 'X-Forwarded-User': tenant } })).text()
    for (const [tenant, limit, sizes] of [
      ['initech', 1024 ** 2, [104_857]],
      ['umbrella', 1024 ** 2, [1000, 150_000, 400_000]],
      ['globex', 10 * 1024 ** 2, [1024 ** 2]],
    ] as const) {
      const sent = Array.from({ length: 50 }, (_, at) => sizes[at % sizes.length]!)
      const statuses = await Promise.all(sent.map((size) => upload(tenant, size)))
      const stored = sent.filter((_, at) => statuses[at] === 201).reduce((sum, size) => sum + size, 0)
      assert.ok((await page(tenant)).includes(` ${stored} of ${limit} bytes`))
      const refused = sent.filter((_, at) => statuses[at] === 413)
      assert.ok(stored <= limit && stored + Math.min(...refused) > limit, `${tenant} stored ${stored}`)
      assert.equal(statuses.filter((status) => status === 201).length + refused.length, sent.length)
    }
    assert.match(await page('acme'), /<li>notes: 6 bytes<\/li>/)
    assert.doesNotMatch(await page('initech'), /<b>|notes/)
  },
  'own-identity.ts': async (curl) => {
    const { origin } = new URL(/http[^']+/.exec(curl)![0])
    const get = (path: string, cookie = '') =>
      fetch(origin + path, { headers: { cookie }, redirect: 'manual' })
    const settings = await get('/-/settings')
    assert.equal(settings.headers.get('location'), '/login?next=%2F-%2Fsettings')
    assert.equal((await get('/login?next=//evil.example')).headers.get('location'), '/')
    const [cookie = ''] = (await get('/login')).headers.get('set-cookie')!.split(';')
    assert.match(await (await get('/-/settings', cookie)).text(), /Sign out/)
    const post = async (path: string, body: object) => {
      const headers = { cookie, 'content-type': 'application/json' }
      const made = await fetch(origin + path, { method: 'POST', headers, body: JSON.stringify(body) })
      assert.equal(made.status, 201)
      return made.json()
    }
    await post('/api/v1/user/repos', { name: 'demo' })
    const { sha1 } = await post('/api/v1/users/alice/tokens', { name: 'git', scopes: ['write:repository'] })
    const url = `${origin.replace('//', `//alice:${sha1}@`)}/alice/demo.git`
    await git(await aCheckout(), 'push', '--quiet', url, 'main')
    await get('/logout', cookie)
    assert.equal((await get('/-/settings', cookie)).status, 303)
  },
  'tenants.ts': async (curl) => {
    const { origin } = new URL(/http\S+/.exec(curl)![0])
    const statuses = ['north/api/v1/version', 'south/storage/-/sign-in', 'west/api/v1/version'].map(
      async (path) => (await fetch(`${origin}/${path}`)).status,
    )
    assert.deepEqual(await Promise.all(statuses), [200, 200, 404])
    assert.deepEqual(readdirSync(join(cwdOf.get('tenants.ts')!, 'example-data/tenants')).sort(), [
      'north',
      'south',
    ])
  },
}

describe('The examples', () => {
  it('are in the table of their README, and nothing else is', () => {
    const rows = [...readFileSync(join(examples, 'README.md'), 'utf8').matchAll(/^\| \[`(.+?)`\]\((.+?)\)/gm)]
    const entries = readdirSync(examples).filter((name) => name !== 'README.md')
    for (const index of [1, 2]) assert.deepEqual(rows.map((row) => row[index]).sort(), entries.sort())
  })

  it('leave nothing in a checkout that would be committed or published', () => {
    const paths = ['example-data/', 'allot-0.1.0.tgz'].concat(
      ['node_modules/', 'data/', 'uploads/', 'package-lock.json'].map(
        (name) => `examples/tus-uploads/${name}`,
      ),
    )
    const ignored = runSync('git', ['check-ignore', ...paths], { cwd: join(examples, '..') })
    assert.deepEqual(ignored.trim().split('\n'), paths)
  })

  for (const [index, file] of started.filter(serves).entries())
    it(`${file} starts a server, prints a curl command and the address of its pages, which work, and ends on a signal`, async () => {
      const [tsx, args, options] = command(file)
      const child = spawnChild(tsx, args, options)
      const ended = output(child)
      const [, curl, page] = await printed(child, hasPages(file) ? PAGES_TOO : CURL)
      const { stdout } = await run('bash', ['-c', `${curl} -sf`])
      assert.match(stdout, /"Version"|"login":"alice"|^stored 6 bytes/)
      await MORE[file]?.(curl!)
      if (page !== undefined) assert.match(await (await fetch(page)).text(), /<h1>Sign in<\/h1>/)
      child.kill(index % 2 === 0 ? 'SIGINT' : 'SIGTERM')
      assert.equal((await ended).code, 0)
      assertOwnFolder(file)
    })

  const PRINTED: Record<string, RegExp> = {
    'reporting-usage.ts':
      /first.png: 600 .*\nsecond.png: 600 .*\nthird.png: refused .*\nalice uses 1200 of 1000 bytes: over quota\n/,
    'bucket-reconcile.ts':
      /^first run: 2 entries .* 1000 bytes\nsecond run: 0 .*\nafter .*: 3 entries corrected, alice uses 700 bytes\n$/,
    'only-quota.ts':
      /^(?=.*\(default total\): over quota\n)(?=.*is at the limit of default total\n).*\(paid total\): within quota\n.* uses 0 .*\n1 day /s,
    'next-route.ts': /\n200 \{"Version".*\n303 \/code\/storage\/-\/sign-in\n$/,
    'custom-driver.ts': /alice is stored in a sorted array/,
  }
  for (const file of started.filter((name) => !serves(name)))
    it(`${file} prints its result and ends`, async () => {
      const [tsx, args, options] = command(file)
      const { stdout } = await run(tsx, args, options)
      assert.match(stdout, PRINTED[file] ?? assert.fail(`PRINTED has no entry for what ${file} prints`))
      assertOwnFolder(file)
    })
})
