import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

/**
 * `npm run spec:pack`: what is published, as whoever installs it has it. It asks the registry for the dependencies, and
 * for publint and "are the types wrong", which nothing else needs.
 */
const root = fileURLToPath(new URL('../../', import.meta.url))
const folder = mkdtempSync(join(tmpdir(), 'allot-pack-'))
const project = join(folder, 'project')
const installed = join(project, 'node_modules/allot')

const PUBLINT = 'publint@0.3.25'
const ATTW = '@arethetypeswrong/cli@0.18.5'

const exec = promisify(execFile)
const run = async (command: string, args: string[], cwd = project): Promise<string> => {
  // What a run of npm tells those that it starts is not for another project.
  const env = Object.fromEntries(
    Object.entries(process.env).filter(([name]) => !name.startsWith('npm_package')),
  )
  try {
    return (await exec(command, args, { cwd, env, maxBuffer: 64 * 1024 * 1024 })).stdout
  } catch (error) {
    const { stdout, stderr } = error as { stdout: string; stderr: string }
    return assert.fail(`${command} ${args.join(' ')}\n${stdout}\n${stderr}`)
  }
}

interface Packed {
  filename: string
  files: { path: string; mode: number; size: number }[]
}

interface Manifest {
  exports: Record<string, { types: string; default: string }>
  bin: Record<string, string>
}

/** Of what "are the types wrong" tells, what an importer of ESM sees of each entry. */
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

const readme = readFileSync(join(root, 'README.md'), 'utf8')
const json = <T>(file: string): T => JSON.parse(readFileSync(file, 'utf8')) as T

/** The package that a source of the command line is from, which carries some with it. */
const carriedFrom = (source: string): string | undefined =>
  /^\.\.\/\.\.\/node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(source)?.[1]

describe('The package', () => {
  let packed: Packed
  let tarball: string

  before(async () => {
    const told = await run('npm', ['pack', '--json', '--pack-destination', folder], root)
    ;[packed] = JSON.parse(told.slice(told.indexOf('[\n'))) as [Packed]
    tarball = join(folder, packed.filename)
    mkdirSync(project)
    writeFileSync(join(project, 'package.json'), '{ "name": "host", "private": true, "type": "module" }\n')
    await run('npm', ['install', '--no-fund', '--no-audit', '--prefer-offline', tarball, '@types/node@20'])
  })
  after(() => rmSync(folder, { recursive: true }))

  it('has what is needed, and nothing else', () => {
    const paths = packed.files.map(({ path }) => path)
    for (const path of ['LICENSE', 'README.md', 'CHANGELOG.md', 'SECURITY.md', 'package.json'])
      assert.ok(paths.includes(path), path)
    const needed =
      /^dist\/(?:lib|drivers|bin|spec\/driver-spec)(?:\/.*)?\.(?:js|js\.map|d\.ts)$|\.LICENSE\.txt$/
    const rest = paths.filter((path) => !needed.test(path))
    assert.deepEqual(rest.sort(), ['CHANGELOG.md', 'LICENSE', 'README.md', 'SECURITY.md', 'package.json'])
    assert.ok(!paths.some((path) => /^dist\/bin\/.*\.d\.ts$/.test(path)), 'nobody imports the command line')
  })

  it('has a source map beside every module, with the sources in it', () => {
    for (const { path } of packed.files.filter(
      ({ path }) => path.endsWith('.js') && !path.includes('rapidoc'),
    )) {
      const { sources, sourcesContent } = json<{ sources: string[]; sourcesContent?: string[] }>(
        join(installed, `${path}.map`),
      )
      assert.equal(sourcesContent?.length, sources.length, path)
      assert.ok(
        sources.every((source) => /^\.\.\/.*\.tsx?$/.test(source) || carriedFrom(source) !== undefined),
        path,
      )
    }
  })

  it('has the licence of every package that its command line carries, and no file of them in the library', () => {
    const notices = readFileSync(join(installed, 'dist/bin/carried.LICENSE.txt'), 'utf8')
    const carried = packed.files
      .filter(({ path }) => path.endsWith('.map'))
      .flatMap(({ path }) =>
        json<{ sources: string[] }>(join(installed, path)).sources.map((source) => ({ path, source })),
      )
      .filter(({ source }) => carriedFrom(source) !== undefined)
    assert.ok(carried.length > 0)
    for (const { path, source } of carried) {
      assert.ok(path.startsWith('dist/bin/'), path)
      assert.ok(
        notices.includes(`\n${carriedFrom(source)} `) || notices.startsWith(`${carriedFrom(source)} `),
        source,
      )
    }
  })

  it('depends on what its manifest says, and on nothing that only this checkout has', async () => {
    const { exports } = json<Manifest>(join(installed, 'package.json'))
    const names = Object.keys(exports).filter((name) => name !== './driver-spec')
    const script = names.map((name) => `await import('allot${name.slice(1)}')`).join('\n')
    await run(process.execPath, ['--input-type=module', '--eval', script])
    for (const { types, default: built } of Object.values(exports))
      assert.ok(existsSync(join(installed, types)) && existsSync(join(installed, built)))
  })

  it('is nothing that publint or "are the types wrong" find fault with', async () => {
    const [lint, types] = await Promise.all([
      run('npx', ['--yes', PUBLINT, '--strict', tarball]),
      // It ends with a failure for a fault in what this profile asks for: ESM alone, as nothing else is offered.
      // As JSON, since what it prints for people goes by the width of a terminal and by what it takes for one.
      run('npx', ['--yes', ATTW, tarball, '--profile', 'esm-only', '--format', 'json']),
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

  it("runs the README's host, which type-checks, too", async () => {
    const [, code] = /```ts\n([\s\S]*?createServer[\s\S]*?)```/.exec(readme)!
    writeFileSync(join(project, 'host.ts'), code!)
    const tsc = join(root, 'node_modules/typescript/bin/tsc')
    const strict = ['--strict', '--target', 'es2023', '--module', 'nodenext', '--noEmit', '--types', 'node']
    await run(process.execPath, [tsc, ...strict, 'host.ts'])
    const served = code!.replace(
      'createServer(allot.handler).listen(3000)',
      'const server = createServer(allot.handler).listen(0)',
    )
    assert.notEqual(served, code)
    const asked = `
import { once } from 'node:events'
if (!server.listening) await once(server, 'listening')
const answer = await fetch(\`http://127.0.0.1:\${server.address().port}/api/v1/version\`)
console.log((await answer.json()).Version)
server.closeAllConnections()
server.close()
await allot.close()
`
    writeFileSync(join(project, 'host.mjs'), served + asked)
    const { version } = json<{ version: string }>(join(installed, 'package.json'))
    assert.equal((await run(process.execPath, ['host.mjs'])).trim().split('\n').at(-1), version)
  })

  it('has the command line that the documents show', async () => {
    const program = join(project, 'node_modules/.bin/allot')
    const data = ['--data', join(folder, 'data')]
    const secret = (await run(program, ['user', 'add', 'ci', '--token', ...data])).trim()
    assert.match(secret, /^[0-9a-f]{40}$/)
    assert.match(
      await run(program, ['quota', 'show', 'ci', ...data]),
      /^ci uses 0 B, and nothing limits it$/m,
    )
    const { bin } = json<Manifest>(join(installed, 'package.json'))
    const pattern = '--test-name-pattern=quota.md'
    const env = { ...process.env, ALLOT_PROGRAM: join(installed, bin.allot!) }
    const spec = ['--import', 'tsx', '--test', pattern, 'spec/readme/snippets.spec.ts']
    const { stdout } = await exec(process.execPath, spec, { cwd: root, env: withoutRunner(env) })
    assert.match(stdout, /^# pass [1-9]/m, stdout)
  })
})

/** A test that starts tests is told of by its own runner otherwise. */
const withoutRunner = ({ NODE_TEST_CONTEXT: _, ...env }: NodeJS.ProcessEnv): NodeJS.ProcessEnv => env
