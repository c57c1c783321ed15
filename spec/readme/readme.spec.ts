import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { served } from '../bin/program.ts'
import { hasGitLfs } from '../lfs/client.ts'
import { temporaryDirectory } from '../support/folder.ts'
import { tableInReadme, tables } from './options.ts'

const root = fileURLToPath(new URL('../../', import.meta.url))
const readme = readFileSync(join(root, 'README.md'), 'utf8')
const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
  scripts: Record<string, string>
  dependencies: Record<string, string>
}

const snippets = (language: string) =>
  [...readme.matchAll(new RegExp(`\`\`\`${language}\\n([\\s\\S]*?)\`\`\``, 'g'))].map(([, code]) => code!)

const exec = promisify(execFile)

/** git-lfs may be missing, except in CI. */
const withLfs = process.env.CI === 'true' || hasGitLfs()

/** The identity that git needs for commits. */
const author = {
  GIT_AUTHOR_NAME: 'Ada',
  GIT_AUTHOR_EMAIL: 'ada@example.test',
  GIT_COMMITTER_NAME: 'Ada',
  GIT_COMMITTER_EMAIL: 'ada@example.test',
}

describe('The README', () => {
  it('has the tables of options that the schemas describe', () => {
    for (const [name, table] of Object.entries(tables))
      assert.equal(tableInReadme(name), table(), 'run: npx tsx spec/readme/options.ts')
  })

  it('gives a reason for every dependency', () => {
    const section = readme.slice(readme.indexOf('## Dependencies'))
    const named = [...section.slice(0, section.indexOf('\n## ', 3)).matchAll(/^\| `([^`]+)` \|/gm)].map(
      ([, name]) => name,
    )
    assert.deepEqual(named.sort(), Object.keys(manifest.dependencies).sort())
  })

  it('and SECURITY.md name only existing options', () => {
    const known = Object.values(tables)
      .map((table) => table())
      .join('\n')
    const security = readFileSync(join(root, 'SECURITY.md'), 'utf8')
    const named = [...security.matchAll(/`([a-z]+(?:[A-Z][a-zA-Z]*|\.[a-z][a-zA-Z]*))`/g)].map(
      ([, name]) => name!,
    )
    const exported = ['createLimitedServer', 'allot.fetch']
    for (const name of named)
      assert.ok(exported.includes(name) || known.includes(`\`${name}\``), `unknown option ${name}`)
    assert.ok(named.length > 4)
  })

  it('names only existing scripts', () => {
    for (const [, script] of readme.matchAll(/npm run ([\w:-]+)/g))
      assert.ok(script! in manifest.scripts, script)
  })

  it('shows code that embeds Allot', async () => {
    const [code] = snippets('ts').filter((snippet) => snippet.includes('createServer'))
    assert.ok(code)
    // Inside the checkout, so that package names resolve as for a reader.
    const folder = join(root, 'examples')
    const file = join(folder, `.readme-${process.pid}.ts`)
    const data = temporaryDirectory()
    const probe = `
const listening = await new Promise((resolve) => server.on('listening', () => resolve(server.address().port)))
console.log(await (await fetch(\`http://127.0.0.1:\${listening}/api/v1/version\`)).text())
server.close()
await allot.close()
`
    const runnable = code
      .replace("level('./data')", `level(${JSON.stringify(data)})`)
      .replace(
        /createServer\(allot\.handler\)\.listen\(3000\)/,
        "const server = createServer(allot.handler).listen(0, '127.0.0.1')",
      )
    mkdirSync(folder, { recursive: true })
    writeFileSync(file, runnable + probe)
    try {
      const { stdout } = await exec(
        join(root, 'node_modules/.bin/tsx'),
        ['--tsconfig', join(root, 'tsconfig.json'), file],
        { cwd: data },
      )
      assert.match(stdout, /"Version"/)
    } finally {
      await exec('rm', ['-f', file])
    }
  })

  it('shows requests that work, in their order', async () => {
    const server = await served(['--data', temporaryDirectory()])
    try {
      while (!/^ {2}[0-9a-f]{40}$/m.test(server.printed()))
        await new Promise((resolve) => setTimeout(resolve, 25))
      const [, token] = /^ {2}([0-9a-f]{40})$/m.exec(server.printed())!
      const session = snippets('sh')
        .filter((snippet) => snippet.includes('curl') && (withLfs || !snippet.includes(' lfs ')))
        .join('\n')
      const script = `set -eu\n${session
        .replace(/^T=.*$/gm, '')
        .replaceAll('127.0.0.1:3000', new URL(server.api).host)
        .replaceAll('curl -s', 'curl -sS --fail-with-body')}`
      if (!withLfs) console.log('# without the LFS snippets, since git-lfs is not installed')
      const { stdout } = await exec('bash', ['-c', script], {
        env: { ...process.env, ...author, T: token! },
        cwd: temporaryDirectory(),
      })
      assert.match(stdout, /"full_name":"acme\/demo"/)
      assert.match(stdout, /"applied":2/)
      assert.match(stdout, /"artifacts":1048576/)
      assert.match(stdout, /"full_name":"root\/hello"[^}]*"empty":false/s)
      const used = [...stdout.matchAll(/"repos":\{"public":(\d+)/g)].map(([, bytes]) => Number(bytes))
      assert.ok(used[1]! > used[0]! + 300, 'a push is counted')
      if (withLfs) assert.match(stdout, /"LFS":1048576/)
      assert.match(stdout, /"name":"hello","type":"generic","version":"1.0","size":8/)
    } finally {
      await server.stop()
    }
  })
})
