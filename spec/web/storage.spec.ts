import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, it, mock } from 'node:test'
import { type PageClient, type PageServer, words } from './browser.ts'
import { MARKUP, PASSWORD, startFixture } from './fixture.ts'

let allot: PageServer
const browsers = new Map<string, PageClient>()
before(async () => {
  // The pages show days: it stays the same one, also at midnight.
  const now = Date.now()
  allot = await startFixture(now)
  mock.timers.enable({ apis: ['Date'], now })
})
after(() => {
  mock.timers.reset()
  return allot.stop()
})

/** Signs in once per user, since checking a password is slow. */
const as = async (name: string): Promise<PageClient> => {
  const browser = browsers.get(name) ?? allot.browser()
  if (!browsers.has(name)) await browser.signIn(name, PASSWORD)
  browsers.set(name, browser)
  return browser
}

describe('The storage page', () => {
  it('shows the usage that the API answers, and names each limit with its rule', async () => {
    const { text } = await (await as('ann')).get('/')
    const { body } = await allot.as(allot.root, 'GET', '/admin/users/ann/quota/explain?subject=size:all')
    assert.ok(
      text.includes(`<data value="${body.used}" title="${body.used.toLocaleString('en')} bytes">173 MiB<`),
      text,
    )
    assert.match(
      words(text),
      /Limits Artifacts Over quota by 26\.3 MiB Limit: 40 MiB 66\.3 of 40 MiB \(166%\) rule builds Choose what to remove Organizations acme .* Usage 173 MiB/,
    )
    assert.match(words(text), /Usage 173 MiB of 200 MiB used \(87%\), rule total Near limit · 26\.7 MiB left/)
  })

  it('forecasts from the last 30 days when the limit is reached, and says that it is a forecast', async () => {
    const { text } = await (await as('ann')).get('/')
    const [, date, days] =
      /Forecast: at the pace of the last 30 days, the limit is reached around ([\d-]+) ?, in (\d+) days\./.exec(
        words(text),
      )!
    const { body: history } = await allot.as(allot.root, 'GET', '/admin/users/ann/quota/history')
    assert.ok(Array.isArray(history))
    assert.equal(date, new Date(Date.now() + Number(days) * 86_400_000).toISOString().slice(0, 10))
    assert.match(words(text), /Last 30 days \+ 48\.9 MiB Forecast/)
    assert.equal(Number(days), Math.ceil((26.7 * 30) / 48.9))
  })

  it('shows rules for a part of the attachments, and for all repositories together', async () => {
    const { accounts, ledger, quota, repositories } = allot.allot
    const cy = await accounts.createUser({ name: 'cy' })
    await repositories.create(cy, cy, { name: 'app' })
    const entry = { repository: 'cy/app', name: 'x.png', size: 3 * 1024 ** 2, index: 1 }
    await ledger.put({ kind: 'attachments', key: 'cy', on: 'issue', ...entry })
    await quota.apply({
      rules: [
        { name: 'screens', limit: 2 * 1024 ** 2, subjects: ['size:assets:attachments:issues'] },
        { name: 'code', limit: 5 * 1024 ** 2, subjects: ['size:repos:all'] },
      ],
      groups: [{ name: 'parts', rules: ['screens', 'code'] }],
      assignments: { cy: ['parts'] },
    })
    const text = words((await (await as('root')).get('/-/storage/cy')).text)
    assert.match(
      text,
      /Attachments of issues Over quota by 1 MiB Limit: 2 MiB 3 of 2 MiB \(150%\) rule screens/,
    )
    assert.match(text, /OK · 5 MiB left 0 B of 5 MiB \(0%\) rule code/)
    await accounts.remove(cy.id, { purge: true })
    await quota.groups.remove('parts')
    for (const name of ['screens', 'code']) await quota.rules.remove(name)
  })

  it('shows no bar for an owner without a limit', async () => {
    const { text } = await (await as('ben')).get('/')
    assert.match(words(text), /0 B used No limit/)
    assert.doesNotMatch(/<section aria-labelledby="usage".*?<\/section>/s.exec(text)![0], /<svg class="bar/)
    assert.doesNotMatch(text, /id="limits"/)
  })

  it('draws a bar whose parts add up, without inline styles', async () => {
    const { text } = await (await as('ann')).get('/')
    const [bar] = /<svg class="bar" .*?<\/svg>/.exec(text)!
    const widths = [...bar.matchAll(/<rect class="part\d" x="([\d.]+)%" width="([\d.]+)%"/g)]
    assert.equal(widths.length, 6)
    const end = widths.reduce((at, [, x, width]) => {
      assert.ok(Math.abs(Number(x) - at) < 0.01)
      return at + Number(width)
    }, 0)
    assert.ok(Math.abs(end - (100 * 181_718_236) / (200 * 1024 ** 2)) < 0.1, String(end))
  })

  it('shows the largest items of all kinds, and leads to all of them', async () => {
    const { text } = await (await as('ann')).get('/')
    assert.match(
      words(text),
      /Largest items View all 30 ↗ Stored in another system: delete it there\. Name Kind Of total Size thesis git data · private git data 18% 31 MiB 18% of total website git data · public git data 10% 18 MiB 10% of total build-5/,
    )
    assert.match(text, /href="\/-\/storage\/ann\/repositories\/thesis"/)
    const repository = await (await as('ann')).get('/-/storage/ann/repositories/thesis')
    assert.match(words(repository.text), /Git data 59% 31 MiB LFS 8% 4 MiB .* Artifacts 26% 13\.6 MiB/)
  })

  it('shows the history of a period as a chart with sizes, and as a table', async () => {
    const ann = await as('ann')
    for (const [days, count] of [
      ['7', 8],
      ['30', 31],
      ['90', 82],
      ['all', 82],
      ['x', 31],
    ] as const) {
      const { text } = await ann.get(`/-/storage/ann/history?days=${days}`)
      assert.equal(text.match(/class="hit"/g)!.length, count, days)
      assert.match(text, /<path class="area part0" d="M0 [\d.]+V[\d.]+H/)
      const ticks = words(/<div class="ticks".*?<\/div>/s.exec(text)![0])
      assert.match(ticks, /^ ?(?:\d+ MiB )+0 B $/)
      const table = words(/<details>.*?<\/details>/s.exec(text)![0])
      const rows = [...table.matchAll(/(\d{4}-\d\d-\d\d) ([\d.]+) (?:Mi)?B/g)].map(([, day]) => day!)
      assert.equal(rows.length, count)
      assert.deepEqual(rows, [...rows].sort().reverse())
      assert.match(table, /Day Used Change \d{4}-\d\d-\d\d 173 MiB/)
    }
  })

  it('shows a date of a chart below the column of that day', async () => {
    const ann = await as('ann')
    for (const path of ['ann/history?days=90', 'ann', 'acme']) {
      const { text } = await ann.get(`/-/storage/${path}`)
      const columns = [...text.matchAll(/<title>(\d{4}-\d\d-\d\d): /g)].map(([, day]) => day!)
      const dates = words(/<div class="days".*?<\/div>/s.exec(text)![0]).match(/\d{4}-\d\d-\d\d/g)!
      for (const [mark, date] of dates.entries()) {
        const place = (mark / (dates.length - 1)) * columns.length
        const column = columns.indexOf(date)
        assert.ok(column <= place && place <= column + 1, `${path}: ${date} is below column ${place}`)
      }
    }
  })

  it('shows the organizations that the user owns, with their state', async () => {
    const ann = await as('ann')
    assert.match(
      words((await ann.get('/')).text),
      /Organizations acme Over quota by 20 MiB Limit: 200 MiB Total: 220 of 200 MiB \(110%\), rule total Choose/,
    )
    const { text } = await ann.get('/-/storage/acme')
    assert.match(words(text), /220 MiB of 200 MiB used .* Over quota by 20 MiB/)
  })

  it('says how many organizations it does not list', async () => {
    const { accounts, organizations } = allot.allot.hosting
    const { id } = await accounts.createUser({ name: 'founder', password: PASSWORD })
    for (let index = 0; index < 52; index++) await organizations.create(id, { name: `founded${index}` })
    const { text } = await (await as('founder')).get('/')
    assert.equal(text.match(/href="\/-\/storage\/founded\d+"/g)!.length, 50)
    assert.match(words(text), / and 2 more /)
    await accounts.remove(id, { purge: true })
  })

  it('answers the same 404 for an owner that does not exist and one that is hidden', async () => {
    const ann = await as('ann')
    const bare = (text: string) => text.replace(/name="form" value="[^"]*"/g, '')
    const missing = await ann.get('/-/storage/nobody')
    assert.equal(missing.status, 404)
    for (const path of [
      'secret',
      'ben',
      'root',
      'secret/artifacts',
      'ben/repositories/tiny',
      'ann/things',
      'ann/repositories/x',
    ]) {
      const { status, text } = await ann.get(`/-/storage/${path}`)
      assert.deepEqual([status, bare(text)], [404, bare(missing.text)], path)
    }
    const member = await ann.get('/-/storage/club')
    assert.equal(member.status, 403)
    assert.match(words(member.text), /Only owners of club can see its storage/)
    assert.doesNotMatch((await ann.get('/')).text, /secret|club/)
  })

  it('shows administrators the storage and the groups of every owner', async () => {
    const root = await as('root')
    assert.match(words((await root.get('/-/storage/ben')).text), /Groups: paid/)
    assert.match(words((await root.get('/-/storage/secret')).text), /5 MiB/)
    assert.doesNotMatch(words((await (await as('ann')).get('/')).text), /Groups:/)
  })

  it('escapes every name and text', async () => {
    for (const [who, path] of [
      ['ann', '/'],
      ['ann', '/-/storage/ann/artifacts'],
      ['ann', '/-/storage/ann/repositories'],
      ['ann', '/-/storage/ann/repositories/website'],
      ['root', '/-/storage/ann/usage?q=img'],
    ] as const) {
      const { text } = await (await as(who)).get(path)
      assert.doesNotMatch(text, /<img|<script>|onerror="/, path)
      assert.ok(text.includes('&lt;img src=x onerror='), path)
    }
  })

  it('never writes HTML without escaping it, but what was sanitized or colored before', () => {
    const folder = new URL('../../lib/web/', import.meta.url)
    const files = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((file) =>
      /\.tsx?$/.test(file),
    )
    assert.ok(files.length > 10)
    for (const file of files) {
      const source = readFileSync(new URL(file, folder), 'utf8')
      if (RENDERED.includes(file)) continue
      assert.doesNotMatch(source, /dangerouslySetInnerHTML|innerHTML/, file)
    }
  })
})

/**
 * Files that write HTML of the Markdown renderer, of the highlighter, and of a diff whose lines are escaped.
 */
const RENDERED = ['file-view.tsx', 'diff.tsx', 'rendered-text.tsx'].map((file) => join('repository', file))

describe('The administration pages', () => {
  const rules = async () =>
    (await allot.as(allot.root, 'GET', '/admin/quota/rules')).body as {
      name: string
      limit: number
      subjects: string[]
    }[]
  const groups = async () =>
    (await allot.as(allot.root, 'GET', '/admin/quota/groups')).body as {
      name: string
      rules: { name: string }[]
    }[]

  it('require an administrator, and the scopes of the API', async () => {
    for (const path of [
      '/-/admin',
      '/-/admin/rules',
      '/-/admin/groups',
      '/-/admin/rule?name=total',
      '/-/admin/group?name=free',
    ]) {
      assert.equal((await (await as('ann')).get(path)).status, 403)
      assert.equal((await allot.browser().get(path)).status, 303)
    }
    const ann = await as('ann')
    assert.equal(
      (await ann.post('/-/admin/rules', { name: 'mine', limit: '1', subject: 'size:all' })).status,
      403,
    )
    const reader = await allot.signedIn('', await allot.scoped(allot.root, 'read:admin', 'read:user'))
    await reader.get('/-/admin/rules')
    const given = { name: 'mine', limit: '1', subject: 'size:all' }
    assert.equal((await reader.post('/-/admin/rules', given)).status, 403)
    await reader.get('/-/admin/rules')
    assert.equal((await reader.post('/-/admin/rules', { ...given, do: 'preview' })).status, 200)
    assert.equal((await rules()).length, 3)
  })

  it('show the totals, and the same owners over quota and near the limit as the API', async () => {
    const root = await as('root')
    const { text } = await root.get('/-/admin')
    assert.match(words(text), /398 MiB used by 3 users and 3 organizations /)
    assert.match(
      words(text),
      /Needs attention Owners by limit ann Artifacts: 66\.3 of 40 MiB \(166%\), rule builds · Choose what to remove Over quota by 26\.3 MiB acme Total: 220 of 200 MiB \(110%\), rule total · Choose what to remove Over quota by 20 MiB/,
    )
    const total = await root.get('/-/admin/owners?subject=size:all')
    assert.match(
      words(total.text),
      /ann .*? Near limit · 26\.7 MiB left Total: 173 of 200 MiB \(87%\), rule total/,
    )
    const artifacts = await root.get('/-/admin/owners?subject=size:assets:artifacts&state=over')
    const named = [...artifacts.text.matchAll(/name="owner" value="([^"]+)"/g)].map(([, name]) => name)
    const { body } = await allot.as(allot.root, 'GET', '/admin/quota/over?subject=size:assets:artifacts')
    assert.deepEqual(named.sort(), body.map(({ owner }: { owner: { login: string } }) => owner.login).sort())
    for (const query of ['?subject=<b>&page=-1', '?subject=size:wiki', '?subject=size:all&page=99'])
      assert.equal((await root.get(`/-/admin/owners${query}`)).status, 200)
  })

  it('create, edit and delete rules with any name', async () => {
    const root = await as('root')
    for (const name of ['../a b/?&#', MARKUP]) {
      await root.get('/-/admin/rules')
      const made = await root.post('/-/admin/rules', {
        name,
        limit: '1.5 GiB',
        subject: ['size:git:lfs', 'size:assets:all'],
      })
      assert.deepEqual([made.status, made.headers.get('location')], [303, '/-/admin/rules?done=created'])
      const list = await root.get('/-/admin/rules?done=created')
      assert.match(words(list.text), /Created\./)
      assert.doesNotMatch(list.text, /<img|<script>/)
      const query = encodeURIComponent(name)
      assert.match((await root.get(`/-/admin/rule?name=${query}`)).text, /value="1536 MiB"/)
      const saved = await root.post('/-/admin/rule', { name, limit: 'Unlimited', subject: 'size:all' })
      assert.equal(saved.headers.get('location'), `/-/admin/rule?name=${query}&done=saved`)
      assert.deepEqual((await rules()).at(-1), { name, limit: -1, subjects: ['size:all'] })
      assert.match(words((await root.post('/-/admin/rule/delete', { name })).text), /This cannot be undone/)
      assert.equal((await root.post('/-/admin/rule/delete', { name, confirmed: 'yes' })).status, 303)
    }
    assert.equal((await rules()).length, 3)
    assert.equal((await root.get('/-/admin/rule?name=gone')).status, 404)
  })

  it('create groups, set their rules, assign and unassign them, and delete them', async () => {
    const root = await as('root')
    const name = `a/${MARKUP}`
    const query = encodeURIComponent(name)
    await root.get('/-/admin/groups')
    const made = await root.post('/-/admin/groups', { name })
    assert.equal(made.headers.get('location'), `/-/admin/group?name=${query}&done=created`)
    await root.post('/-/admin/group', { name, rule: ['builds', 'plenty'] })
    assert.deepEqual(
      (await groups()).at(-1)!.rules.map((rule) => rule.name),
      ['builds', 'plenty'],
    )
    await root.post('/-/admin/group', { name, shown: ['builds', 'plenty'], confirmed: 'yes' })
    assert.deepEqual((await groups()).at(-1)!.rules, [])
    assert.equal((await root.post('/-/admin/group/members', { name, owner: 'acme' })).status, 303)
    const page = await root.get(`/-/admin/group?name=${query}&done=added`)
    assert.match(words(page.text), /Added\..*1 owner .*acme Remove/)
    assert.doesNotMatch(page.text, /<img|<script>/)
    for (const owner of ['nobody', '', 'acme'])
      assert.equal((await root.post('/-/admin/group/members', { name, owner })).status, 422)
    assert.equal((await root.post('/-/admin/group/members', { name, remove: 'acme' })).status, 303)
    assert.equal((await root.post('/-/admin/group', { name, rule: 'none such' })).status, 422)
    assert.equal((await root.post('/-/admin/groups', { name })).status, 422)
    assert.equal(
      (await root.post('/-/admin/group/delete', { name, confirmed: 'yes' })).headers.get('location'),
      '/-/admin/groups?done=deleted',
    )
    assert.equal((await root.get(`/-/admin/group?name=${query}`)).status, 404)
    assert.equal((await groups()).length, 2)
  })

  it('show only known messages, whatever the query says', async () => {
    const { text } = await (await as('root')).get('/-/admin/rules?done=<b>Hello')
    assert.doesNotMatch(text, /Hello|role="status"/)
  })
})
