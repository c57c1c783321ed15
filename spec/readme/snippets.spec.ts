import assert from 'node:assert/strict'
import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { symlinkSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import { before, describe, it } from 'node:test'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { transformSync } from 'esbuild'
import { readConfig } from '../../bin/config/config.ts'
import { PROGRAM, served } from '../bin/program.ts'
import { hasGitLfs } from '../lfs/client.ts'
import { packageEnvironment } from '../support/built-package.ts'
import { temporaryDirectory } from '../support/folder.ts'
import { documents, snippetsOf } from './documents.ts'

const root = fileURLToPath(new URL('../../', import.meta.url))
const exec = promisify(execFile)

/** git-lfs may be missing, except in CI. */
const withLfs = process.env.CI === 'true' || hasGitLfs()

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
    ...(withLfs ? [/"LFS":1048576/] : []),
    /"name":"hello","type":"generic","version":"1.0","size":8/,
    /"title":"It breaks"/,
    /"tag_name":"v1.0"/,
  ],
  'docs/administration.md': [/[0-9a-f]{40}/, /acme uses 0 B/, /"login": ?"ada"/],
  'docs/operations.md': [],
}

/** A folder with the command `allot`, for the PATH. */
const commandFolder = (): string => {
  const folder = temporaryDirectory()
  const command = PROGRAM.map((word) => `'${word}'`).join(' ')
  writeFileSync(join(folder, 'allot'), `#!/bin/sh\nexec ${command} "$@"\n`, { mode: 0o755 })
  return folder
}

/** Runs the `sh` snippets of a document in one shell, against a server when they name its address. */
const runShell = async (document: string): Promise<string> => {
  const snippets = snippetsOf(document, 'sh').filter((code) => withLfs || !code.includes(' lfs '))
  const needsServer = snippets.some((code) => code.includes(ADDRESS))
  const cwd = temporaryDirectory()
  const [plan] = snippetsOf(document, 'toml')
  if (plan !== undefined) writeFileSync(join(cwd, 'quota.toml'), plan)
  const server = needsServer ? await served(['--data', temporaryDirectory()]) : undefined
  try {
    const script = snippets
      .join('\n')
      .replace(/^T=….*$/gm, '')
      .replaceAll(ADDRESS, server === undefined ? ADDRESS : new URL(server.api).host)
      // A failure must end the script.
      .replaceAll('curl -s ', 'curl -sS --fail-with-body ')
    const T = server === undefined ? '' : await firstToken(server.printed)
    const env = { ...process.env, ...withoutIdentity, T, PATH: `${commandFolder()}:${process.env.PATH}` }
    const { stdout } = await exec('bash', ['-c', `set -eu\n${script}`], { cwd, env })
    return stdout
  } finally {
    await server?.stop()
  }
}

const firstToken = async (printed: () => string): Promise<string> => {
  for (;;) {
    const [, token] = /^ {2}([0-9a-f]{40})$/m.exec(printed()) ?? []
    if (token !== undefined) return token
    await new Promise((resolve) => setTimeout(resolve, 25))
  }
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

  for (const [document, patterns] of Object.entries(PRINTED))
    it(`of ${document} work in their order`, async () => {
      const printed = await runShell(document)
      let rest = printed
      for (const pattern of patterns) {
        const match = pattern.exec(rest)
        assert.ok(match, `${pattern} is not in the rest of:\n${printed}`)
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

/** The output of `console.log` that a snippet states in comments at the end of lines. */
const statedOutput = (code: string): string[] =>
  [...code.matchAll(/^console\.log\(.*\) \/\/ (.*)$/gm)].map(([, text]) => text!)

const runTypeScript = (folder: string, file: string, cwd = temporaryDirectory()): ChildProcess =>
  spawn(
    process.execPath,
    [
      ...['--import', import.meta.resolve('tsx')],
      ...['--import', new URL('listen-on-free-port.ts', import.meta.url).href],
      join(folder, file),
    ],
    {
      cwd,
      env: { ...process.env, ...packageEnvironment() },
      stdio: ['ignore', 'pipe', 'inherit'],
    },
  )

/** Resolves when the snippet ends, or with the port on which it listens. */
const outcomeOf = (child: ChildProcess): Promise<{ port?: number; code?: number | null; out: string }> =>
  new Promise((resolve) => {
    let out = ''
    child.stdout!.on('data', (chunk: Buffer) => {
      out += chunk.toString()
      const [, port] = /listening on (\d+)\n/.exec(out) ?? []
      if (port !== undefined) resolve({ port: Number(port), out })
    })
    child.on('close', (code) => resolve({ code, out }))
  })

describe('The ts snippets', () => {
  const folder = temporaryDirectory()

  before(() => {
    // Package names resolve as in the checkout.
    symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'))
    writeFileSync(join(folder, 'package.json'), '{ "type": "module" }')
    for (const { file, code } of snippets) writeFileSync(join(folder, file), code)
  })

  it('have no type errors', async () => {
    const config = {
      extends: join(root, 'tsconfig.json'),
      compilerOptions: { noUnusedLocals: false, typeRoots: [join(root, 'node_modules/@types')] },
      include: ['*.ts'],
    }
    writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify(config))
    await exec(join(root, 'node_modules/.bin/tsc'), ['-p', folder]).catch((error: { stdout: string }) =>
      assert.fail(error.stdout),
    )
  })

  it('of README.md and docs/embedding.md are JavaScript as well, but for that of Next', () => {
    for (const { document, code } of snippets)
      if (/^(?:README|docs.embedding)/.test(document) && !code.includes('Promise<Response>'))
        transformSync(code, { loader: 'js' })
  })

  for (const { document, file, code } of snippets)
    it(`of ${document} run: ${file}`, async () => {
      const cwd = temporaryDirectory()
      const child = runTypeScript(folder, file, cwd)
      const ended = new Promise((resolve) => child.on('close', resolve))
      try {
        const { port, code: exitCode, out } = await outcomeOf(child)
        if (port === undefined) {
          assert.equal(exitCode, 0, out)
          const lines = out.split('\n')
          for (const stated of statedOutput(code))
            assert.ok(lines.includes(stated), `${stated} is not in:\n${out}`)
          // What keeps data can be run again.
          if (code.includes("data: './"))
            assert.equal((await outcomeOf(runTypeScript(folder, file, cwd))).code, 0)
          return
        }
        if (code.includes('allot.ssh')) {
          const [greeting] = await once(connect(port, '127.0.0.1'), 'data')
          return assert.match(String(greeting), /^SSH-2\.0-allot\r\n/)
        }
        const prefix = code.includes("'north'") ? '/north' : ''
        const [path, body] = code.includes('createQuota')
          ? ['/files/api/v1/user/quota', /token is required/]
          : [`${prefix}/api/v1/version`, /"Version"/]
        const response = await fetch(`http://127.0.0.1:${port}${path}`)
        assert.match(await response.text(), body)
        if (!code.includes("'/storage'")) return
        const page = await fetch(`http://127.0.0.1:${port}${prefix}/storage`, { redirect: 'manual' })
        assert.deepEqual([page.status, page.headers.get('location')], [303, `${prefix}/storage/-/sign-in`])
      } finally {
        child.kill('SIGKILL')
        await ended
      }
    })

  it('of README.md create an administrator at the first start only', async () => {
    const cwd = temporaryDirectory()
    const start = async (use: (api: string, printed: () => string) => Promise<void>) => {
      const child = runTypeScript(folder, 'README-md-0.ts', cwd)
      const ended = new Promise((resolve) => child.on('close', resolve))
      let out = ''
      child.stdout!.on('data', (chunk: Buffer) => {
        out += chunk.toString()
      })
      try {
        const { port } = await outcomeOf(child)
        await use(`http://127.0.0.1:${port}/api/v1`, () => out)
      } finally {
        child.kill('SIGKILL')
        await ended
      }
    }
    let authorization = ''
    const userOn = async (api: string) => {
      const { login, is_admin } = (await (
        await fetch(`${api}/user`, { headers: { authorization } })
      ).json()) as Record<string, unknown>
      return [login, is_admin]
    }

    await start(async (api, printed) => {
      const deadline = performance.now() + 60_000
      while (!/Authorization: .*\n/.test(printed())) {
        assert.ok(performance.now() < deadline, printed())
        await new Promise((resolve) => setTimeout(resolve, 25))
      }
      authorization = /Authorization: (token [0-9a-f]{40})\n/.exec(printed())![1]!
      assert.deepEqual(await userOn(api), ['root', true])
    })
    await start(async (api, printed) => {
      assert.deepEqual(await userOn(api), ['root', true])
      assert.doesNotMatch(printed(), /Authorization/)
    })
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
    assert.ok(others.some(({ pages }) => pages.variables.link !== undefined))
  })
})
