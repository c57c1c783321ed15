import assert from 'node:assert/strict'
import { chmodSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { before, describe, it } from 'node:test'
import { PROGRAM, served } from '../bin/program.ts'
import { outcome } from '../support/child.ts'
import { temporaryDirectory } from '../support/folder.ts'
import { listen } from '../support/listen.ts'
import { startBefore } from '../support/test-server.ts'
import { command } from './command.ts'

/*
 * What a tired person types. Each ends with one clear sentence and another status than 0, and changes
 * nothing.
 */

let closing: Awaited<ReturnType<typeof listen>>
const folder = temporaryDirectory()
const at = (name: string) => join(folder, name)
/** Files and folders, with their contents. */
const everything = () =>
  readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .sort()
    .map((name) => [name, statSync(at(name)).isFile() ? readFileSync(at(name), 'latin1') : undefined])

const REPORT = '{\n  "counts": {}\n}\n'
const TOKENS = '{"name":"ann","token":"t","link":"/-/set-password"}\n'

const source = startBefore({ dialect: 'forgejo' })
before(async () => {
  const ann = await source.person('ann')
  await source.person('ben')
  for (const name of ['app', 'two']) await source.as(ann, 'POST', '/user/repos', { name })
  closing = await listen((req) => req.socket.destroy())
  mkdirSync(at('folder'))
  writeFileSync(at('report'), REPORT)
  writeFileSync(at('tokens'), TOKENS)
})

/** Words with blanks between them; the code is 1 for a source or a machine that refuses, else 2. */
type Wrong = readonly [words: string, why: RegExp, code?: 1 | 2]

/**
 * BASE is the address of the source, HTTPS the same with that scheme, CLOSING a server that answers nothing,
 * HERE the folder of the files.
 */
const filled = (word: string) =>
  word
    .replace('BASE', source.base)
    .replace('HERE', folder)
    .replace('HTTPS', source.base.replace('http', 'https'))
    .replace('CLOSING', closing.origin)

const lineOf = (names: readonly string[], words: readonly string[], token = source.root.token) => {
  const data = words.includes('--data') ? [] : ['--data', at('data')]
  return { args: [...names, ...data, ...words.map(filled)], env: { ALLOT_FROM_TOKEN: token } }
}

const run = (names: readonly string[], words: readonly string[]) => {
  const { args, env } = lineOf(names, words)
  return command(args, { env })
}

const FROM = '--from BASE'
const ADDRESS = /^allot: --from [^\n]+: expected an address such as https:\/\/git\.example\.org\n$/
const NO_API =
  /^allot: there is no Gitea, Forgejo or Allot at http\S+: http\S+\/api\/v1\/version has no version\n$/
const NOBODY = /^allot: there is no user or organization named \S+ at http\S+\n$/

const OF_BOTH: readonly Wrong[] = [
  [`${FROM} --tokn=x`, /^error: unknown option '-\S+'\n/],
  [`${FROM} --report x --report x`, /^error: option '--\w+ <\w+>' is given twice: give it once\n/],
  [`${FROM} --owner`, /^error: option '--\w+ <\w+>' argument missing\n/],
  [`${FROM} --owner=`, /^error: option '--\w+ <\w+>' is empty: give it a value\n/],
  ['--from --token x', /^error: option '--\w+ <\w+>' has no value: --token follows it, which is an option\n/],
  [`${FROM} --token=`, /^allot: the source needs an access token: give --token, or set/],
  [
    '',
    /^error: required option '--from <url>' not specified\n\(run allot migrate(?: verify)? --help for the options\)\n$/,
  ],
  ['BASE', /^error: too many arguments/],
  [`${FROM} ann`, /^error: too many arguments for '[\w ]+'\. Expected 0 arguments but got 1\.\n/],
  ...[
    'git.example.org',
    'localhost:3000',
    '/srv/git',
    'git@127.0.0.1:ann/app.git',
    'ftp://127.0.0.1',
    'http://',
  ].map((url): Wrong => [`--from ${url}`, ADDRESS]),
  ['--from http://ann:secret@127.0.0.1', /^allot: --from must not hold a password: the token is enough\n$/],
  ['--from http://secret@127.0.0.1', /^allot: --from must not hold a password: the token is enough\n$/],
  ['--from BASE?page=2', /^allot: --from must not have a query or a fragment: give the address/],
  ['--from BASE/#ann', /^allot: --from must not have a query or a fragment: give the address/],
  [`--from http://${'x'.repeat(300)}`, /^allot: --from must not be longer than 255 characters\n$/],
  ...['BASE/ann/app/', 'BASE/ann/app.git', 'BASE/api/v2'].map((url): Wrong => [`--from ${url}`, NO_API, 1]),
  ['--from http://127.0.0.1:1', /^allot: http:\/\/127\.0\.0\.1:1 cannot be reached: [^\n]+\n$/, 1],
  ['--from HTTPS', /^allot: https\S+ cannot be reached: this port does not speak https: write http:\/\//, 1],
  ['--from CLOSING', /^allot: http\S+ cannot be reached: the server closed the connection: write https:/, 1],
  [`${FROM} --token wrong`, /^allot: http\S+ does not know this token\n$/, 1],
  ...['nobody', 'ann/app', 'ann,ben', '..', '@ann'].map(
    (owner): Wrong => [`${FROM} --owner ${owner}`, NOBODY, 1],
  ),
  [`${FROM} --report HERE/none/r`, /^allot: the report \S+ cannot be written: no such file/, 1],
  [`${FROM} --report HERE/folder`, /^allot: the report \S+ cannot be written: [^\n]+\n$/, 1],
  [`${FROM} --config HERE/none`, /^allot: \S+ cannot be read: there is no such file\n$/, 1],
  [`${FROM} --storage nope:x`, /^allot: --storage nope:…: expected level:<folder>, /],
  [`${FROM} --data HERE/tokens`, /^allot: \S+ is a file, or lies below one: name a folder/, 1],
]

const PAIR = /^allot: --rename \S+: expected OLD=NEW, or OWNER\/OLD=OWNER\/NEW for a repository\n$/
const NOT_THERE = /^allot: --rename \S+: [^\n]+ at http[^\n]+; nothing was copied\n$/

const OF_MIGRATE: readonly Wrong[] = [
  [
    `${FROM} --keep`,
    /^error: unknown option '--keep'\n[\s\S]*\(run allot migrate --help for the options\)\n$/,
  ],
  [
    `${FROM} --finish --owner ann`,
    /^(error|allot): --finish ends the migration of everything: leave out --owner\n/,
  ],
  [`${FROM} --rename ann`, PAIR],
  ...['nobody=x', 'app/ann=app/x', 'ann=ben', 'ann=root', 'ann/app=ann/two', 'ann/none=ann/x'].map(
    (pair): Wrong => [`${FROM} --rename ${pair}`, NOT_THERE, 1],
  ),
  [
    `${FROM} --rename ann=ben --rename ben=root`,
    /^allot: --rename ben=root: root is another account at http/,
    1,
  ],
  [`${FROM} --tokens HERE/none/t`, /^allot: --tokens \S+: the file cannot be written: no such file/, 1],
  [
    `${FROM} --tokens HERE/tokens --report HERE/new`,
    /^allot: --tokens \S+: the file exists: name another one\n$/,
    1,
  ],
  [
    `${FROM} --tokens HERE/new --report HERE/folder/../new`,
    /^allot: --report and --tokens name the same file: name two\n$/,
  ],
]

const OF_VERIFY: readonly Wrong[] = [
  [`${FROM} --tokens=x`, /^error: unknown option '--\S+'\n/],
  [`${FROM} --data HERE/none`, /^allot: there is no store in \S+: name another folder with --data\n$/, 1],
]

const assertRefused = async (names: readonly string[], wrongs: readonly Wrong[], token?: string) => {
  const before = everything()
  for (const [words, why, wrongCode = 2] of wrongs) {
    const { args, env } = lineOf(names, words === '' ? [] : words.split(' '), token)
    const { code, out, err } = await command(args, { env })
    assert.match(err, why, `${words}: ${err}`)
    assert.deepEqual([code, out], [wrongCode, ''], `${words}: ${err}`)
    assert.ok(!err.includes('secret') && !err.includes(source.root.token), `${words}: ${err}`)
  }
  assert.deepEqual(everything(), before)
}

describe('allot migrate', () => {
  it('refuses what is typed wrong in one sentence, and changes nothing', () =>
    assertRefused(['migrate'], [...OF_BOTH, ...OF_MIGRATE]))

  it('refuses a token that is none, or cannot read everything', async () => {
    const { token } = await source.person('carl')
    for (const [given, why, code] of [
      ['', /^allot: the source needs an access token: give --token, or set/, 2],
      ['ü', /^allot: the token contains characters that no token has\n$/, 2],
      ['token abc', /^allot: the token contains characters that no token has\n$/, 2],
      [token, /^allot: the token belongs to carl, who is not an administrator of http\S+: use [^\n]+\n$/, 1],
      [
        await source.scoped(source.root, 'read:repository'),
        /\/user answered 403: [^\n]+ scopes read:admin, /,
        1,
      ],
      [
        await source.scoped(source.root, 'read:admin', 'read:user'),
        /^allot: the token of root lacks the scope read:organization: [^\n]+\n$/,
        1,
      ],
    ] as const)
      await assertRefused(['migrate'], [[FROM, why, code]], given)
  })

  it('exchanges names that are given in a circle', async () => {
    const words = ['--from', 'BASE', '--data', 'HERE/circle', '--rename', 'ann=ben', '--rename', 'ben=ann']
    const { code, out, err } = await run(['migrate'], words)
    assert.deepEqual([code, err], [0, ''])
    assert.match(out, /^ {2}accounts: ann is ben, ben is ann$/m)
  })
})

describe('allot migrate verify', () => {
  it('refuses what is typed wrong in one sentence, and changes nothing', async () => {
    const { code } = await run(['migrate'], ['--from', 'BASE'])
    assert.equal(code, 0)
    await assertRefused(['migrate', 'verify'], [...OF_BOTH, ...OF_VERIFY])
  })
})

describe('Both commands', () => {
  const commands = [['migrate'], ['migrate', 'verify']]

  it('refuse a store that a server has open, write that in place of an earlier report, and no tokens', async () => {
    const data = ['--data', at('circle')]
    const server = await served(data)
    const before = readdirSync(folder).sort()
    const why = /^allot: \S+ is in use by another process \(pid \d+\): stop that process first\n$/
    try {
      for (const names of commands) {
        const tokens = names.length === 1 ? ['--tokens', at('new-tokens')] : []
        for (const report of ['report', 'new-report']) {
          const words = ['--from', 'BASE', ...data, '--report', at(report), ...tokens]
          const { code, out, err } = await run(names, words)
          assert.match(err, why)
          assert.deepEqual([code, out], [1, ''])
          const { failed } = JSON.parse(readFileSync(at(report), 'utf8'))
          assert.match(failed.join(), /^the (?:migration|comparison): \S+ is in use by another process/)
        }
        rmSync(at('new-report'))
      }
    } finally {
      await server.stop()
    }
    assert.deepEqual(readdirSync(folder).sort(), before)
  })

  it('replace the report of an earlier run', async () => {
    for (const names of commands) {
      const words = ['--from', 'BASE', '--data', at('circle'), '--report', at('report')]
      await run(names, words)
      assert.match(readFileSync(at('report'), 'utf8'), /^\{\n {2}"(?:counts|compared)": \{\n/)
    }
  })

  it('write a report that only its owner may read into a file that existed', async () => {
    for (const names of commands)
      for (const content of [REPORT, '']) {
        writeFileSync(at('readable'), content)
        chmodSync(at('readable'), 0o644)
        await run(names, ['--from', 'BASE', '--data', at('circle'), '--report', at('readable')])
        assert.equal(statSync(at('readable')).mode & 0o777, 0o600)
      }
  })
})

describe('A disk that is full', () => {
  it('ends a migration with one sentence, and the same command completes it later', async () => {
    const words = ['migrate', '--from', source.base, '--data', at('full')]
    const shell = `trap '' XFSZ; ulimit -f 1; exec "$@"`
    const env = { ...process.env, ALLOT_FROM_TOKEN: source.root.token }
    const { code, stderr: err } = await outcome('sh', ['-c', shell, 'sh', ...PROGRAM, ...words], { env })
    assert.equal(code, 1)
    assert.match(err, /^allot: [^\n]*(?:too large|space|full)[^\n]*\n$/i)
    const again = await run(['migrate'], ['--from', 'BASE', '--data', at('full')])
    assert.deepEqual([again.code, again.err], [0, ''])
  })
})
