import assert from 'node:assert/strict'
import { chmodSync, existsSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { Config, readConfig } from '../../bin/config/config.ts'
import { variableOf } from '../../bin/config/environment.ts'
import { requireStore } from '../../bin/config/store.ts'
import { temporaryDirectory } from '../support/folder.ts'
import { basic, createSender } from '../support/test-server.ts'
import { allot, served } from './in-process.ts'
import { begin, served as servedApart, whenServing } from './program.ts'

interface AuditEntry {
  actor: { id: number; login: string }
  action: string
  subject: string
  after: string
}

describe('allot user, token and org', () => {
  it('print only the token on standard output, which works, and log what they change in a store', async () => {
    const data = temporaryDirectory()
    const user = await allot(['user', 'add', 'ci', '--token', '--data', data])
    assert.match(user.out, /^[0-9a-f]{40}\n$/)
    assert.deepEqual([user.code, user.err], [0, 'added the user ci\n'])
    const named = ['--email', 'c@example.test', '--password', 'long enough']
    const admin = await allot(['user', 'add', 'chief', '--admin', ...named, '--data', data])
    assert.deepEqual([admin.code, admin.out, admin.err], [0, '', 'added the administrator chief\n'])
    const scopes = ['--scopes', 'read:user, read:repository']
    const narrow = await allot(['token', 'add', 'CI', '--name', 'reader', ...scopes, '--data', data])
    assert.match(narrow.out, /^[0-9a-f]{40}\n$/)
    const link = await allot(['user', 'link', 'CI', '--data', data])
    assert.match(link.out, /^\/-\/set-password\?user=ci&code=[\w-]{43}\n$/)
    assert.match(
      link.err,
      /^the link for ci works once, within 14 days\nit is a path at the address of the server, /,
    )
    const nobody = await allot(['user', 'link', 'acme', '--data', data])
    assert.deepEqual([nobody.code, nobody.err], [1, 'allot: there is no user named acme\n'])
    const org = await allot(['org', 'add', 'acme', '--owner', 'ci', '--data', data])
    assert.deepEqual([org.code, org.err], [0, 'added the organization acme, owned by ci\n'])

    const server = await served(['--data', data])
    const ask = createSender(server.api)
    assert.equal((await ask('GET', '/user', { token: user.out.trim() })).body.login, 'ci')
    assert.equal((await ask('GET', '/user', { headers: basic('chief', 'long enough') })).body.is_admin, true)
    assert.equal((await ask('GET', '/user/orgs', { token: user.out.trim() })).body[0].name, 'acme')
    assert.equal((await ask('PUT', '/user/following/chief', { token: narrow.out.trim() })).status, 403)
    assert.doesNotMatch(server.printed(), /root/, 'the store was not empty')
    const administrator = { headers: basic('chief', 'long enough') }
    const entries = (await ask('GET', '/admin/audit', administrator)).body as AuditEntry[]
    assert.deepEqual(
      entries.map(({ actor, action, subject }) => `${actor.id} ${actor.login}: ${action} ${subject}`),
      [
        '0 operator: account created acme',
        '0 operator: password link created ci',
        '0 operator: token created ci',
        '0 operator: account changed chief',
        '0 operator: account created chief',
        '0 operator: token created ci',
        '0 operator: account created ci',
      ],
      'the audit log names the command line',
    )
    assert.equal(JSON.parse(entries[3]!.after).admin, true)
  })

  it('say that nobody can sign in as a user without a password and a token', async () => {
    const place = temporaryDirectory()
    const { code, out, err } = await allot(['user', 'add', 'mute', '--data', place])
    assert.deepEqual([code, out], [0, ''])
    assert.match(
      err,
      /^added the user mute\nnobody can sign in as mute yet: allot token add makes a token\n$/,
    )
    for (const option of [['--password', 'long enough'], ['--token']]) {
      const added = await allot(['user', 'add', `u${option.length}`, ...option, '--data', place])
      assert.match(added.err, /^added the user u\d\n$/)
    }
  })

  it('say that a user was added to a server when the rest of the command is refused', async () => {
    const data = temporaryDirectory()
    await allot(['user', 'add', 'ci', '--admin', '--data', data])
    const scopes = ['--scopes', 'write:admin,write:user']
    const narrow = (await allot(['token', 'add', 'ci', ...scopes, '--data', data])).out.trim()
    const server = await served(['--data', data])
    const env = { ALLOT_TOKEN: narrow }
    const add = ['user', 'add', 'bob', '--token', '--url', new URL(server.api).origin]
    const { code, out, err } = await allot(add, undefined, { env })
    assert.deepEqual([code, out], [1, ''])
    assert.ok(err.startsWith('allot: the user bob was added, but has no token yet: '), err)
    assert.match(err, / 403: this token cannot give a token the scope all, [^\n]+\n$/)
    const { body } = await createSender(server.api)('GET', '/users/bob', { token: narrow })
    assert.equal(body.login, 'bob')
  })

  it('delete organizations, and with --purge what these own, in a store and on a server', async () => {
    const own = temporaryDirectory()
    const { out } = await allot(['user', 'add', 'ci', '--admin', '--token', '--data', own])
    for (const name of ['acme', 'beta']) await allot(['org', 'add', name, '--owner', 'ci', '--data', own])
    const gone = await allot(['org', 'delete', 'beta', '--data', own])
    assert.deepEqual([gone.code, gone.err], [0, 'deleted the organization beta\n'])
    const again = await allot(['org', 'delete', 'beta', '--data', own])
    assert.deepEqual([again.code, again.err], [1, 'allot: there is no organization named beta\n'])
    const server = await served(['--data', own])
    const ask = createSender(server.api)
    const made = { token: out.trim(), body: { name: 'demo' } }
    assert.equal((await ask('POST', '/orgs/acme/repos', made)).status, 201)
    const remote = ['--url', new URL(server.api).origin, '--token', out.trim()]
    const refused = await allot(['org', 'delete', 'acme', ...remote])
    assert.equal(refused.code, 1)
    assert.match(refused.err, /still owns repositories/)
    assert.equal((await allot(['org', 'delete', 'acme', '--purge', ...remote])).code, 0)
    assert.equal((await ask('GET', '/orgs/acme', { token: out.trim() })).status, 404)
  })

  const WRONG: [what: string, words: string, code: number, err: RegExp][] = [
    ['a name that is taken', 'user add ci', 1, /^allot: name: ci is already taken\n$/],
    ['an invalid name', 'user add a~b', 1, /^allot: name: /],
    ['a reserved name', 'user add admin', 1, /^allot: name: admin is reserved\n$/],
    ['a short password', 'user add x --password short', 1, /^allot: password: /],
    ['no password', 'user password x', 1, /^allot: password: standard input has none\n$/],
    [
      'two passwords',
      'user add x --password long-enough --password-stdin',
      2,
      /^allot: give one of --password and --password-stdin\n$/,
    ],
    ['a token of nobody', 'token add nobody', 1, /^allot: there is no user named nobody\n$/],
    [
      'an unknown scope',
      'token add ci --scopes read:all',
      1,
      /^allot: invalid access token scope: read:all; expected some of: all, read:user, .*\n$/,
    ],
    ['an organization of nobody', 'org add x --owner nobody', 1, /^allot: there is no user named nobody\n$/],
    ['an organization without an owner', 'org add x', 2, /--owner/],
    ['no name', 'user add', 2, /name/],
    [
      'an unknown command',
      'frobnicate',
      2,
      /^error: unknown command 'frobnicate'\n\(run allot --help for the commands\)\n$/,
    ],
    [
      'an unknown command of a group',
      'user frob',
      2,
      /^error: unknown command 'frob'\n\(run allot user --help/,
    ],
    [
      'an unknown option',
      'user add x --frob',
      2,
      /^error: unknown option '--frob'\n\(run allot user add --help for the options\)\n$/,
    ],
    [
      'an option that is given twice',
      'user add x --email a@example.org --email b@example.org',
      2,
      /^error: option '--email <\S+>' is given twice: give it once\n/,
    ],
    [
      'an option without its value',
      'user add x --storage',
      2,
      /^error: option '--storage <url>' argument missing\n/,
    ],
    [
      'a port that is not a number',
      'serve --port x',
      2,
      /^allot: --port x: expected a number from 0 to 65535\n$/,
    ],
    [
      'what npm start passes on without `--`',
      'serve 4567',
      2,
      /^allot: 4567 belongs to no option: with npm start, write -- before the options\n$/,
    ],
    ...['token delete ci 1', 'org delete x', 'quota rules delete r', 'quota groups delete g'].map(
      (command): [string, string, number, RegExp] => [
        `JSON of ${command}, which prints no result`,
        `${command} --json`,
        2,
        /^error: unknown option '--json'\n/,
      ],
    ),
    ['a change of nothing', 'user edit ci', 2, /^allot: nothing to change: give --email, /],
    ['a user who does not exist', 'user disable x', 1, /^allot: .*there is no user named x/],
    ['an empty address', 'serve --host=', 2, /^allot: --host: expected an address/],
    ['an unknown storage', 'user add x --storage oracle://', 2, /oracle/],
  ]
  it('fail with one clear line and change nothing', async () => {
    const data = temporaryDirectory()
    await allot(['user', 'add', 'ci', '--data', data])
    for (const [what, words, code, err] of WRONG) {
      const store = words.includes('--storage') ? [] : ['--data', data]
      const outcome = await allot([...words.split(' '), ...store])
      assert.equal(outcome.code, code, `${what}: ${outcome.err}`)
      assert.match(outcome.err, err, what)
      assert.equal(outcome.out, '', what)
      assert.doesNotMatch(outcome.err, /\n {4}at /, `${what}: a stack`)
    }
    const { out } = await allot(['user', 'list', '--json', '--data', data])
    assert.deepEqual(
      JSON.parse(out).map(({ login }: { login: string }) => login),
      ['ci'],
    )
  })

  const REFUSED: readonly string[] = [
    'token add root',
    'token list root',
    'org add x --owner y',
    'quota rules set a --limit 1 --subjects size:all',
    'quota groups set a --rules nope',
    'quota groups assign x y',
    'user add a/b',
    'user add bob --password short',
    'user add bob --email x',
    'user link bob',
    'user delete bob',
    'user disable bob',
    'user edit bob --admin',
    'serve --host 192.0.2.1',
    'serve --storage mysql://x',
  ]
  it('leave no store behind when they fail', async () => {
    const folder = temporaryDirectory()
    for (const words of REFUSED) {
      const { code, err } = await allot(words.split(' '), folder)
      assert.ok(code, `${words}: ${err}`)
    }
    assert.deepEqual(readdirSync(folder), [])
  })

  it('fail without a name of a command, and list the commands', async () => {
    for (const [args, path] of [
      [[], 'allot'],
      [['user'], 'allot user'],
    ] as const) {
      const { code, err, out } = await allot(args)
      assert.deepEqual([code, out], [2, ''])
      assert.match(err, new RegExp(`^error: name one of the commands of ${path}\\n\\nUsage: ${path} `))
    }
  })

  it('say that the user may not open the folder of the store, and not that there is none', () => {
    const folder = temporaryDirectory()
    chmodSync(folder, 0)
    const isRoot = process.getuid?.() === 0
    if (isRoot) process.seteuid?.(65_534)
    try {
      const message = /store cannot be opened: this user may not open the folder above it$/
      assert.throws(() => requireStore({ data: folder }), message)
    } finally {
      if (isRoot) process.seteuid?.(0)
      chmodSync(folder, 0o700)
    }
  })

  const ADVICE: readonly (readonly [args: readonly string[], alternative: string])[] = [
    [['token', 'list', 'root'], ', or name its server with --url, and a token in ALLOT_TOKEN'],
    [['user', 'add', 'x'], ', or name its server with --url, and a token in ALLOT_TOKEN'],
    [['user', 'link', 'root'], ", or make the link on the server's page of the account"],
    [['serve', '--port', '0'], ''],
  ]
  it('advise what to do when a server has the store open', async () => {
    const data = temporaryDirectory()
    await servedApart(['--data', data])
    for (const [args, alternative] of ADVICE) {
      const { code, err } = await allot([...args, '--data', data])
      assert.equal(code, 1)
      assert.match(err, /in use by another process \(pid \d+\): stop that process first/)
      assert.ok(err.endsWith(`stop that process first${alternative}\n`), err)
    }
  })
})

describe('The configuration file', () => {
  it('names every unknown key and wrong value with its place', async () => {
    const file = join(temporaryDirectory(), 'allot.toml')
    writeFileSync(
      file,
      `nothing = 1
[server]
host = ""
port = "x"
prot = 3000
[api]
dialect = "gitlab"
baseUrl = "http://x.test"
[quota]
default_groups = [5]
default_total = "2 GB"
[markdown]
timeout = 0
`,
    )
    const { code, err } = await allot(['serve', '--config', file, '--data', temporaryDirectory()])
    assert.equal(code, 1)
    for (const line of [
      'nothing: there is no such option',
      'server.host: expected an address, such as 127.0.0.1',
      'server.port: expected a number',
      'server.prot: there is no such option; expected one of: server.host, server.port, ',
      'api.dialect: expected one of',
      'api.baseUrl: there is no such option; expected one of: api.base_path, api.base_url, ',
      'quota.default_groups[0]: expected a string',
      'quota.default_total: expected bytes',
      'markdown.timeout: ',
    ])
      assert.ok(err.includes(line), `${line} in\n${err}`)
  })

  it("has no options of a host's own login", () => {
    const file = join(temporaryDirectory(), 'allot.toml')
    writeFileSync(file, '[pages]\nlogin_url = "/login?next={to}"\nlogout_url = "/logout?next={to}"\n')
    assert.throws(() => readConfig(file, {}), {
      message: new RegExp(
        `^${file}:\\n  pages\\.login_url: there is no such option; .*\\n  pages\\.logout_url: there is no such option; .*$`,
      ),
    })
  })

  it('fails with one line when the file is not TOML or does not exist', async () => {
    const file = join(temporaryDirectory(), 'allot.toml')
    writeFileSync(file, '[server\n')
    for (const config of [file, `${file}.missing`]) {
      const { code, err } = await allot(['serve', '--config', config])
      assert.deepEqual([code, err.split('\n').length], [1, 2], err)
      assert.match(
        err,
        config === file
          ? /cannot be read: Invalid .* \(line 1, column 8\)\n$/
          : /cannot be read: there is no such file\n$/,
      )
    }
  })

  it('is applied, and options of the command line take precedence over it', async () => {
    const folder = temporaryDirectory()
    const file = join(folder, 'allot.toml')
    writeFileSync(
      file,
      `[server]\nport = 1\ndata = "${folder}/from-file"\n[api]\nbase_path = "/git/api"\n[quota]\ndefault_total = "1 MiB"\n[repositories]\ndirectory = "${folder}/repos"\n`,
    )
    const server = await served(['--config', file])
    assert.match(server.api, /:\d\d+\/git\/api$/)
    assert.ok(server.printed().includes(`${folder}/from-file`))
    assert.equal((await createSender(server.api)('GET', '/version')).status, 200)
  })
})

describe('The environment', () => {
  const configured = (environment: Record<string, string>, toml?: string) => {
    const file = join(temporaryDirectory(), 'allot.toml')
    if (toml !== undefined) writeFileSync(file, toml)
    return readConfig(toml === undefined ? undefined : file, environment)
  }

  it('sets options of a server, beside the file and the command line', async () => {
    const folder = temporaryDirectory()
    const file = join(folder, 'allot.toml')
    writeFileSync(file, '[api]\nbase_path = "/from-file"\n[server]\npages = false\n')
    const environment = {
      ALLOT_SERVER_PORT: '1',
      ALLOT_SERVER_DATA: `${folder}/data`,
      ALLOT_API_BASE_PATH: '/of/it',
    }
    const server = await whenServing(begin(['serve', '--port', '0', '--config', file], folder, environment))
    assert.match(server.api, /:\d\d+\/of\/it$/)
    assert.ok(existsSync(join(folder, 'data/store')))
    assert.equal((await fetch(new URL('/', server.api))).status, 404)
    await server.stop()
  })

  it('gives the limits of owners to commands on the store', async () => {
    const data = temporaryDirectory()
    await allot(['user', 'add', 'ann', '--data', data])
    const limit = { ALLOT_QUOTA_DEFAULT_TOTAL: '2 GiB' }
    const { out } = await allot(['quota', 'show', 'ann', '--data', data], undefined, { env: limit })
    assert.match(out, /2\.0 GiB/)
  })

  for (const [what, environment, toml, pick, expected] of [
    [
      'wins over the file',
      { ALLOT_SERVER_PORT: '2' },
      '[server]\nport = 1\nhost = "h"',
      (c) => [c.server.port, c.server.host],
      [2, 'h'],
    ],
    [
      'has lists with commas',
      { ALLOT_CORS_ORIGINS: 'https://a, https://b' },
      '',
      (c) => c.cors.origins,
      ['https://a', 'https://b'],
    ],
    ['turns a section off', { ALLOT_LFS: 'false' }, '[lfs]\nmax_size = 5', (c) => c.lfs, false],
    [
      'turns a section on by an option of it',
      { ALLOT_LFS: 'false', ALLOT_LFS_MAX_SIZE: '1 KiB' },
      'lfs = false',
      (c) => c.lfs,
      { maxSize: 1024 },
    ],
    ['has text that looks like a number', { ALLOT_PAGES_NAME: '2024' }, '', (c) => c.pages.name, '2024'],
    ['sets nothing to nothing', { ALLOT_SERVER_PORT: '' }, '', (c) => c.server.port, 3000],
    [
      'may have those of the commands, of the specs, and of Kubernetes for services of the name',
      {
        ALLOT_URL: 'x',
        ALLOT_TOKEN: 'x',
        ALLOT_FROM_TOKEN: 'x',
        ALLOT_SPEC_SEED: '1',
        ALLOT_PORT: 'tcp://10.0.0.1:3000',
        ALLOT_SERVER_PORT: 'tcp://10.0.0.1:3000',
        ALLOT_SERVICE_HOST: '10.0.0.1',
        ALLOT_API_SERVICE_PORT_HTTP: '3000',
        ALLOT_PORT_3000_TCP_ADDR: '10.0.0.1',
      },
      '',
      (c) => c,
      configured({}),
    ],
  ] as [string, Record<string, string>, string, (config: Config) => unknown, unknown][])
    it(what, () => assert.deepEqual(pick(configured(environment, toml)), expected))

  for (const [environment, message] of [
    [{ ALLOT_SERVER_PORT: 'x' }, 'ALLOT_SERVER_PORT: expected a number, received the string "x"'],
    [{ ALLOT_SERVER_PORT: '70000' }, 'ALLOT_SERVER_PORT: must not be above 65535'],
    [
      { ALLOT_CORS_ORIGINS: 'https://a, https://b/' },
      'ALLOT_CORS_ORIGINS[1]: expected * or an origin as browsers send it, such as https://app.example.org, without a slash at the end',
    ],
    [
      { ALLOT_QUOTA_WARNAT: '1' },
      'ALLOT_QUOTA_WARNAT: there is no such option; expected one of: ALLOT_QUOTA_DEFAULT_GROUPS, ALLOT_QUOTA_DEFAULT_TOTAL, ALLOT_QUOTA_WARN_AT',
    ],
    [
      { ALLOT_API_DIALECT: 'x' },
      'ALLOT_API_DIALECT: expected one of "specification", "forgejo", received the string "x"',
    ],
    ...['ALLOT_REQUIRE_SIGN_IN', 'ALLOT_CONSTRUCTOR'].map(
      (name) =>
        [
          { [name]: 'x' },
          `${name}: there is no such option; expected one of: ${Object.keys(Config.entries).map(variableOf).join(', ')}`,
        ] as const,
    ),
    [{ ALLOT_LFS: 'off' }, 'ALLOT_LFS: expected an object with options, or false, received the string "off"'],
    [
      { ALLOT_SERVER_HOST: ' ', ALLOT_SERVER_PAGES: 'yes' },
      'ALLOT_SERVER_PAGES: expected a boolean, received the string "yes"',
    ],
  ] as const)
    it(`is refused with the name of the variable: ${message}`, () => {
      assert.throws(() => configured(environment), { message: `the environment:\n  ${message}` })
    })

  it('is refused together with the file', () => {
    assert.throws(
      () => configured({ ALLOT_SERVER_PORT: 'x' }, '[server]\nhost = 5\n'),
      (error: Error) => {
        assert.match(error.message, /allot\.toml and the environment:\n/)
        assert.match(error.message, /\n {2}server\.host: expected a string/)
        assert.match(error.message, /\n {2}ALLOT_SERVER_PORT: expected a number/)
        return true
      },
    )
  })
})

describe('Users are changed and deleted', () => {
  const STEPS: readonly (readonly [args: string[], says: RegExp, user: object, input?: string])[] = [
    [
      ['edit', 'ann', '--email', 'ann@example.org', '--full-name', 'Ann B.', '--admin'],
      /the user ann is changed/,
      { email: 'ann@example.org', full_name: 'Ann B.', is_admin: true },
    ],
    [['edit', 'ann', '--no-admin'], /is changed/, { full_name: 'Ann B.', is_admin: false }],
    [['disable', 'ann'], /the user ann cannot sign in any more/, { active: false }],
    [['disable', 'ann', '--undo'], /the user ann can sign in again/, { active: true }],
    [['password', 'ann', '--password', 'another password'], /the user ann has another password/, {}],
    [['password', 'ann', '--password-stdin'], /the user ann has another password/, {}, 'one more password'],
    [['password', 'ann'], /the user ann has another password/, {}, ' a new password\r\nnot this line'],
  ]
  for (const place of ['in a store', 'on a server'])
    it(place, async () => {
      const data = temporaryDirectory()
      const token = (await allot(['user', 'add', 'root', '--admin', '--token', '--data', data])).out.trim()
      await allot(['user', 'add', 'ann', '--password-stdin', '--data', data], undefined, {
        input: Buffer.from('an old password\n'),
      })
      const server = place === 'on a server' ? await served(['--data', data]) : undefined
      const env = server && { ALLOT_URL: new URL(server.api).origin, ALLOT_TOKEN: token }
      const signIn = async (api: string, password: string) =>
        (await createSender(api)('GET', '/user', { headers: basic('ann', password) })).status
      if (server) assert.equal(await signIn(server.api, 'an old password'), 200)
      const run = (...args: string[]) => runWith('', ...args)
      const runWith = (input: string, ...args: string[]) => {
        const words = ['user', ...args, ...(server ? [] : ['--data', data])]
        return allot(words, undefined, { input: Buffer.from(input), ...(env && { env }) })
      }
      const users = async () => JSON.parse((await run('list', '--json')).out) as { login: string }[]
      for (const [args, says, user, input = ''] of STEPS) {
        const { code, err } = await runWith(input, ...args)
        assert.equal(code, 0, err)
        assert.match(err, says)
        const ann = (await users()).find(({ login }) => login === 'ann')
        assert.deepEqual({ ...ann, ...user }, ann, args.join(' '))
      }
      const running = server ?? (await served(['--data', data]))
      assert.equal(await signIn(running.api, ' a new password'), 200)
      const body = { name: 'demo' }
      await createSender(running.api)('POST', '/user/repos', {
        headers: basic('ann', ' a new password'),
        body,
      })
      if (server === undefined) await running.stop()
      const { code, err } = await run('delete', 'ann')
      assert.deepEqual([code, /or give --purge to delete them too$/m.test(err)], [1, true], err)
      assert.equal((await run('delete', 'ann', '--purge')).code, 0)
      assert.deepEqual(
        (await users()).map(({ login }) => login),
        ['root'],
      )
    })
})
