import assert from 'node:assert/strict'
import { chmodSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { before, describe, it } from 'node:test'
import { type CommandLine, PROGRAM, served } from '../bin/program.ts'
import { outcome } from '../support/child.ts'
import { temporaryDirectory } from '../support/folder.ts'
import { listen } from '../support/listen.ts'
import { start, type TestServer } from '../support/test-server.ts'
import { command } from './command.ts'

/*
 * What a tired person types. Each ends with one clear sentence and another status than 0, and changes
 * nothing.
 */

let source: TestServer
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

before(async () => {
  source = await start({ dialect: 'forgejo' })
  const ann = await source.person('ann')
  await source.person('ben')
  for (const name of ['app', 'two']) await source.as(ann, 'POST', '/user/repos', { name })
  closing = await listen((req) => req.socket.destroy())
  mkdirSync(at('folder'))
  writeFileSync(at('report'), REPORT)
  writeFileSync(at('tokens'), TOKENS)
})

interface Wrong {
  readonly words: readonly string[]
  readonly why: RegExp
  /** 2 for a wrong command line, 1 for a source or a machine that refuses. */
  readonly code?: 1 | 2
  readonly token?: () => string | Promise<string>
}

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

const lineOf = async (
  names: readonly string[],
  { words, token = () => source.root.token }: Omit<Wrong, 'why'>,
): Promise<CommandLine> => {
  const data = words.includes('--data') ? [] : ['--data', at('data')]
  return { args: [...names, ...data, ...words.map(filled)], env: { ALLOT_FROM_TOKEN: await token() } }
}

const run = async (names: readonly string[], words: readonly string[]) => {
  const { args, env } = await lineOf(names, { words })
  return command(args, { env })
}

/** Each of the options, with a slip of the keyboard. */
const OF_BOTH: readonly Wrong[] = [
  ...[
    '--form',
    '--tokn=x',
    '--owners=ann',
    '--reports=HERE/new',
    '--date=x',
    '--confg=x',
    '--storge=x',
    '-from',
  ].map((word): Wrong => ({ words: ['--from', 'BASE', word], why: /^error: unknown option '-\S+'\n/ })),
  ...['--from', '--token', '--report', '--data', '--config', '--storage'].map(
    (word): Wrong => ({
      words: ['--from', 'BASE', '--data', 'HERE/data', word, 'x', word, 'x'],
      why: /^error: option '--\w+ <\w+>' is given twice: give it once\n/,
    }),
  ),
  ...['--from', '--token', '--owner', '--report', '--data', '--config', '--storage'].map(
    (word): Wrong => ({
      words: word === '--from' ? [word] : ['--from', 'BASE', word],
      why: /^error: option '--\w+ <\w+>' argument missing\n/,
    }),
  ),
  ...['--from', '--owner', '--report', '--config', '--storage'].flatMap((word): Wrong[] => [
    {
      words: [...(word === '--from' ? [] : ['--from', 'BASE']), `${word}=`],
      why: /^error: option '--\w+ <\w+>' is empty: give it a value\n/,
    },
    {
      words: [...(word === '--from' ? [] : ['--from', 'BASE']), word, '--token', 'x'],
      why: /^error: option '--\w+ <\w+>' has no value: --token follows it, which is an option\n/,
    },
  ]),
  {
    words: ['--from', 'BASE', '--token', ''],
    why: /^allot: the source needs an access token: give --token, or set/,
  },
  { words: [], why: /^(?:allot|error): required option '--from <url>' not specified\n/ },
  { words: ['BASE'], why: /^error: (?:too many arguments|required option '--from <url>' not specified)/ },
  {
    words: ['--from', 'BASE', 'ann'],
    why: /^error: too many arguments for '[\w ]+'\. Expected 0 arguments but got 1\.\n/,
  },
  ...[
    ...['git.example.org', 'localhost:3000', '127.0.0.1', '/srv/git', 'git@127.0.0.1:ann/app.git'],
    ...[
      'ftp://127.0.0.1',
      'file:///srv',
      'http://',
      'http:/127.0.0.1',
      'http://[::1',
      'http://127.0.0.1:99999',
      ' ',
    ],
  ].map(
    (url): Wrong => ({
      words: ['--from', url],
      why: /^allot: --from [^\n]+: expected an address such as https:\/\/git\.example\.org\n$/,
    }),
  ),
  {
    words: ['--from', 'http://ann:secret@127.0.0.1'],
    why: /^allot: --from must not hold a password: the token is enough\n$/,
  },
  {
    words: ['--from', 'http://secret@127.0.0.1'],
    why: /^allot: --from must not hold a password: the token is enough\n$/,
  },
  {
    words: ['--from', 'BASE?page=2'],
    why: /^allot: --from must not have a query or a fragment: give the address/,
  },
  {
    words: ['--from', 'BASE/#ann'],
    why: /^allot: --from must not have a query or a fragment: give the address/,
  },
  {
    words: ['--from', `http://${'x'.repeat(300)}`],
    why: /^allot: --from must not be longer than 255 characters\n$/,
  },
  ...['BASE/ann', 'BASE/ann/app/', 'BASE/ann/app.git', 'BASE/api/v2'].map(
    (url): Wrong => ({
      words: ['--from', url],
      why: /^allot: there is no Gitea, Forgejo or Allot at http\S+: http\S+\/api\/v1\/version has no version\n$/,
      code: 1,
    }),
  ),
  {
    words: ['--from', 'http://127.0.0.1:1'],
    why: /^allot: http:\/\/127\.0\.0\.1:1 cannot be reached: [^\n]+\n$/,
    code: 1,
  },
  {
    words: ['--from', 'HTTPS'],
    why: /^allot: https\S+ cannot be reached: this port does not speak https: write http:\/\//,
    code: 1,
  },
  {
    words: ['--from', 'CLOSING'],
    why: /^allot: http\S+ cannot be reached: the server closed the connection: write https:/,
    code: 1,
  },
  {
    words: ['--from', 'BASE'],
    token: () => '',
    why: /^allot: the source needs an access token: give --token, or set/,
  },
  {
    words: ['--from', 'BASE'],
    token: () => 'ü',
    why: /^allot: the token contains characters that no token has\n$/,
  },
  {
    words: ['--from', 'BASE'],
    token: () => 'token abc',
    why: /^allot: the token contains characters that no token has\n$/,
  },
  {
    words: ['--from', 'BASE'],
    token: () => '@tokens',
    why: /^allot: http\S+ does not know this token\n$/,
    code: 1,
  },
  {
    words: ['--from', 'BASE', '--token', 'wrong'],
    why: /^allot: http\S+ does not know this token\n$/,
    code: 1,
  },
  {
    words: ['--from', 'BASE'],
    token: () => source.scoped(source.root, 'read:admin', 'read:user'),
    why: /^allot: the token of root lacks the scope read:organization: [^\n]+\n$/,
    code: 1,
  },
  ...['nobody', 'ann/app', 'ann,ben', '..', '@ann'].map(
    (owner): Wrong => ({
      words: ['--from', 'BASE', '--owner', owner],
      why: /^allot: there is no user or organization named \S+ at http\S+\n$/,
      code: 1,
    }),
  ),
  {
    words: ['--from', 'BASE', '--report', 'HERE/none/r'],
    why: /^allot: the report \S+ cannot be written: no such file/,
    code: 1,
  },
  {
    words: ['--from', 'BASE', '--report', 'HERE/tokens/r'],
    why: /^allot: the report \S+ cannot be written: not a dir/,
    code: 1,
  },
  {
    words: ['--from', 'BASE', '--report', 'HERE/folder'],
    why: /^allot: the report \S+ cannot be written: [^\n]+\n$/,
    code: 1,
  },
  {
    words: ['--from', 'BASE', '--config', 'HERE/none'],
    why: /^allot: \S+ cannot be read: there is no such file\n$/,
    code: 1,
  },
  {
    words: ['--from', 'BASE', '--config', 'HERE/folder'],
    why: /^allot: \S+ cannot be read: it is a folder\n$/,
    code: 1,
  },
  {
    words: ['--from', 'BASE', '--storage', 'nope:x'],
    why: /^allot: --storage nope:…: expected level:<folder>, /,
  },
  {
    words: ['--from', 'BASE', '--data', 'HERE/tokens'],
    why: /^allot: \S+ is a file, or lies below one: name a folder/,
    code: 1,
  },
]

const OF_MIGRATE: readonly Wrong[] = [
  ...['--keep', '--report-file=x', '--renames=a=b', '--token-file=x'].map(
    (word): Wrong => ({
      words: ['--from', 'BASE', word],
      why: /^error: unknown option '--\S+'\n[^\n]*\(run allot migrate --help for the options\)\n$|\(Did you mean/,
    }),
  ),
  {
    words: ['--from', 'BASE', '--tokens', 'HERE/a', '--tokens', 'HERE/b'],
    why: /^error: option '--tokens <file>' is given twice/,
  },
  { words: ['--from', 'BASE', '--tokens'], why: /^error: option '--tokens <file>' argument missing\n/ },
  { words: ['--from', 'BASE', '--rename'], why: /^error: option '--rename <old=new>' argument missing\n/ },
  {
    words: ['--from', 'BASE', '--tokens='],
    why: /^error: option '--tokens <file>' is empty: give it a value\n/,
  },
  {
    words: ['--from', 'BASE', '--rename='],
    why: /^error: option '--rename <old=new>' is empty: give it a value\n/,
  },
  {
    words: ['--from', 'BASE', '--report', '--tokens'],
    why: /^error: option '--report <file>' has no value: --tokens follows/,
  },
  {
    words: ['--from', 'BASE', '--finish', '--owner', 'ann'],
    why: /^(error|allot): --finish ends the migration of everything: leave out --owner\n/,
  },
  {
    words: ['--from', 'BASE', 'yes'],
    why: /^error: too many arguments for 'migrate'\. Expected 0 arguments but got 1\.\n/,
  },
  ...['ann', 'ann=', '=', '==', 'ann==x', 'ann:x', 'ann=a/b', 'ann=../x', 'ann/app=x'].map(
    (pair): Wrong => ({
      words: ['--from', 'BASE', '--rename', pair],
      why: /^allot: --rename \S+: expected OLD=NEW, or OWNER\/OLD=OWNER\/NEW for a repository\n$/,
    }),
  ),
  {
    words: ['--from', 'BASE', '--rename', 'ann = x'],
    why: /^allot: --rename ann = x: name: only letters, digits/,
  },
  {
    words: ['--from', 'BASE', '--rename', `ann=${'x'.repeat(99)}`],
    why: /^allot: --rename \S+: name: must have 1 to 40 characters\n$/,
  },
  {
    words: ['--from', 'BASE', '--rename', 'ann/app=ann/..'],
    why: /^allot: --rename \S+: name: a repository cannot be named \.\.\n$/,
  },
  {
    words: ['--from', 'BASE', '--rename', 'ann=x', '--rename', 'ann=y'],
    why: /^allot: --rename ann=y: ann is given twice\n$/,
  },
  {
    words: ['--from', 'BASE', '--rename', 'ann=x', '--rename', 'ben=x'],
    why: /^allot: --rename ben=x: x is given twice\n$/,
  },
  ...[
    'nobody=x',
    '-=x',
    'app=x',
    'app/ann=app/x',
    'ann=ben',
    'ann=root',
    'ann/app=ann/two',
    'ann/none=ann/x',
  ].map(
    (pair): Wrong => ({
      words: ['--from', 'BASE', '--rename', pair],
      why: /^allot: --rename \S+: [^\n]+ at http[^\n]+; nothing was copied\n$/,
      code: 1,
    }),
  ),
  {
    words: ['--from', 'BASE', '--rename', 'ann=ben', '--rename', 'ben=root'],
    why: /^allot: --rename ben=root: root is another account at http[^\n]+; nothing was copied\n$/,
    code: 1,
  },
  {
    words: ['--from', 'BASE', '--tokens', 'HERE/none/t'],
    why: /^allot: --tokens \S+: the file cannot be written: no such file/,
    code: 1,
  },
  {
    words: ['--from', 'BASE', '--tokens', 'HERE/folder'],
    why: /^allot: --tokens \S+: the file exists: name another one\n$/,
    code: 1,
  },
  {
    words: ['--from', 'BASE', '--tokens', 'HERE/tokens', '--report', 'HERE/new'],
    why: /^allot: --tokens \S+: the file exists: name another one\n$/,
    code: 1,
  },
  {
    words: ['--from', 'BASE', '--tokens', 'HERE/new', '--report', 'HERE/folder/../new'],
    why: /^allot: --report and --tokens name the same file: name two\n$/,
  },
]

const OF_VERIFY: readonly Wrong[] = [
  ...['--keep', '--rename=a=b', '--tokens=x'].map(
    (word): Wrong => ({
      words: ['--from', 'BASE', word],
      why: /^error: unknown option '--\S+'\n/,
    }),
  ),
  ...['HERE/folder', 'HERE/none'].map(
    (data): Wrong => ({
      words: ['--from', 'BASE', '--data', data],
      why: /^allot: there is no store in \S+: name another folder with --data\n$/,
      code: 1,
    }),
  ),
]

const assertRefused = async (names: readonly string[], wrongs: readonly Wrong[]): Promise<void> => {
  const before = everything()
  for (const wrong of wrongs) {
    const { args, env } = await lineOf(names, wrong)
    const { code, out, err } = await command(args, { env })
    const what = `${wrong.words.join(' ')}: ${err}`
    assert.match(err, wrong.why, what)
    assert.deepEqual([code, out], [wrong.code ?? 2, ''], what)
    assert.ok(!err.includes('secret') && !err.includes(source.root.token), what)
  }
  assert.deepEqual(everything(), before)
}

describe('allot migrate', () => {
  it('refuses what is typed wrong in one sentence, and changes nothing', () =>
    assertRefused(['migrate'], [...OF_BOTH, ...OF_MIGRATE]))

  it('refuses a token of a user who is no administrator', async () => {
    const { token } = await source.person('carl')
    const why = /^allot: the token belongs to carl, who is not an administrator of http\S+: use [^\n]+\n$/
    await assertRefused(['migrate'], [{ words: ['--from', 'BASE'], token: () => token, why, code: 1 }])
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
