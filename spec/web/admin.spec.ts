import assert from 'node:assert/strict'
import { after, before, describe, it, mock } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import { memory } from '../../drivers/memory/index.ts'
import { atEnd } from '../support/cleanup.ts'
import { hashSlowly } from '../support/hashing.ts'
import { madeBefore } from '../support/test-server.ts'
import { waitFor } from '../support/wait-for.ts'
import { type PageClient, type PageServer, startPages, words } from './browser.ts'
import { PASSWORD, startFixture } from './fixture.ts'

describe('The table of owners', () => {
  let allot: PageServer
  let root: PageClient
  before(async () => {
    // The pages show days: it stays the same one, also at midnight.
    const now = Date.now()
    allot = await startFixture(now)
    mock.timers.enable({ apis: ['Date'], now })
    root = await allot.signedIn('root', PASSWORD)
  })
  after(() => {
    mock.timers.reset()
    return allot.stop()
  })

  const listed = async (query = '') =>
    [...(await root.get(`/-/admin/owners${query}`)).text.matchAll(/name="owner" value="([^"]*)"/g)].map(
      ([, name]) => name,
    )

  it('lists users and organizations, largest first, and sorts by name, share and growth', async () => {
    assert.deepEqual(await listed(), ['acme', 'ann', 'secret', 'ben', 'club', 'root'])
    assert.deepEqual(await listed('?order=reverse'), ['ben', 'club', 'root', 'secret', 'ann', 'acme'])
    assert.deepEqual(await listed('?sort=name'), ['acme', 'ann', 'ben', 'club', 'root', 'secret'])
    assert.deepEqual((await listed('?sort=share')).slice(0, 2), ['ann', 'acme'])
    assert.deepEqual((await listed('?sort=growth')).slice(0, 2), ['acme', 'ann'])
    const { text } = await root.get('/-/admin/owners')
    assert.match(
      words(text),
      /acme organization · Account Over quota by 20 MiB Total: 220 of 200 MiB \(110%\), rule total · Choose what to remove free \+ 220 MiB in 30 days 220 MiB/,
    )
    assert.match(words(text), /ben user · Account No limit paid No change in 30 days 0 B/)
  })

  it('searches by a part of the name, and filters by state and group', async () => {
    // The full name of ann contains a c, too.
    assert.deepEqual(await listed('?q=C'), ['acme', 'ann', 'secret', 'club'])
    assert.deepEqual(await listed('?q=no+such'), [])
    assert.deepEqual(await listed('?state=over'), ['acme', 'ann'])
    assert.deepEqual(await listed('?group=paid'), ['ben'])
    assert.deepEqual(await listed('?group=paid&state=over'), [])
    for (const query of ['?page=7', '?state=x&sort=y&group=%00', `?q=${'x'.repeat(5000)}`])
      assert.equal((await root.get(`/-/admin/owners${query}`)).status, 200)
  })

  it('says once that no owner matches', async () => {
    const text = words((await root.get('/-/admin/owners?q=no+such')).text)
    assert.match(text, /No owner matches/)
    assert.doesNotMatch(text, /0 owners/)
  })

  it('says how each owner grew in 30 days as the pages of the owner do, and counts from 0 for those that are newer', async () => {
    const { text } = await root.get('/-/admin/owners')
    const rows = new Map(
      [...text.matchAll(/<tr>.*?name="owner" value="([^"]*)".*?<\/tr>/gs)].map(([row, name]) => [name, row]),
    )
    for (const [owner, expected] of [
      ['ann', /^\+ ?48\.9 MiB$/],
      ['acme', /^\+ ?220 MiB$/],
      ['club', /^No change$/],
    ] as const) {
      const [, cell] = /<td class="number growth">(.*?)<\/td>/s.exec(rows.get(owner)!)!
      const growth = words(cell!).replace('in 30 days', '').trim()
      assert.match(growth, expected)
      const shown = words((await root.get(`/-/storage/${owner}`)).text)
      assert.ok(shown.includes(`Last 30 days ${growth}`), `${owner}: ${shown}`)
      if (owner === 'club') continue
      const history = words((await root.get(`/-/storage/${owner}/history`)).text)
      assert.ok(history.includes(growth), `${owner}: ${history}`)
    }
    const empty = [...text.matchAll(/<td class="number[^"]*"><\/td>/g)]
    assert.deepEqual(empty, [], 'no cell is blank')
  })

  it('grew as much as its owners together', async () => {
    const [, ...rows] = (await root.get('/-/admin/owners.csv')).text.trim().split(/\r?\n/)
    const sum = rows.reduce((bytes, row) => bytes + Number(row.split(',').at(-1)), 0)
    const { text } = await root.get('/-/admin')
    const [, total] = /<dt>Last 30 days<\/dt><dd>\+<data value="(\d+)"/.exec(text)!
    assert.equal(sum, Number(total))
    assert.ok(sum > 0)
  })

  it('is a CSV file', async () => {
    const { text, headers } = await root.get('/-/admin/owners.csv?state=over')
    assert.match(headers.get('content-type')!, /^text\/csv/)
    const [head, first, second, ...rest] = text.trim().split('\r\n')
    assert.equal(head, 'name,kind,used,limit,rule,state,groups,growth')
    assert.match(first!, /^acme,organization,\d+,209715200,total,over,free,230686721$/)
    assert.match(second!, /^ann,user,\d+,41943040,builds,over,free,\d+$/)
    assert.deepEqual(rest, [])
  })

  it('tells several groups of an owner apart in the CSV file', async () => {
    const change = { owner: 'ben', group: 'free' }
    await root.post('/-/admin/owners', { ...change, change: 'add' })
    assert.match((await root.get('/-/admin/owners.csv?q=ben')).text, /^ben,.*,"free, paid",\d*$/m)
    await root.post('/-/admin/owners', { ...change, change: 'remove' })
  })

  it('changes the groups of several owners at once, after a preview', async () => {
    const change = { owner: ['ann', 'acme'], group: 'paid', change: 'add' }
    const shown = await root.post('/-/admin/owners', { ...change, do: 'preview' })
    assert.match(
      words(shown.text),
      /ann and acme get the group paid .* applies to 2 owners\. 2 lose a limit\. ann No limit anymore/,
    )
    assert.deepEqual(await listed('?group=paid'), ['ben'])
    const done = await root.post('/-/admin/owners', change)
    assert.equal(done.headers.get('location'), '/-/admin/owners?done=saved')
    assert.deepEqual(await listed('?group=paid'), ['acme', 'ann', 'ben'])
    await root.post('/-/admin/owners', { ...change, change: 'remove' })
    assert.deepEqual(await listed('?group=paid'), ['ben'])
    for (const [fields, message] of [
      [{ group: 'paid' }, /Select at least one/],
      [{ owner: 'nobody', group: 'paid' }, /There is no user or organization named &quot;nobody&quot;/],
      [{ owner: 'ann', group: 'none' }, /Choose one/],
      [{ owner: Array(51).fill('ann'), group: 'paid' }, /Select at most 50, got 51/],
    ] as const) {
      const { status, text } = await root.post('/-/admin/owners', fields)
      assert.equal(status, 422)
      assert.match(text, message)
    }
  })

  it('shows a change of usage, of a limit and of a name at once', async () => {
    await allot.allot.ledger.put({
      kind: 'packages',
      key: 'new',
      owner: 'ben',
      name: 'p',
      size: 300 * 1024 ** 2,
      type: 'npm',
      version: '1',
    })
    assert.equal((await listed())[0], 'ben')
    await allot.allot.ledger.delete({ kind: 'packages', key: 'new' })
    await allot.allot.quota.rules.edit('builds', { limit: -1 })
    assert.deepEqual(await listed('?state=over'), ['acme'])
    await allot.allot.quota.rules.edit('builds', { limit: 40 * 1024 ** 2 })
    assert.deepEqual(await listed('?state=over'), ['acme', 'ann'])
  })

  it('is read again for what a form has changed, and not for what it only asks or previews', async (t) => {
    const { ownerTable } = allot.allot.hosting
    const changed = t.mock.method(ownerTable, 'changed')
    await root.post('/-/admin/account/delete', { name: 'ben' })
    await root.post('/-/admin/account/token', { name: 'ben', token: 'new', scope: 'read:user' })
    await root.post('/-/admin/groups', { name: 'asked', do: 'preview' })
    assert.equal(changed.mock.callCount(), 0)
    await root.post('/-/admin/groups', { name: 'asked' })
    assert.equal(changed.mock.callCount(), 1)
    await allot.allot.quota.groups.remove('asked')
  })

  it('is for administrators', async () => {
    const ann = await allot.signedIn('ann', PASSWORD)
    for (const path of ['owners', 'owners.csv', 'account?name=ben', 'accounts/new', ''])
      assert.equal((await ann.get(`/-/admin/${path}`.replace(/\/$/, ''))).status, 403, path)
    const reader = await allot.signedIn('', await allot.scoped(allot.root, 'read:admin', 'read:user'))
    await reader.get('/-/admin/owners')
    const change = { owner: 'ann', group: 'paid', change: 'add' }
    assert.equal((await reader.post('/-/admin/owners', change)).status, 403)
    for (const path of [
      'account',
      'account/delete',
      'account/token',
      'account/active',
      'account/password',
      'account/password-link',
      'accounts/new',
    ])
      assert.equal(
        (await reader.post(`/-/admin/${path}`, { name: 'ben', confirmed: 'yes' })).status,
        403,
        path,
      )
  })

  it('has totals over time, top consumers and the state of the server beside it on the overview', async () => {
    const { text } = await root.get('/-/admin')
    assert.equal(text.match(/class="hit"/g)!.length, 82)
    assert.match(words(text), /Last 30 days \+ 274 MiB Over quota 2 Near limit 0 No limit 1/)
    assert.match(
      words(text),
      /Top consumers All owners Owner Last 30 days Of total Usage acme \+ 220 MiB 55% 220 MiB ann/,
    )
    assert.match(words(text), /Server Audit log Version 0\.1\.0 Store Memory layout \d+ Jobs under way None/)
  })
})

describe('The growth of an owner', () => {
  const DAY = 86_400_000
  let allot: PageServer
  let root: PageClient
  before(async () => {
    mock.timers.enable({ apis: ['Date'], now: Date.UTC(2026, 0, 1, 12) })
    allot = await startPages()
    await allot.allot.hosting.accounts.edit(allot.root.id, { password: PASSWORD })
  })
  after(() => {
    mock.timers.reset()
    return allot.stop()
  })

  /** Sets what root uses. */
  const use = (size: number) =>
    allot.allot.ledger.put({
      ...{ kind: 'packages', key: 'k', owner: 'root', name: 'p', size, type: 'npm', version: '1' },
    } as const)
  /** Growth in the CSV file, on the overview of all owners, and on the pages of the owner. */
  const shown = async () => {
    root = await allot.signedIn('root', PASSWORD)
    const csv = (await root.get('/-/admin/owners.csv')).text
    const figure = /Last 30 days (.*?) (?:Over quota|History)/
    const [, total] = figure.exec(words((await root.get('/-/admin')).text))!
    const [, own] = figure.exec(words((await root.get('/-/storage/root')).text))!
    const history = words((await root.get('/-/storage/root/history?days=30')).text)
    const period = / All (.*?) in the last 30 days\./.exec(history)?.[1]
    return { csv: Number(csv.trim().split(',').at(-1)), total, own, period }
  }

  it('counts from 0 for what came in the last 30 days, also on the first day', async () => {
    await use(7000)
    assert.deepEqual(await shown(), { csv: 7000, total: '+ 6.84 KiB', own: '+ 6.84 KiB', period: undefined })
  })

  it('counts from what was used 30 days ago, however long before that it was stored', async () => {
    mock.timers.tick(500 * DAY)
    await use(9048)
    mock.timers.tick(DAY)
    await use(8024)
    assert.deepEqual(await shown(), { csv: 1024, total: '+ 1 KiB', own: '+ 1 KiB', period: '+ 1 KiB' })
  })
})

describe('The table of the many owners of a shared store', () => {
  it('shows the figures of the last scan, and scans again beside the requests', async (t) => {
    const allot = await startPages({ driver: { ...memory(), shared: true } })
    const { accounts } = allot.allot.hosting
    for (let index = 0; index < 120; index++) await accounts.createUser({ name: `u${index}` })
    const root = await allot.signedIn('', allot.root.token)
    const owners = async () => words((await root.get('/-/admin/owners?q=u7')).text)
    await waitFor(async () => (await root.get('/-/admin/owners.csv')).status === 200)
    assert.match((await root.get('/-/admin/owners.csv')).text, /^u77,/m)
    assert.match(await owners(), /11 owners/)
    await allot.allot.ledger.put({
      ...{ kind: 'packages', key: 'k', owner: 'u77', name: 'p', size: 4096, type: 'npm', version: '1' },
    })
    assert.doesNotMatch(await owners(), /4 KiB/)
    t.mock.timers.enable({ apis: ['Date'], now: Date.now() + 60_000 })
    // The first page after that begins the scan, whose figures a later page has.
    for (let asked = 0; asked < 100 && !/4 KiB/.test(await owners()); asked++) await setImmediate()
    assert.match(await owners(), /4 KiB/)
    await root.post('/-/admin/account/active', { name: 'u70', active: '' })
    assert.match(await owners(), /u70 disabled/)
  })
})

describe('The forms about accounts', () => {
  const allot = madeBefore(() => startPages())
  const root = madeBefore(() => allot.signedIn('', allot.root.token))

  it('begin with a guide on an empty instance, which ends when everything is done', async () => {
    const { text } = await root.get('/-/admin')
    assert.match(
      words(text),
      /What to do next 0 of 5 done Create the first user Create a rule: how much may be stored Create a group, .* Assign the group to owners.* Store something/,
    )
    await allot.allot.quota.rules.create({ name: 'r', limit: 5, subjects: ['size:all'] })
    const begun = (await root.get('/-/admin')).text
    assert.match(words(begun), /What to do next 1 of 5 done/)
    assert.match(
      begun,
      /<li class="done"><span><s>Create a rule: how much may be stored<\/s> <span class="tag">Done</,
    )
    assert.doesNotMatch(begun, /<a [^>]*>Create a rule/)
    await allot.allot.quota.groups.create({ name: 'g', rules: ['r'] })
    await allot.allot.quota.groups.assign('root', 'g')
    await allot.person('first')
    await allot.allot.ledger.put({
      kind: 'packages',
      key: 'k',
      owner: 'root',
      name: 'p',
      size: 1,
      type: 'npm',
      version: '1',
    })
    assert.doesNotMatch(words((await root.get('/-/admin')).text), /What to do next/)
  })

  it('create users and organizations', async () => {
    await root.get('/-/admin/accounts/new?kind=user')
    const made = await root.post('/-/admin/accounts/new', {
      ...{
        kind: 'user',
        name: 'ann',
        fullName: 'Ann',
        email: 'ann@example.org',
        password: PASSWORD,
        visibility: 'limited',
      },
    })
    assert.equal(made.headers.get('location'), '/-/admin/account?name=ann&done=created')
    const { body } = await allot.as(allot.root, 'GET', '/users/ann')
    assert.deepEqual(
      [body.full_name, body.email, body.visibility, body.is_admin],
      ['Ann', 'ann@example.org', 'limited', false],
    )
    assert.equal((await allot.browser().signIn('ann', PASSWORD)).status, 303)
    const organization = await root.post('/-/admin/accounts/new', {
      ...{ kind: 'organization', name: 'acme', owner: 'ann', visibility: 'public' },
    })
    assert.equal(organization.status, 303)
    const ann = (await allot.allot.accounts.byName('ann'))!
    const acme = (await allot.allot.accounts.byName('acme'))!
    assert.ok(await allot.allot.organizations.isOwner(acme.id, ann.id))
  })

  /** The boxes of a form of a rule, each as `depth subject`, with a tick when it is checked. */
  const boxesIn = (html: string): string[] => {
    const [, form] = /<details class="options">(.*?)<\/form>/s.exec(html)!
    const boxes = form!.matchAll(
      /<label class="box(?: deep(\d))?"><input type="checkbox" name="subject" value="([^"]*)"( checked)?/g,
    )
    return [...boxes].map(([, depth = '0', subject, checked]) => `${depth} ${subject}${checked ? ' ✓' : ''}`)
  }
  const SHOWN = [
    '0 size:all',
    '0 size:git:all',
    '1 size:repos:all',
    '2 size:repos:public',
    '2 size:repos:private',
    '1 size:git:lfs',
    '0 size:assets:all',
    '1 size:assets:attachments:all',
    '2 size:assets:attachments:issues',
    '2 size:assets:attachments:releases',
    '1 size:assets:artifacts',
    '1 size:assets:packages:all',
  ]

  it('show the subjects of a rule folded and in groups, those that a chosen one includes as ticked', async () => {
    const { text } = await root.get('/-/admin/rules')
    assert.deepEqual(
      boxesIn(text),
      SHOWN.map((box) => `${box} ✓`),
    )
    assert.match(words(text), /Subjects: Total /)
    const { rules } = allot.allot.quota
    await rules.create({ name: 'part', limit: 5, subjects: ['size:repos:all', 'size:assets:artifacts'] })
    const part = await root.get('/-/admin/rule?name=part')
    assert.deepEqual(
      boxesIn(part.text).filter((box) => box.endsWith('✓')),
      ['1 size:repos:all ✓', '2 size:repos:public ✓', '2 size:repos:private ✓', '1 size:assets:artifacts ✓'],
    )
    assert.match(words(part.text), /Subjects: Repositories and Artifacts /)
    const refused = await root.post('/-/admin/rule', { name: 'part', limit: '6', subject: 'size:none' })
    assert.equal(refused.status, 422)
  })

  it('count a subject once that another chosen one includes, and keep and show a list that counts it twice', async () => {
    const { rules } = allot.allot.quota
    const subjects = async (name: string) => (await rules.get(name))!.subjects
    const part = {
      name: 'part',
      limit: '6',
      subject: ['size:repos:all', 'size:repos:public', 'size:git:lfs'],
    }
    await root.post('/-/admin/rule', part)
    assert.deepEqual(await subjects('part'), ['size:repos:all', 'size:git:lfs'])
    await rules.edit('part', { subjects: ['size:all', 'size:git:lfs'] })
    const { text } = await root.get('/-/admin/rule?name=part')
    assert.match(
      words(text),
      /Subjects: Total and LFS .* This rule counts LFS twice, until a box is changed\. /,
    )
    const all = boxesIn(text).map((box) => box.split(' ')[1]!)
    await root.post('/-/admin/rule', { name: 'part', limit: '7', subject: all })
    assert.deepEqual(await rules.get('part'), {
      name: 'part',
      limit: 7,
      subjects: ['size:all', 'size:git:lfs'],
    })
    await root.post('/-/admin/rule', { name: 'part', limit: '7', subject: ['size:git:lfs'] })
    assert.deepEqual(await subjects('part'), ['size:git:lfs'])
    assert.doesNotMatch((await root.get('/-/admin/rule?name=part')).text, /counts .* twice/)
    await rules.edit('part', { subjects: ['size:git:lfs', 'size:git:lfs'] })
    assert.match(words((await root.get('/-/admin/rules')).text), /part LFS and LFS /)
  })

  it('show wikis, which are not served, only for a rule that has them', async () => {
    const { rules } = allot.allot.quota
    assert.doesNotMatch((await root.get('/-/admin/rules')).text, /size:wiki/)
    await rules.edit('part', { subjects: ['size:wiki'] })
    assert.deepEqual(boxesIn((await root.get('/-/admin/rule?name=part')).text), [...SHOWN, '0 size:wiki ✓'])
  })

  it('read grouped digits and every unit of a limit, and refuse groups of other than three digits', async () => {
    const saved = async (limit: string) => {
      const { status } = await root.post('/-/admin/rule', { name: 'part', limit, subject: 'size:all' })
      return status === 303 ? (await allot.allot.quota.rules.get('part'))!.limit : status
    }
    assert.deepEqual(await Promise.all(['1,0000', '1,00', '1,000,00'].map(saved)), [422, 422, 422])
    assert.equal(await saved('1,000,000'), 1_000_000)
    assert.equal(await saved('1 000 MiB'), 1000 * 1024 ** 2)
    assert.equal(await saved('2 pib'), 2 * 1024 ** 5)
  })

  it('show the unit of every limit, and read back what they show', async () => {
    const { rules } = allot.allot.quota
    for (const [limit, shown] of [
      [0, '0 bytes'],
      [1, '1 byte'],
      [1_234_567, '1,234,567 bytes'],
      [1536 * 1024 ** 2, '1536 MiB'],
      [-1, 'unlimited'],
    ] as const) {
      await rules.edit('part', { limit })
      assert.match((await root.get('/-/admin/rules')).text, new RegExp(shown.replace(' ', '\u00a0')))
      const { text } = await root.get('/-/admin/rule?name=part')
      assert.equal(/name="limit" value="([^"]*)"/.exec(text)![1], shown)
      await rules.edit('part', { limit: 5 })
      await root.post('/-/admin/rule', { name: 'part', limit: shown, subject: 'size:all' })
      assert.equal((await rules.get('part'))!.limit, limit)
    }
  })

  it('save a negative limit of the API when it is not changed, and take no new one', async () => {
    const { rules } = allot.allot.quota
    await rules.edit('part', { limit: -1_000, subjects: ['size:git:lfs'] })
    const save = async (limit: string) => {
      const { status } = await root.post('/-/admin/rule', { name: 'part', limit, subject: 'size:all' })
      return [status, await rules.get('part')]
    }
    const shown = /name="limit" value="([^"]*)"/.exec((await root.get('/-/admin/rule?name=part')).text)![1]!
    const kept = { name: 'part', limit: -1_000, subjects: ['size:all'] }
    assert.deepEqual(await save(shown), [303, kept])
    assert.deepEqual(await save('-1,001 bytes'), [422, kept])
  })

  it('take no more characters than the limit of a rule and the name of a token can have', async () => {
    const lengthOf = async (path: string, id: string) =>
      /maxlength="(\d+)"/.exec(
        new RegExp(`<input[^>]* id="${id}"[^>]*>`).exec((await root.get(path)).text)![0],
      )
    assert.equal((await lengthOf('/-/admin/rule?name=part', 'limit'))?.[1], '50')
    assert.equal((await lengthOf('/-/admin/account?name=ann', 'token'))?.[1], '255')
  })

  it('refuse to preview a new rule or group whose name exists, and a group that is assigned already', async () => {
    const { groups } = allot.allot.quota
    await groups.create({ name: 'known' })
    await groups.assign('root', 'known')
    for (const [path, fields] of [
      ['rules', { name: 'part', limit: '5', subject: 'size:all' }],
      ['groups', { name: 'known' }],
      ['group/members', { name: 'known', owner: 'root' }],
    ] as const) {
      const { status, text } = await root.post(`/-/admin/${path}`, { ...fields, do: 'preview' })
      assert.equal(status, 422, path)
      assert.match(text, /already (exists|assigned)/)
      assert.match(text, /aria-invalid/)
    }
    await groups.remove('known')
  })

  it('list and keep all rules and groups, however many there are', async () => {
    const allot = await startPages()
    const root = await allot.signedIn('', allot.root.token)
    const names = Array.from({ length: 1001 }, (_, index) => `many${index}`)
    await allot.allot.hosting.plans.apply({
      rules: names.map((name) => ({ name, limit: 5, subjects: ['size:wiki'] })),
      groups: names.map((name) => ({ name, rules: [names.at(-1)!] })),
    })
    const path = `/-/admin/group?name=${names.at(-1)}`
    const ticked = [...(await root.get(path)).text.matchAll(/<input[^>]*>/g)]
      .filter(([box]) => box.includes('name="rule"') && box.includes('checked'))
      .map(([box]) => /value="([^"]*)"/.exec(box)![1]!)
    assert.deepEqual(ticked, [names.at(-1)])
    for (const page of ['rules', 'groups', 'owners'])
      assert.ok((await root.get(`/-/admin/${page}`)).text.includes(names.at(-1)!), page)
  })

  it('keep the rules that others have added to a group since its page was shown, and add none that they removed', async () => {
    const { groups, rules } = allot.allot.quota
    const names = ['one', 'two', 'three', 'four']
    for (const name of names) await rules.create({ name, limit: 1, subjects: ['size:wiki'] })
    await groups.create({ name: 'shared', rules: ['one', 'two'] })
    const shownIn = ({ text }: { text: string }) =>
      [...text.matchAll(/name="shown" value="([^"]*)"/g)].map(([, name]) => name!)
    const shown = shownIn(await root.get('/-/admin/group?name=shared'))
    await groups.addRule('shared', 'three')
    await groups.removeRule('shared', 'one')
    const refused = await root.post('/-/admin/group', { name: 'shared', shown, rule: ['one', 'deleted'] })
    assert.deepEqual(shownIn(refused), shown)
    await root.post('/-/admin/group', { name: 'shared', shown, rule: ['one', 'four'] })
    const saved = (await groups.get('shared'))!.rules.map(({ name }) => name)
    assert.deepEqual(saved, ['three', 'four'])
    await groups.remove('shared')
    for (const name of names) await rules.remove(name)
  })

  it('say which groups use a rule, with links', async () => {
    const page = () => root.get('/-/admin/rule?name=part')
    assert.match(words((await page()).text), /No group has this rule, so it limits no owner\./)
    const { groups } = allot.allot.quota
    for (const name of ['one', 'a b']) await groups.create({ name, rules: ['part'] })
    const { text } = await page()
    assert.match(words(text), /Used by the groups one ?, a b ?\./)
    assert.match(text, /href="\/-\/admin\/group\?name=a%20b"/)
    for (const name of ['one', 'a b']) await groups.remove(name)
    await allot.allot.quota.rules.remove('part')
  })

  it('edit, disable and enable an account, set a password, and make a token that is shown once', async () => {
    const { text } = await root.get('/-/admin/account?name=ann')
    assert.match(text, /name="email"[^>]*value="ann@example\.org"|value="ann@example\.org"[^>]*name="email"/)
    await root.post('/-/admin/account', {
      name: 'ann',
      fullName: 'Ann B',
      email: 'b@example.org',
      visibility: 'public',
      admin: 'yes',
    })
    const { body } = await allot.as(allot.root, 'GET', '/users/ann')
    assert.deepEqual([body.full_name, body.email, body.is_admin], ['Ann B', 'b@example.org', true])
    await root.post('/-/admin/account', {
      name: 'ann',
      fullName: 'Ann B',
      email: 'b@example.org',
      visibility: 'public',
    })
    await root.post('/-/admin/account/password', { name: 'ann', password: 'another password' })
    assert.equal((await allot.browser().signIn('ann', PASSWORD)).status, 422)
    assert.equal((await allot.browser().signIn('ann', 'another password')).status, 303)
    const made = await root.post('/-/admin/account/token', { name: 'ann', token: 'ci', scope: 'read:user' })
    assert.match(words(made.text), /Administration .*Owners .*ann /)
    const [secret] = /\b[\da-f]{40}\b/.exec(words(made.text))!
    const user = () => allot.request('GET', '/user', { token: secret })
    assert.equal((await user()).status, 200)
    assert.ok(!(await root.get('/-/admin/account?name=ann')).text.includes(secret))
    const disabled = await root.post('/-/admin/account/active', { name: 'ann', active: '' })
    assert.equal(disabled.headers.get('location'), '/-/admin/account?name=ann&done=disabled')
    assert.equal((await user()).status, 403)
    assert.match(words((await root.get('/-/admin/account?name=ann')).text), /User, disabled/)
    await root.post('/-/admin/account/active', { name: 'ann', active: 'yes' })
    assert.equal((await user()).status, 200)
  })

  it('explain why an owner is within quota or over it', async () => {
    assert.match(
      words((await root.get('/-/admin/account?name=ann')).text),
      /Limits No rule limits this owner/,
    )
    assert.match(
      words((await root.get('/-/admin/account?name=root')).text),
      /Within quota: the rule r decides, for total ?\. Usage that reaches the limit counts as over\. Rule State Usage Limit r of the group g Total Within limit Within limit 1 B 5 B/,
    )
  })

  it('do not let administrators lock themselves out', async () => {
    for (const path of ['active', 'delete'])
      assert.equal(
        (await root.post(`/-/admin/account/${path}`, { name: 'root', confirmation: 'root' })).status,
        422,
      )
    const edited = { name: 'root', fullName: 'The root', visibility: 'public' }
    const { status, text } = await root.post('/-/admin/account', edited)
    assert.equal(status, 422)
    assert.match(text, /You cannot take this right from yourself, another administrator can\./)
    assert.match(/<input[^>]*name="admin"[^>]*>/.exec(text)![0], /aria-invalid/)
    assert.equal((await root.post('/-/admin/account', { ...edited, admin: 'yes' })).status, 303)
    assert.equal((await root.get('/-/admin')).status, 200)
  })

  it('ask before a rule or a group is deleted, and name whom it concerns', async () => {
    const rule = await root.post('/-/admin/rule/delete', { name: 'r' })
    assert.match(words(rule.text), /Delete the rule r\? This cannot be undone\./)
    await allot.allot.quota.rules.edit('r', { limit: 1 })
    const group = await root.post('/-/admin/group/delete', { name: 'g' })
    assert.match(
      words(group.text),
      /Delete the group g\? .* assigned to 1 owner\. After deletion, the owner has no limit\. root No limit anymore/,
    )
    assert.equal((await allot.allot.quota.groups.assignedTo('root')).length, 1)
    await root.post('/-/admin/group/delete', { name: 'g', confirmed: 'yes' })
    assert.equal(await allot.allot.quota.groups.get('g'), undefined)
  })
})

describe('Passwords that administrators set', () => {
  it('wait for no passwords of the host', async () => {
    const allot = await startPages()
    hashSlowly()
    const { accounts } = allot.allot.hosting
    let isOver = false
    const hashing: Promise<void>[] = []
    atEnd(() => {
      isOver = true
    })
    try {
      await accounts.edit(allot.root.id, { password: PASSWORD })
      const root = await allot.signedIn('root', PASSWORD)
      const ben = await allot.person('ben')
      await root.get('/-/admin/account?name=ben')
      // More than the share of one client, again and again.
      const hash = async () => {
        while (!isOver) {
          await accounts.edit(ben.id, { password: PASSWORD }).catch(() => undefined)
          await setImmediate()
        }
      }
      for (let count = 0; count < 40; count++) hashing.push(hash())
      const changed = await root.post('/-/admin/account/password', { name: 'ben', password: 'another one' })
      assert.equal(changed.status, 303)
      const fields = { kind: 'user', name: 'new', password: PASSWORD, visibility: 'public' }
      const created = await root.post('/-/admin/accounts/new', fields)
      assert.equal(created.status, 303)
    } finally {
      isOver = true
      await Promise.all(hashing)
      await allot.stop()
    }
  })
})
