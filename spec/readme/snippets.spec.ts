import assert from 'node:assert/strict'
import type { ChildProcessWithoutNullStreams } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import { before, describe, it } from 'node:test'
import { fileURLToPath } from 'node:url'
import { transformSync } from 'esbuild'
import { readConfig } from '../../bin/config/config.ts'
import { PROGRAM, served } from '../bin/program.ts'
import { buildProgram } from '../support/build.ts'
import { killGroup, type Output, output, printed, run, spawnChild } from '../support/child.ts'
import { atEnd } from '../support/cleanup.ts'
import { temporaryDirectory } from '../support/folder.ts'
import { isLong, sampleOf } from '../support/long.ts'
import { lacks } from '../support/requirements.mjs'
import { waitFor } from '../support/wait-for.ts'
import { documents, snippetsOf } from './documents.ts'

const root = fileURLToPath(new URL('../../', import.meta.url))

/** A machine on which git has no identity, and makes none up. */
const withoutIdentity = {
  GIT_CONFIG_GLOBAL: '/dev/null',
  GIT_CONFIG_COUNT: '1',
  GIT_CONFIG_KEY_0: 'user.useConfigOnly',
  GIT_CONFIG_VALUE_0: 'true',
}

const ADDRESS = '127.0.0.1:3000'

/** The output of the `sh` snippets of a document, in order. */
const PRINTED: Record<string, readonly RegExp[]> = {
  'docs/getting-started.md': [
    /"full_name":"root\/first"/,
    /"public":[1-9]/,
    /^ 204$/m,
    /^true 200$/m,
    /"over":true.*"tiny"/,
  ],
  'docs/quota.md': [
    /"full_name":"root\/builds"/,
    /^true/m,
    /"over":true/,
    /"artifacts":1048576/,
    /"date":"\d{4}-\d\d-\d\d","all":/,
    /\[\{"owner":\{"id":1,"login":"root"/,
    /create rule few-builds: limit 1 MiB, \[size:assets:artifacts\]/,
    /create group everyone: \[few-builds\]/,
    /^root +size:assets:artifacts +few-builds +1\.5 MiB +1\.0 MiB +OVER by 512\.0 KiB$/m,
    /^Over quota: /m,
    /OVER by 512\.0 KiB: the rule few-builds limits size:assets:artifacts to 1\.0 MiB/,
    /update assignment root: \[everyone\] -> \[free\]/,
    /"applied":2/,
  ],
  'docs/api.md': [
    /"login":"root"/,
    /"full_name":"acme\/demo"/,
    /x-total-count: 1/i,
    /<strong>bold/,
    /"sha1"/,
  ],
  'docs/git-lfs-packages.md': [
    /"full_name":"root\/hello".*"empty":true/,
    /"full_name":"root\/hello".*"empty":false/,
    /"LFS":1048576/,
    /"name":"hello","type":"generic","version":"1.0","size":8/,
    /"title":"It breaks"/,
    /"tag_name":"v1.0"/,
  ],
  'docs/administration.md': [/[0-9a-f]{40}/, /acme uses 0 B/, /"login": ?"ada"/],
  'docs/operations.md': [],
}

/** Those of a newcomer, and those with the most requests. */
const RUN = sampleOf(PRINTED, ['docs/getting-started.md', 'docs/api.md'])

/** A folder with the command `allot`, for the PATH. */
const commandFolder = (): string => {
  const folder = temporaryDirectory()
  const command = PROGRAM.map((word) => `'${word}'`).join(' ')
  writeFileSync(join(folder, 'allot'), `#!/bin/sh\nexec ${command} "$@"\n`, { mode: 0o755 })
  return folder
}

/** Runs the `sh` snippets of a document in one shell, against a server when they name its address. */
const runShell = async (document: string): Promise<string> => {
  const snippets = snippetsOf(document, 'sh')
  const needsServer = snippets.some((code) => code.includes(ADDRESS))
  const cwd = temporaryDirectory()
  const [plan] = snippetsOf(document, 'toml')
  if (plan !== undefined) writeFileSync(join(cwd, 'quota.toml'), plan)
  const server = needsServer ? await served(['--data', temporaryDirectory()]) : undefined
  if (server !== undefined) atEnd(() => server.stop())
  const script = snippets
    .join('\n')
    .replace(/^T=….*$/gm, '')
    .replaceAll(ADDRESS, server === undefined ? ADDRESS : new URL(server.api).host)
    // A failure must end the script.
    .replaceAll('curl -s ', 'curl -sS --fail-with-body ')
  const T = server === undefined ? '' : await firstToken(server.printed)
  const env = { ...process.env, ...withoutIdentity, T, PATH: `${commandFolder()}:${process.env.PATH}` }
  const { stdout } = await run('bash', ['-c', `set -eu\n${script}`], { cwd, env })
  await server?.stop()
  return stdout
}

const firstToken = async (text: () => string): Promise<string> => {
  const found = () => /^ {2}([0-9a-f]{40})$/m.exec(text())
  await waitFor(found)
  return found()![1]!
}

describe('The sh snippets', () => {
  it('are in the documents that this spec knows', () => {
    const withSnippets = documents.filter((document) => snippetsOf(document, 'sh').length > 0)
    assert.deepEqual(withSnippets.sort(), Object.keys(PRINTED).sort())
  })

  it('print the status after each answer, since some answers are empty', () => {
    for (const document of documents)
      for (const [call] of snippetsOf(document, 'sh')
        .join('')
        .matchAll(/curl -s.*/g))
        assert.match(call, /^curl -s -w "\$W" /, document)
  })

  for (const [document, patterns] of Object.entries(RUN))
    it(`of ${document} work in their order`, {
      skip: lacks('bash', 'curl', ...(document.includes('lfs') ? ['git-lfs'] : [])),
    }, async () => {
      const text = await runShell(document)
      let rest = text
      for (const pattern of patterns) {
        const match = pattern.exec(rest)
        assert.ok(match, `${pattern} is not in the rest of:\n${text}`)
        rest = rest.slice(match.index)
      }
    })
})

/** The code before a snippet that continues an earlier one of its page. */
const CONTINUED: readonly [before: string, after: string] = [
  `import { createAllot } from 'allot'
import { memory } from 'allot/drivers/memory'
const allot = await createAllot({ driver: memory(), repositories: false })
`,
  '\nawait allot.close()\n',
]

interface TypeScriptSnippet {
  document: string
  code: string
  file: string
}

const snippets: TypeScriptSnippet[] = documents.flatMap((document) =>
  snippetsOf(document, 'ts').map((code, index) => ({
    document,
    code: /create(?:Allot|Quota)/.test(code) ? code : CONTINUED.join(code),
    file: `${document.replace(/\W/g, '-')}-${index}.ts`,
  })),
)

/** Those of README.md, and the first one of each other document. */
const firstSnippets = snippets.filter(
  ({ document }, at) => document === 'README.md' || snippets[at - 1]?.document !== document,
)

/** The output of `console.log` that a snippet states in comments at the end of lines. */
const statedOutput = (code: string): string[] =>
  [...code.matchAll(/^console\.log\(.*\) \/\/ (.*)$/gm)].map(([, text]) => text!)

/** A folder in which `allot` is the built package, and all others are those of the checkout. */
const folder = temporaryDirectory()
const LISTEN = join(folder, 'listen-on-free-port.mjs')

const createFolder = (): void => {
  const packages = join(folder, 'node_modules')
  mkdirSync(packages)
  for (const name of readdirSync(join(root, 'node_modules')))
    symlinkSync(join(root, 'node_modules', name), join(packages, name))
  symlinkSync(root, join(packages, 'allot'))
  writeFileSync(join(folder, 'package.json'), '{ "type": "module" }')
  const listen = readFileSync(new URL('listen-on-free-port.ts', import.meta.url), 'utf8')
  writeFileSync(LISTEN, transformSync(listen, { loader: 'ts' }).code)
  for (const { file, code } of snippets) {
    writeFileSync(join(folder, file), code)
    writeFileSync(join(folder, scriptOf(file)), transformSync(code, { loader: 'ts' }).code)
  }
}

/** Without types, a snippet starts in a third of the time. */
const scriptOf = (file: string): string => file.replace(/\.ts$/, '.js')

interface Running {
  child: ChildProcessWithoutNullStreams
  /** The port on which it listens; undefined when it ends before. */
  port: Promise<number | undefined>
  /** What it prints of the first administrator; undefined when it ends before. */
  authorization: Promise<string | undefined>
  ended: Promise<Output>
}

const runSnippet = (file: string, cwd = temporaryDirectory()): Running => {
  const child = spawnChild(process.execPath, ['--import', LISTEN, join(folder, scriptOf(file))], {
    cwd,
    env: { ...process.env, NODE_V8_COVERAGE: '' },
    timeout: 60_000,
  })
  child.stdin.end()
  const listening = printed(child, /listening on (\d+)\n/).then(
    ([, port]) => Number(port),
    () => undefined,
  )
  const authorization = printed(child, /Authorization: (token [0-9a-f]{40})\n/).then(
    ([, text]) => text,
    () => undefined,
  )
  return { child, port: listening, authorization, ended: output(child) }
}

describe('The ts snippets', () => {
  before(() => {
    if (process.env.ALLOT_SPEC_PROGRAM === undefined) buildProgram()
    createFolder()
  })

  if (isLong)
    it('have no type errors', async () => {
      const config = {
        extends: join(root, 'tsconfig.json'),
        compilerOptions: { noUnusedLocals: false, typeRoots: [join(root, 'node_modules/@types')] },
        include: ['*.ts'],
      }
      writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify(config))
      await run(join(root, 'node_modules/.bin/tsc'), ['-p', folder])
    })

  it('of README.md and docs/embedding.md are JavaScript as well, but for that of Next', () => {
    for (const { document, code } of snippets)
      if (/^(?:README|docs.embedding)/.test(document) && !code.includes('Promise<Response>'))
        transformSync(code, { loader: 'js' })
  })

  for (const { document, file, code } of isLong ? snippets : firstSnippets)
    it(`of ${document} run: ${file}`, async () => {
      const cwd = temporaryDirectory()
      const { child, port: listening, authorization, ended } = runSnippet(file, cwd)
      const port = await listening
      if (port === undefined) {
        const { code: exitCode, stdout, stderr } = await ended
        assert.equal(exitCode, 0, stdout + stderr)
        const lines = stdout.split('\n')
        for (const stated of statedOutput(code))
          assert.ok(lines.includes(stated), `${stated} is not in:\n${stdout}`)
        // What keeps data can be run again.
        if (code.includes("data: './")) assert.equal((await runSnippet(file, cwd).ended).code, 0)
        return
      }
      await useServer(port, code)
      if (code.includes('setUp') && code.includes("'/storage'"))
        await usePages(`http://127.0.0.1:${port}${prefixIn(code)}`, await authorization)
      killGroup(child)
      await ended
    })

  const prefixIn = (code: string) => (code.includes("'north'") ? '/north' : '')

  const useServer = async (port: number, code: string): Promise<void> => {
    if (code.includes('allot.ssh')) {
      const [greeting] = await once(connect(port, '127.0.0.1'), 'data')
      return assert.match(String(greeting), /^SSH-2\.0-allot\r\n/)
    }
    if (code.includes('OverQuotaError')) {
      const upload = async () =>
        (await fetch(`http://127.0.0.1:${port}/`, { method: 'POST', body: Buffer.alloc(1024 ** 2) })).status
      const statuses = await Promise.all(Array.from({ length: 50 }, upload))
      assert.equal(statuses.filter((status) => status === 201).length, 10)
    }
    const prefix = prefixIn(code)
    const [path, body] = code.includes('createQuota')
      ? ['/files/api/v1/user/quota', /sign in first/]
      : [`${prefix}/api/v1/version`, /"Version"/]
    const response = await fetch(`http://127.0.0.1:${port}${path}`)
    assert.match(await response.text(), body)
    if (!code.includes("'/storage'")) return
    const page = await fetch(`http://127.0.0.1:${port}${prefix}/storage`, { redirect: 'manual' })
    assert.deepEqual([page.status, page.headers.get('location')], [303, `${prefix}/storage/-/sign-in`])
  }

  /** The `html_url` of a new repository is that of its page. */
  const usePages = async (base: string, authorization = ''): Promise<void> => {
    const answer = await fetch(`${base}/api/v1/user/repos`, {
      method: 'POST',
      headers: { authorization, 'content-type': 'application/json' },
      body: JSON.stringify({ name: 'first' }),
    })
    const { html_url: url } = (await answer.json()) as { html_url: string }
    const page = await fetch(url)
    assert.deepEqual([page.status, page.headers.get('content-type')], [200, 'text/html;charset=utf-8'], url)
  }

  it('of README.md create an administrator at the first start only', async () => {
    const cwd = temporaryDirectory()
    let authorization = ''
    const userOn = async (port: number | undefined) => {
      const answer = await fetch(`http://127.0.0.1:${port}/api/v1/user`, { headers: { authorization } })
      const { login, is_admin } = (await answer.json()) as Record<string, unknown>
      return [login, is_admin]
    }
    const stop = ({ child, ended }: Running): Promise<Output> => {
      killGroup(child)
      return ended
    }

    const first = runSnippet('README-md-1.ts', cwd)
    authorization = (await printed(first.child, /Authorization: (token [0-9a-f]{40})\n/))[1]!
    assert.deepEqual(await userOn(await first.port), ['root', true])
    await stop(first)
    const second = runSnippet('README-md-1.ts', cwd)
    assert.deepEqual(await userOn(await second.port), ['root', true])
    assert.doesNotMatch((await stop(second)).stdout, /Authorization/)
  })
})

describe('The toml snippets', () => {
  it('of docs/configuration.md and docs/embedding.md are a valid configuration', () => {
    const file = join(temporaryDirectory(), 'allot.toml')
    const read = (code: string) => {
      writeFileSync(file, code)
      return readConfig(file)
    }
    const [first, ...others] = ['docs/configuration.md', 'docs/embedding.md'].flatMap((document) =>
      snippetsOf(document, 'toml').map(read),
    )
    assert.equal(first!.quota.defaultTotal, 5 * 1024 ** 3)
    assert.ok(others.some(({ pages }) => pages.css.includes('--link: ')))
  })
})
