import assert from 'node:assert/strict'
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { exec, folder, install, json, type Packed, pack, root, run, sizeOf } from './packed.ts'

/**
 * `npm run spec:pack`: the published package. It gets the dependencies from the registry, and publint and
 * "are the types wrong", which no other spec needs. walk.ts follows the README with it.
 */
const project = join(folder, 'project')
const installed = join(project, 'node_modules/allot')

/** Optional peer dependencies of a server with every feature. */
const OPTIONAL = ['pg', 'prom-client']

const PUBLINT = 'publint@0.3.25'
const ATTW = '@arethetypeswrong/cli@0.18.5'

interface Manifest {
  exports: Record<string, { types: string; default: string }>
  bin: Record<string, string>
}

/** The result of "are the types wrong" for importers of ESM, by entry. */
interface Types {
  analysis: {
    entrypoints: Record<
      string,
      {
        resolutions: {
          'node16-esm': { resolution?: { isTypeScript: boolean }; visibleProblems: number[] }
        }
      }
    >
  }
}

/** The package that a bundled source is from; undefined for the project's own. */
const bundledFrom = (source: string): string | undefined =>
  /^\.\.\/\.\.\/node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(source)?.[1]

/** Paths of the modules in the package, without scripts for browsers, which are published as they are. */
const modulesOf = ({ files }: Packed): string[] =>
  files.map(({ path }) => path).filter((path) => /(?<!\.min|\/pages-script)\.js$/.test(path))

describe('The package', () => {
  let packed: Packed
  let tarball: string

  before(async () => {
    ;({ tarball, ...packed } = await pack())
    await install('project', tarball, '@types/node@20', ...OPTIONAL)
  })
  after(() => rmSync(folder, { recursive: true }))

  it('has the files that it needs, and no others', () => {
    const paths = packed.files.map(({ path }) => path)
    for (const path of ['LICENSE', 'README.md', 'CHANGELOG.md', 'SECURITY.md', 'package.json'])
      assert.ok(paths.includes(path), path)
    const needed =
      /^dist\/(?:lib|drivers|bin|spec\/driver-spec)(?:\/.*)?\.(?:js|js\.map|d\.ts)$|\.LICENSE\.txt$|licenses\.json\.br$|^dist\/reference\.md$|^docs\/.*\.(?:md|svg|png)$|^examples\//
    const rest = paths.filter((path) => !needed.test(path))
    assert.deepEqual(rest.sort(), [
      'CHANGELOG.md',
      'CONTRIBUTING.md',
      'LICENSE',
      'README.md',
      'SECURITY.md',
      'package.json',
    ])
    assert.ok(
      !paths.some((path) => /^dist\/bin\/.*\.d\.ts$/.test(path)),
      'declarations of the command line are not needed',
    )
  })

  it('has a source map beside every module, with the sources in it', () => {
    for (const path of modulesOf(packed)) {
      const { sources, sourcesContent } = json<{ sources: string[]; sourcesContent?: string[] }>(
        join(installed, `${path}.map`),
      )
      assert.equal(sourcesContent?.length, sources.length, path)
      assert.ok(
        sources.every((source) => /^\.\.\/.*\.tsx?$/.test(source) || bundledFrom(source) !== undefined),
        path,
      )
    }
  })

  it('has short lines in every module, since Node prints the line of an error that is not caught', () => {
    for (const path of modulesOf(packed))
      for (const line of readFileSync(join(installed, path), 'utf8').split('\n'))
        assert.ok(line.length < 1000, path)
  })

  it('has the license of every bundled package', () => {
    const notices = readFileSync(join(installed, 'dist/bundled.LICENSE.txt'), 'utf8')
    const bundled = packed.files
      .filter(({ path }) => path.endsWith('.map'))
      .flatMap(({ path }) => json<{ sources: string[] }>(join(installed, path)).sources.map(bundledFrom))
      .filter((name) => name !== undefined)
    assert.notEqual(bundled.length, 0)
    for (const name of new Set(bundled))
      assert.ok(notices.includes(`\n${name} `) || notices.startsWith(`${name} `), name)
    const viewer = readFileSync(join(installed, 'dist/lib/openapi-explorer.min.js.LICENSE.txt'), 'utf8')
    for (const name of ['openapi-explorer', 'openapi-resolver', 'lit', 'marked', 'prismjs'])
      assert.match(viewer, new RegExp(`^${name} \\d`, 'm'))
  })

  it('takes less than 60 MB with its dependencies, without the optional ones', async () => {
    const plain = await install('plain', tarball)
    const size = sizeOf(join(plain, 'node_modules'))
    console.log(`installed: ${(size / 1e6).toFixed(1)} MB`)
    assert.ok(size < 60_000_000, `${size} bytes`)
    assert.deepEqual(
      OPTIONAL.filter((name) => existsSync(join(plain, 'node_modules', name))),
      [],
    )
    const script = `
await import('allot/drivers/postgres').then(() => console.log('no error'), (error) => console.log(error.message))
`
    const printed = await run(process.execPath, ['--input-type=module', '--eval', script], plain)
    assert.deepEqual(printed.trim().split('\n'), [
      'PostgreSQL stores need the package pg, which is not installed: npm install pg',
    ])
    const config = join(plain, 'allot.toml')
    writeFileSync(config, '[server]\nmetrics = "token"\n')
    const serve = ['serve', '--data', join(folder, 'plain-data'), '--port', '0', '--config', config]
    await assert.rejects(exec(join(plain, 'node_modules/.bin/allot'), serve), {
      stderr:
        'allot: metrics need the package prom-client, which is not installed: npm install prom-client\n',
    })
  })

  // How long that takes depends on the machine: `npm run bench -- --only start` measures it. What is loaded
  // does not.
  it('imports without loading much more than it needs, also with require()', async () => {
    const measured = `
import { Session } from 'node:inspector'
const session = new Session()
session.connect()
const loaded = []
session.on('Debugger.scriptParsed', ({ params }) => loaded.push(params))
session.post('Debugger.enable')
loaded.length = 0
await import('allot')
const own = loaded.filter(({ url }) => url.startsWith('file:'))
console.log(own.length, own.reduce((sum, { length }) => sum + length, 0))
`
    const printed = await run(process.execPath, ['--input-type=module', '--eval', measured], project)
    console.log(`import: files and bytes ${printed}`)
    const [files, bytes] = printed.split(' ').map(Number) as [number, number]
    assert.ok(files > 10 && files < 90, `${files} files`)
    assert.ok(bytes > 500_000 && bytes < 1_200_000, `${bytes} bytes`)
    const required = "console.log(typeof require('allot').createAllot)"
    const flags = process.allowedNodeEnvironmentFlags.has('--experimental-require-module')
    if (flags)
      assert.match(
        await run(process.execPath, ['--no-warnings', '--input-type=commonjs', '--eval', required], project),
        /^function/,
      )
  })

  it('imports with the dependencies of its manifest alone', async () => {
    const { exports } = json<Manifest>(join(installed, 'package.json'))
    const names = Object.keys(exports).filter((name) => name !== './driver-spec')
    const script = names.map((name) => `await import('allot${name.slice(1)}')`).join('\n')
    await run(process.execPath, ['--input-type=module', '--eval', script], project)
    for (const { types, default: built } of Object.values(exports))
      assert.ok(existsSync(join(installed, types)) && existsSync(join(installed, built)))
  })

  it('has every file that its documents link to', () => {
    const texts = packed.files.map(({ path }) => path).filter((path) => path.endsWith('.md'))
    for (const path of texts) {
      const text = readFileSync(join(installed, path), 'utf8').replaceAll(/```[\s\S]*?```|`[^`\n]*`/g, '')
      for (const [, target] of text.matchAll(/\]\(([^()\s#]+)(?:#[^()\s]*)?\)/g))
        if (!/^https?:/.test(target!))
          assert.ok(existsSync(join(installed, dirname(path), target!)), `${path}: ${target}`)
    }
  })

  it('is loaded by CommonJS modules in TypeScript as its documents say', async () => {
    const [, open] = /## CommonJS[\s\S]*?```typescript\n([\s\S]*?)```/.exec(
      readFileSync(join(root, 'docs/embedding.md'), 'utf8'),
    )!
    writeFileSync(join(project, 'dynamic.cts'), `${open}void open().then((allot) => allot.close())\n`)
    writeFileSync(join(project, 'static.cts'), "import { createAllot } from 'allot'\nvoid createAllot\n")
    const compiler = join(root, 'node_modules/typescript/bin/tsc')
    const strict = ['--strict', '--target', 'es2023', '--types', 'node']
    const compile = (module: string, file: string) =>
      exec(process.execPath, [compiler, ...strict, '--module', module, file], { cwd: project })
    await compile('node16', 'dynamic.cts')
    await run(process.execPath, ['dynamic.cjs'], project)
    await compile('nodenext', 'static.cts')
    await assert.rejects(compile('node16', 'static.cts'), { stdout: /error TS1479/ })
  })

  it('passes publint and "are the types wrong"', async () => {
    const [lint, types] = await Promise.all([
      run('npx', ['--yes', PUBLINT, '--strict', tarball], project),
      // The package is ESM only. JSON, since the table for people depends on the width of a terminal.
      run('npx', ['--yes', ATTW, tarball, '--profile', 'esm-only', '--format', 'json'], project),
    ])
    assert.match(lint, /All good!/)
    const { entrypoints } = (JSON.parse(types) as Types).analysis
    for (const [name, { resolutions }] of Object.entries(entrypoints)) {
      const { resolution, visibleProblems } = resolutions['node16-esm']
      assert.ok(resolution?.isTypeScript, name)
      assert.deepEqual(visibleProblems, [], name)
    }
    assert.deepEqual(
      Object.keys(entrypoints),
      Object.keys(json<Manifest>(join(installed, 'package.json')).exports),
    )
  })

  it('has a command line that runs the snippets of the documents', async () => {
    const program = join(project, 'node_modules/.bin/allot')
    const data = ['--data', join(folder, 'data')]
    const secret = (await run(program, ['user', 'add', 'ci', '--token', ...data], project)).trim()
    assert.match(secret, /^[0-9a-f]{40}$/)
    assert.match(
      await run(program, ['quota', 'show', 'ci', ...data], project),
      /^ci uses 0 B, and nothing limits it$/m,
    )
    const { bin } = json<Manifest>(join(installed, 'package.json'))
    const pattern = '--test-name-pattern=quota.md'
    const env = { ...process.env, ALLOT_SPEC_LONG: '1', ALLOT_SPEC_PROGRAM: join(installed, bin.allot!) }
    const spec = ['--import', 'tsx', '--test', pattern, 'spec/readme/snippets.spec.ts']
    const { stdout } = await exec(process.execPath, spec, { cwd: root, env: withoutRunner(env) })
    assert.match(stdout, /^# pass [1-9]/m, stdout)
  })
})

/** Without this variable the tests that a test starts report on their own. */
const withoutRunner = ({ NODE_TEST_CONTEXT: _, ...env }: NodeJS.ProcessEnv): NodeJS.ProcessEnv => env
