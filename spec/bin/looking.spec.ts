import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { before, describe, it } from 'node:test'
import { fetchErrorReason } from '../../bin/client/api.ts'
import { forEachCommand } from '../../bin/command-line.ts'
import { errorLine, exitCodeOf } from '../../bin/errors.ts'
import { createProgram } from '../../bin/program.ts'
import { temporaryDirectory } from '../support/folder.ts'
import { listen } from '../support/listen.ts'
import { createSender, start } from '../support/test-server.ts'
import { allot, type ServedHere, served } from './in-process.ts'
import type { Outcome } from './program.ts'

const MIB = 1024 * 1024

/** One store with something to see in it, first served, and then alone. */
describe('The command line', () => {
  const data = temporaryDirectory()
  let token: string
  let spare: string
  let server: ServedHere
  const asked: Record<string, Outcome> = {}
  const LOOKS: Record<string, string[]> = {
    show: ['quota', 'show', 'acme'],
    'show --json': ['quota', 'show', 'acme', '--json'],
    explain: ['quota', 'explain', 'acme', '--subject', 'size:assets:artifacts'],
    over: ['quota', 'over', '--subject', 'size:assets:artifacts', '--within', '50%'],
    'over --json': ['quota', 'over', '--subject', 'size:assets:artifacts', '--json'],
    'over of any subject': ['quota', 'over'],
    'explain any subject': ['quota', 'explain', 'acme'],
    history: ['quota', 'history', 'acme'],
    'history --json': ['quota', 'history', 'acme', '--days', '2', '--json'],
    rules: ['quota', 'rules'],
    groups: ['quota', 'groups'],
    users: ['user', 'list'],
    'users --json': ['user', 'list', '--json'],
    organizations: ['org', 'list'],
    tokens: ['token', 'list', 'ci'],
    repositories: ['repo', 'list'],
    'those of an owner': ['repo', 'list', 'acme', '--by', 'name'],
    'largest of an owner': ['repo', 'list', 'acme', '--by', 'largest'],
    largest: ['repo', 'list', '--by', 'largest'],
  }
  const environment = () => ({ ALLOT_URL: new URL(server.api).origin, ALLOT_TOKEN: token })
  const outcomesOf = (all: readonly string[][]) => Promise.all(all.map((args) => there(...args)))
  const there = (...words: string[]) => allot(words, undefined, { env: environment() })

  before(async () => {
    token = (await allot(['user', 'add', 'ci', '--admin', '--token', '--data', data])).out.trim()
    server = await served(['--data', data])
    const ask = createSender(server.api)
    const as = (method: string, path: string, body?: unknown) => ask(method, path, { token, body })
    assert.equal((await there('org', 'add', 'acme', '--owner', 'ci')).code, 0)
    assert.equal((await there('org', 'add', 'lone', '--owner', 'ci')).code, 0)
    assert.equal((await as('DELETE', '/orgs/lone/members/ci')).status, 204)
    assert.equal((await as('POST', '/orgs/acme/repos', { name: 'demo' })).status, 201)
    const entry = { repository: 'acme/demo', name: 'build.zip', size: 3 * MIB, run: 1 }
    assert.equal((await as('PUT', '/admin/ledger/artifacts/a', entry)).status, 201)
    await there('quota', 'rules', 'set', 'few', '--limit', '2 MiB', '--subjects', 'size:assets:artifacts')
    await there('quota', 'rules', 'set', 'total', '--limit', '1 GiB', '--subjects', 'size:all')
    await there('quota', 'groups', 'set', 'free', '--rules', 'few,total')
    await there('quota', 'groups', 'assign', 'acme', 'free')
    // One that is not used: the uses of the other are saved in the background.
    const made = await as('POST', '/users/ci/tokens', { name: 'spare', scopes: ['all'] })
    spare = made.body.sha1
    const results = await outcomesOf(Object.values(LOOKS))
    Object.keys(LOOKS).forEach((what, at) => {
      asked[what] = results[at]!
    })
  })
  const out = (what: string): string => {
    const { code, out, err } = asked[what]!
    assert.deepEqual([code, err], [0, ''], what)
    return out
  }

  it("shows an owner's usage by category, in aligned columns, and as an exact number", () => {
    const shown = out('show')
    assert.match(shown, /^acme uses 3\.0 MiB$/m)
    assert.match(shown, /^ {2}OVER by 1\.0 MiB: the rule few limits size:assets:artifacts to 2\.0 MiB$/m)
    assert.match(shown, /^ {2}3,145,\d\d\d bytes$/m)
    assert.match(shown, /^KIND +USED +SHARE$/m)
    for (const row of ['artifacts +3\\.0 MiB +99 %', 'packages +0 B +0 %'])
      assert.match(shown, new RegExp(`^${row}$`, 'm'))
    assert.match(shown, /^GROUP +RULE +USED +LIMIT\nfree +few +3\.0 MiB +2\.0 MiB +OVER by 1\.0 MiB$/m)
    assert.ok(shown.split('\n').every((line) => line.length <= 80))
    const { used } = JSON.parse(out('show --json'))
    assert.equal(used.size.assets.artifacts, 3 * MIB)
  })

  it('explains why an owner is over quota, and lists owners who are', () => {
    assert.match(
      out('explain'),
      /^acme uses 3\.0 MiB of 2\.0 MiB for size:assets:artifacts: OVER by 1\.0 MiB$/m,
    )
    assert.match(
      out('explain'),
      /^Over quota: no group that limits size:assets:artifacts allows more of it\./m,
    )
    const row =
      /^NAME +SUBJECT +RULE +USED +LIMIT\nacme +size:assets:artifacts +few +3\.0 MiB +2\.0 MiB +OVER by 1\.0 MiB\n$/
    assert.match(out('over'), row)
    assert.equal(out('over of any subject'), out('over'))
    assert.match(
      out('explain any subject'),
      /^Over quota: no group that limits size:assets:artifacts allows more of it\./m,
    )
    assert.deepEqual(JSON.parse(out('over --json'))[0].left, -MIB)
  })

  it('lists usage by day, and says when there is none', async () => {
    // There are two days when the repository was created on the one before.
    const rows =
      /^DAY +USED +CHANGE +BYTES\n(?:[\d-]{10} .*\n)?[\d-]{10} +3\.0 MiB +(?:\+[\d.]+ MiB +)?3,145,\d{3}\n$/
    assert.match(out('history'), rows)
    const days = JSON.parse(out('history --json'))
    assert.equal(days.at(-1).size.assets.artifacts, 3 * MIB)
    const none = await there('quota', 'history')
    assert.deepEqual([none.code, none.out, none.err], [0, '', 'nothing was stored yet\n'])
  })

  it('says that the limit is reached when exactly as much is used', async () => {
    const ask = createSender(server.api)
    const body = { owner: 'lone', name: 'x', type: 'generic', version: '1', size: MIB }
    const entry = (method: string) => ask(method, '/admin/ledger/packages/full', { token, body })
    await entry('PUT')
    await there('quota', 'rules', 'set', 'full', '--limit', '1 MiB', '--subjects', 'size:assets:packages:all')
    await there('quota', 'groups', 'set', 'exact', '--rules', 'full')
    await there('quota', 'groups', 'assign', 'lone', 'exact')
    const [show, explain, over] = await outcomesOf(
      ['show', 'explain', 'over'].map((look) => ['quota', look, ...(look === 'over' ? [] : ['lone'])]),
    )
    await entry('DELETE')
    await there('quota', 'groups', 'delete', 'exact')
    await there('quota', 'rules', 'delete', 'full')
    const limit = /^ {2}limit reached: the rule full limits size:assets:packages:all to 1\.0 MiB$/m
    assert.match(show!.out, limit)
    assert.match(show!.out, /^exact +full +1\.0 MiB +1\.0 MiB +limit reached$/m)
    assert.match(
      explain!.out,
      /^lone uses 1\.0 MiB of 1\.0 MiB for size:assets:packages:all: limit reached$/m,
    )
    assert.match(over!.out, /^lone +size:assets:packages:all +full +1\.0 MiB +1\.0 MiB +limit reached$/m)
    for (const { out } of [show!, explain!, over!]) assert.doesNotMatch(out, /by 0/)
  })

  it('lists rules, groups, accounts, repositories, and tokens without their secrets', () => {
    assert.match(out('rules'), /^few +2\.0 MiB +size:assets:artifacts$/m)
    assert.match(out('groups'), /^free +few \(2\.0 MiB\), total \(1\.0 GiB\)$/m)
    assert.match(out('users'), /^\d+ +ci +administrator +yes +public +\d{4}-\d\d-\d\d +ci@/m)
    assert.equal(JSON.parse(out('users --json'))[0].login, 'ci')
    assert.match(out('organizations'), /^\d+ +acme +public$/m)
    assert.match(out('organizations'), /^\d+ +lone +public +no owner$/m)
    assert.match(out('tokens'), new RegExp(`^\\d+ +${spare.slice(-8)} +\\S+ +never +all +spare$`, 'm'))
    assert.match(out('tokens'), new RegExp(`^\\d+ +${token.slice(-8)} +\\S+ +\\S+ +all +cli$`, 'm'))
    for (const { out, err } of Object.values(asked))
      for (const secret of [token, spare]) assert.ok(!(out + err).includes(secret), 'no secret is printed')
    assert.match(out('repositories'), /acme\/demo$/m)
    assert.equal(out('those of an owner'), out('repositories'))
  })

  it('lists the largest repositories with all bytes that count, of an owner and of all owners', () => {
    const row =
      /^ID +USED +BYTES +VISIBILITY +CHANGED +NAME\n\d+ +3\.0 MiB +3,145,\d{3} +open +\S+ +acme\/demo\n$/
    assert.match(out('largest'), row)
    assert.equal(out('largest of an owner'), out('largest'))
    assert.match(out('repositories'), /^ID +GIT AND LFS +.*\n\d+ +0\.\d KiB|^ID.*\n\d+ +0 B/)
  })

  it('shows the usage of the user of the token when no owner is named', async () => {
    assert.match((await there('quota', 'show')).out, /^ci uses 0 B, and nothing limits it\n/)
    const away = await allot(['quota', 'show', '--data', data])
    assert.deepEqual([away.code, away.out], [2, ''])
    assert.match(away.err, /^allot: whose quota\?/)
  })

  it('creates and deletes on a server what it creates and deletes in a store', async () => {
    const made = await there('user', 'add', 'bob', '--admin', '--token', '--json')
    const { login, token: secret } = JSON.parse(made.out)
    const own = await createSender(server.api)('GET', '/user', { token: secret })
    assert.deepEqual([login, own.body.login, own.body.is_admin], ['bob', 'bob', true])
    assert.equal((await there('token', 'delete', 'bob', 'cli')).code, 0)
    assert.equal((await createSender(server.api)('GET', '/user', { token: secret })).status, 401)
    const narrow = await there('token', 'add', 'bob', '--scopes', 'read:user')
    assert.match(narrow.out, /^[0-9a-f]{40}\n$/)
    const setGone = (...options: string[]) => there('quota', 'rules', 'set', 'gone', ...options)
    const noSubjects = await setGone('--limit', '1')
    assert.deepEqual([noSubjects.code, noSubjects.out], [2, ''])
    assert.match(
      noSubjects.err,
      /^allot: a rule limits only its subjects: give --subjects, such as --subjects size:all\n/,
    )
    assert.doesNotMatch((await there('quota', 'rules')).out, /gone/)
    assert.equal((await setGone('--limit', '1', '--subjects', 'size:git:all')).code, 0)
    assert.equal((await setGone('--subjects', 'size:all')).code, 0, 'the limit stays')
    assert.match((await there('quota', 'rules')).out, /^gone +1 B +size:all$/m)
    assert.equal((await setGone('--limit', '2')).code, 0, 'the subjects stay')
    assert.match((await there('quota', 'rules')).out, /^gone +2 B +size:all$/m)
    assert.match(
      (await setGone('--subjects', '')).err,
      /^the rule gone has no subjects, so it limits nothing\n/,
    )
    assert.equal((await there('quota', 'rules', 'delete', 'gone')).code, 0)
    assert.deepEqual(
      (await there('quota', 'rules', 'delete', 'gone')).err,
      'allot: there is no rule named gone\n',
    )
  })

  it('prints the same for a store without a server, and leaves the store unchanged', async () => {
    await server.stop()
    const links = new RegExp(new URL(server.api).origin, 'g')
    const same = [
      'show',
      'explain',
      'over --json',
      'rules',
      'groups',
      'organizations',
      'repositories',
      'largest',
    ]
    const users = ['user', 'list', '--json']
    const words = [...same.map((what) => LOOKS[what]!), users].map((args) => [...args, '--data', data])
    const results = await outcomesOf(words)
    same.forEach((what, at) => {
      const out = asked[what]!.out.replace(links, 'http://localhost')
      assert.deepEqual(results[at], { code: 0, err: '', out }, what)
    })
    const { out } = results.at(-1)!
    assert.deepEqual(
      JSON.parse(out).map((one: { login: string }) => one.login),
      ['bob', 'ci'],
      'reading created no account',
    )
  })
})

describe('A wrong command line', () => {
  before(() => {
    delete process.env.ALLOT_URL
    delete process.env.ALLOT_TOKEN
  })

  const WRONG: [what: string, args: string[], code: number, err: RegExp][] = [
    ['a word too few', ['quota'], 2, /Commands:/],
    ['a word that is nearly one', ['quota', 'shwo', 'acme'], 2, /Did you mean show\?/],
    ["another program's word", ['users', 'list'], 2, /Did you mean user\?/],
    ['an unknown subject', ['quota', 'explain', 'a', '--subject', 'all'], 2, /Allowed choices are size:all,/],
    ['a wrong percentage', ['quota', 'over', '--within', 'twenty'], 2, /Expected a percentage/],
    ['too many days', ['quota', 'history', 'acme', '--days', '401'], 2, /whole number from 1 to 400/],
    [
      'a wrong size',
      ['quota', 'rules', 'set', 'a', '--limit', '2GB'],
      2,
      /Expected bytes.*"2 GiB".*"GB" is not a unit/,
    ],
    [
      'unknown subjects',
      ['quota', 'rules', 'set', 'a', '--subjects', 'size:al'],
      2,
      /Unknown subject "size:al"; expected one of: size:all,/,
    ],
    ['an order of nobody', ['repo', 'list', '--by', 'name'], 2, /name the owner$/m],
    [
      'two places at once',
      ['user', 'list', '--url', 'http://127.0.0.1:9', '--data', 'x'],
      2,
      /give one of them/,
    ],
    [
      'a server without a scheme',
      ['user', 'list', '--url', 'localhost:3000', '--token', 't'],
      2,
      /such as http:/,
    ],
    ['a token for nobody', ['user', 'list', '--token', 'secret-token'], 2, /name it with --url/],
    [
      'a token with a blank',
      ['user', 'list', '--url', 'http://127.0.0.1:9', '--token', 'secret token'],
      2,
      /no token has/,
    ],
    [
      'a password in the address',
      ['user', 'list', '--url', 'root:secret@127.0.0.1:9', '--token', 't'],
      2,
      /--url …@127/,
    ],
    [
      'a password with / and @ in the address',
      ['user', 'list', '--url', 'ftp://root:secret/secret@secret@127.0.0.1:9', '--token', 't'],
      2,
      /--url ftp:\/\/…@127/,
    ],
    [
      'a server that is not there',
      ['user', 'list', '--url', 'http://u:secret@127.0.0.1:9', '--token', 't'],
      1,
      /^allot: http:\/\/127\.0\.0\.1:9\/\S+ cannot be reached: /,
    ],
    [
      'a port on which nothing listens',
      ['user', 'list', '--url', 'http://127.0.0.1:3', '--token', 't'],
      1,
      / cannot be reached: nothing listens on this port: start the server, or correct the port\n$/,
    ],
    ['an unknown shell', ['completion', 'tcsh'], 2, /Allowed choices are bash\./],
    ['a name with a slash', ['quota', 'show', '..'], 2, /is not a valid name/],
  ]
  for (const [what, args, code, err] of WRONG)
    it(`is refused with a sentence: ${what}`, async () => {
      const program = createProgram()
      let said = ''
      const hear = (text: string) => {
        said += text
      }
      forEachCommand(program, (command) =>
        command.configureOutput({ writeErr: hear, writeOut: () => assert.fail() }),
      )
      const error = await program.parseAsync(args, { from: 'user' }).then(
        () => assert.fail(),
        (error) => error,
      )
      said += errorLine(error)
      assert.equal(exitCodeOf(error), code, said)
      assert.match(said, err)
      assert.doesNotMatch(said, /secret/)
    })

  it('exits with 2, or with 1 when the store does not exist, and creates no store', async () => {
    const cwd = temporaryDirectory()
    const env = { ALLOT_URL: '', ALLOT_TOKEN: '' }
    const misused = await allot(['quota', 'shwo'], cwd, { env })
    assert.deepEqual([misused.code, misused.out], [2, ''])
    const none = await allot(['user', 'list'], cwd, { env })
    assert.deepEqual([none.code, none.out], [1, ''])
    assert.match(none.err, /^allot: there is no store in .*--data.*--url\n$/)
    assert.ok(!existsSync(join(cwd, 'data')))
  })

  it('takes the address of the API, and that below which a host serves everything', async () => {
    const { allot: embedded } = await start({ repositories: false })
    const root = (await embedded.accounts.byName('root'))!
    const { secret } = await embedded.tokens.create(root.id, 'command', ['all'])
    const { origin } = await listen(embedded.listener({ prefix: '/q', pages: '/storage' }))
    for (const path of ['/q', '/q/', '/q/api/v1', '/q/api/v1/'])
      for (const command of [
        ['user', 'list'],
        ['quota', 'over'],
      ]) {
        const { code, err } = await allot([...command, '--url', origin + path, '--token', secret])
        assert.equal(code, 0, `${command.join(' ')} ${path}: ${err}`)
      }
  })

  for (const status of [200, 404, 502])
    it(`says in a line, without its HTML, when the server is not an Allot and answers ${status}`, async () => {
      const { origin } = await listen((_, res) =>
        res
          .writeHead(status, { 'content-type': 'text/html', 'x-total-count': 1 })
          .end('<html>\n<p>Sorry</p>'),
      )
      for (const path of ['', '/q']) {
        const { code, err } = await allot(['user', 'list', '--url', origin + path, '--token', 't'])
        assert.equal(code, 1)
        assert.match(err, /^allot: \S+ is not the address of an Allot: \S+\/version answered [^<\n]+\n$/)
        assert.match(err, new RegExp(`answered ${status} without JSON\\n$`))
      }
    })

  it('asks a server for its version only when it must know whether that is an Allot', async () => {
    const asked: (string | undefined)[] = []
    const { origin } = await listen((req, res) => {
      asked.push(req.url)
      res.writeHead(200, { 'content-type': 'application/json', 'x-total-count': 0 }).end('[]')
    })
    assert.equal((await allot(['user', 'list', '--url', origin, '--token', 't'])).code, 0)
    assert.deepEqual(asked, ['/api/v1/admin/users?page=1&limit=50'])
  })

  it('shows no HTML of a proxy that answers in the place of an Allot', async () => {
    const { origin } = await listen((req, res) => {
      if (req.url?.endsWith('/version')) res.setHeader('content-type', 'application/json').end('{}')
      else res.writeHead(502, { 'content-type': 'text/html' }).end('<html>')
    })
    const { code, err } = await allot(['user', 'list', '--url', origin, '--token', 't'])
    assert.deepEqual([code, /^allot: \S+ answered 502\n$/.test(err)], [1, true], err)
  })
})

it('A server that is still at work after the bound of node is not said to be gone', async () => {
  // What `fetch` throws after 300 s.
  const cause = Object.assign(new Error('Headers Timeout Error'), { code: 'UND_ERR_HEADERS_TIMEOUT' })
  const reason = fetchErrorReason(new TypeError('fetch failed', { cause }))
  assert.equal(reason, 'the server did not answer within 300 s, and may still be at work')
})
