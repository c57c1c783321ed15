import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { before, describe, it } from 'node:test'
import { type AllotOptions, createAllot } from '../../lib/index.ts'
import { temporaryDirectory } from '../support/folder.ts'
import { createSender } from '../support/request.ts'
import { allot, served } from './in-process.ts'

const PLAN = `
[[rules]]
name = "free-total"
limit = "2 GiB"
subjects = ["size:all"]

[[groups]]
name = "free"
rules = ["free-total"]

[assignments]
ci = ["free"]
`

const written = (text: string): string => {
  const file = join(temporaryDirectory(), 'quota.toml')
  writeFileSync(file, text)
  return file
}

const MADE = [
  'create rule free-total: limit 2 GiB, [size:all]',
  'create group free: [free-total]',
  'create assignment ci: [free]',
  '',
].join('\n')

describe('allot quota over', () => {
  it('uses the limits that a server or a host has last been started with, or those of --config', async () => {
    const data = temporaryDirectory()
    const log = { error: () => undefined, info: () => undefined }
    const start = (quota: AllotOptions['quota']) =>
      createAllot({ data, log, repositories: false, ...(quota === undefined ? {} : { quota }) })
    const over = async (...flags: string[]) => (await allot(['quota', 'over', '--data', data, ...flags])).out
    const named = await start({ defaultTotal: '5 MiB' })
    await named.accounts.createUser({ name: 'ada' })
    const file = { kind: 'artifacts', key: 'a', owner: 'ada', name: 'a', size: 6 * 2 ** 20 } as const
    await named.ledger.put(file)
    await named.close()
    assert.match(await over(), /^ada +size:all +default total .* OVER/m)

    const config = written('[quota]\ndefault_total = "7 MiB"\n')
    assert.equal(await over('--config', config), '')
    await (await served(['--data', data, '--config', config])).stop()
    assert.equal(await over(), '')

    await (await start({ defaultTotal: '5 MiB' })).close()
    assert.match(await over(), /^ada .* OVER/m)
    await (await start(undefined)).close()
    assert.equal(await over(), '')
  })
})

describe('allot quota show', () => {
  it('prints the largest sum exactly, from the store and from a server', async () => {
    const data = temporaryDirectory()
    const { out } = await allot(['user', 'add', 'big', '--admin', '--token', '--data', data])
    const server = await served(['--data', data])
    const flags = ['--url', server.api, '--token', out.trim()]
    try {
      const ask = createSender(server.api)
      const body = { owner: 'big', name: 'n', size: 2 ** 52, type: 'npm', version: '1' }
      const { status } = await ask('PUT', '/admin/ledger/packages/one', { token: out.trim(), body })
      assert.equal(status, 201)
      assert.match((await allot(['quota', 'show', 'big', ...flags])).out, EXACTLY)
      assert.match(
        (await allot(['quota', 'show', 'big', '--json', ...flags])).out,
        /"all": 4503599627370496\b/,
      )
    } finally {
      await server.stop()
    }
    assert.match((await allot(['quota', 'show', 'big', '--data', data])).out, EXACTLY)
    assert.equal((await allot(['verify', '--data', data])).code, 0)
  })
})
const EXACTLY = /^ {2}4,503,599,627,370,496 bytes$/m

describe('allot quota rules delete', () => {
  it('names the groups that have no rule after it, which limit nothing', async () => {
    const data = temporaryDirectory()
    await allot(['user', 'add', 'ci', '--data', data])
    const more = '[[rules]]\nname = "more"\nlimit = 1\nsubjects = ["size:all"]\n'
    const both = '[[groups]]\nname = "both"\nrules = ["free-total", "more"]\n'
    await allot(['quota', 'apply', written(more + PLAN.replace('[assign', `${both}[assign`)), '--data', data])
    const { code, err } = await allot(['quota', 'rules', 'delete', 'free-total', '--data', data])
    const note = 'the group free has no rules now, and limits nothing'
    assert.deepEqual([code, err], [0, `deleted the rule free-total\n${note}\n`])
  })
})

describe('allot quota apply', () => {
  it('applies the plan, prints the changes before with --dry-run, and changes nothing the second time', async () => {
    const data = temporaryDirectory()
    await allot(['user', 'add', 'ci', '--data', data])
    const [file, more] = [written(PLAN), written(PLAN.replace('2 GiB', '3 GiB'))]
    const apply = (...args: string[]) => allot(['quota', 'apply', ...args, '--data', data])
    assert.deepEqual(await apply(file, '--dry-run'), {
      code: 0,
      out: MADE,
      err: '3 changes to make; nothing was changed\n',
    })
    assert.deepEqual(await apply(file), { code: 0, out: MADE, err: '3 changes made\n' })
    assert.deepEqual(await apply(file), { code: 0, out: '', err: 'nothing to change\n' })
    assert.deepEqual(await apply(more), {
      code: 0,
      out: 'update rule free-total: limit 2 GiB, [size:all] -> limit 3 GiB, [size:all]\n',
      err: '1 change made\n',
    })
    const odd = written(PLAN.replace('"2 GiB"', '2147483649'))
    assert.match((await apply(odd)).out, /limit 3 GiB, .* -> limit 2,147,483,649 bytes, /)
    assert.match((await apply(written(PLAN.replace('"2 GiB"', '-1')))).out, / -> limit unlimited, /)
  })

  it('refuses names with control characters, as adding a token does, and changes nothing', async () => {
    const data = temporaryDirectory()
    await allot(['user', 'add', 'ci', '--data', data])
    const plan = written('[[groups]]\nname = "a\\u0007b"\nrules = []\n')
    const applied = await allot(['quota', 'apply', plan, '--data', data])
    assert.match(applied.err, /name: must not have control characters/)
    const added = await allot(['token', 'add', 'ci', '--name', 'a\x1bb', '--data', data])
    assert.match(added.err, /name: must not have control characters/)
    assert.deepEqual([applied.code, added.code], [1, 1])
    assert.doesNotMatch((await allot(['quota', 'groups', '--data', data])).out, /b/)
  })

  const WRONG: [what: string, text: string, message: RegExp][] = [
    ['an unknown key', 'rulez = []', /rulez: there is no such option/],
    ['a wrong size', '[[rules]]\nname = "a"\nlimit = "2 gigs"', /rules\[0\]\.limit: expected bytes/],
    [
      'an unknown subject',
      '[[rules]]\nname = "a"\nlimit = 1\nsubjects = ["all"]',
      /rules\[0\]\.subjects\[0\]/,
    ],
    [
      'an unknown key of a rule',
      '[[rules]]\nname = "a"\nlimit = 1\nsubject = ["size:all"]',
      /^allot: \S+:\n {2}rules\[0\]\.subject: there is no such option; expected one of: .*rules\[0\]\.subjects\n$/,
    ],
    [
      'an unknown key of a second group',
      '[[groups]]\nname = "a"\n[[groups]]\nname = "b"\nrule = []',
      /:\n {2}groups\[1\]\.rule: there is no such option; expected one of: groups\[1\]\.name, groups\[1\]\.rules\n$/,
    ],
    [
      'a rule without subjects',
      '[[rules]]\nname = "a"\nlimit = 1',
      /rules\[0\]\.subjects: expected at least one subject, such as \["size:all"\]/,
    ],
    [
      'a table instead of a list',
      '[rules.a]\nlimit = 1',
      /rules: expected a list: begin each of its elements with \[\[rules\]\]/,
    ],
    ['JSON', '{"rules":[]}', /cannot be read: it must be TOML, and begins like JSON\n$/],
    ['an unknown owner', '[assignments]\nnobody = []', /named nobody/],
    ['no TOML', 'rules = [', /cannot be read/],
  ]
  const store = temporaryDirectory()
  before(() => allot(['user', 'add', 'ci', '--data', store]))
  for (const [what, text, message] of WRONG)
    it(`exits with 1 and a clear line for ${what}`, async () => {
      const { code, out, err } = await allot(['quota', 'apply', written(text), '--data', store])
      assert.deepEqual([code, out], [1, ''], err)
      assert.match(err, message)
      assert.doesNotMatch(err, /\n\s+at /)
    })

  it('exits with 1 when the file does not exist, and with 2 for a wrong command line', async () => {
    const missing = await allot(['quota', 'apply', '/nowhere.toml', '--data', temporaryDirectory()])
    assert.deepEqual([missing.code, /cannot be read/.test(missing.err)], [1, true], missing.err)
    const file = written(PLAN)
    for (const args of [
      [],
      [file, '--url', 'localhost:1', '--token', 't'],
      [file, '--url', 'http://127.0.0.1:1'],
    ])
      assert.equal((await allot(['quota', 'apply', ...args])).code, 2, args.join(' '))
    const away = await allot(['quota', 'apply', file, '--url', 'http://127.0.0.1:1', '--token', 't'])
    assert.deepEqual([away.code, /cannot be reached/.test(away.err)], [1, true], away.err)
  })
})
