import assert from 'node:assert/strict'
import { before, describe, it } from 'node:test'
import { madeBefore } from '../support/test-server.ts'
import { type PageClient, startPages } from './browser.ts'
import { PASSWORD, startFixture } from './fixture.ts'

const MIB = 1024 ** 2

/** The visible text of a part of a page. */
const words = (html: string): string => html.replace(/<[^>]*>/g, ' ').replace(/\s+/g, ' ')

const main = (html: string): string => html.replace(/^.*<main[^>]*>/s, '')

/** A section of a page. */
const section = (html: string, id: string): string =>
  new RegExp(`<section aria-labelledby="${id}">.*?</section>`, 's').exec(html)![0]

describe('The state of an owner', () => {
  let root: PageClient
  let ann: PageClient
  const allot = madeBefore(() => startPages())
  before(async () => {
    const { accounts, organizations } = allot.allot.hosting
    await accounts.edit(allot.root.id, { password: PASSWORD })
    const { id } = await accounts.createUser({ name: 'ann', password: PASSWORD })
    for (const name of ['near', 'full', 'both']) await organizations.create(id, { name })
    await allot.allot.quota.apply({
      rules: [
        { name: 'all', limit: 100 * MIB, subjects: ['size:all'] },
        { name: 'npm', limit: 20 * MIB, subjects: ['size:assets:packages:all', 'size:git:lfs'] },
      ],
      groups: [{ name: 'plan', rules: ['all', 'npm'] }],
      assignments: { near: ['plan'], full: ['plan'], both: ['plan'] },
    })
    const put = (owner: string, packages: number, artifacts: number) =>
      allot.allot.ledger.batch([
        ...[
          {
            op: 'put' as const,
            kind: 'packages' as const,
            key: `${owner}-p`,
            owner,
            name: 'p',
            type: 'npm',
            version: '1',
            size: packages,
          },
        ],
        ...[
          {
            op: 'put' as const,
            kind: 'artifacts' as const,
            key: `${owner}-a`,
            owner,
            name: 'a',
            size: artifacts,
          },
        ],
      ])
    // Less than a fifth of the total is left, but fewer bytes are left of the packages.
    await put('near', 9 * MIB, 76 * MIB)
    await put('full', 20 * MIB, 0)
    await put('both', 30 * MIB, 75 * MIB)
    root = await allot.signedIn('root', PASSWORD)
    ann = await allot.signedIn('ann', PASSWORD)
  })

  const STATES = {
    near: ['near', 'Near limit · 15 MiB left', 'Total: 85 of 100 MiB (85%), rule all'],
    full: ['over', 'Over quota · limit reached', 'Packages and LFS: 20 of 20 MiB (100%), rule npm'],
    both: ['over', 'Over quota by 10 MiB', 'Packages and LFS: 30 of 20 MiB (150%), rule npm'],
  } as const
  for (const [name, [state, badge, limit]] of Object.entries(STATES))
    it(`is the same on every page, by the limit that decides it: ${name}`, async () => {
      const pages = [
        section((await ann.get('/')).text, 'organizations'),
        section((await root.get('/-/admin')).text, 'over'),
        section((await root.get(`/-/admin/owners?q=${name}`)).text, 'owners'),
        section((await root.get(`/-/admin/owners?state=${state}`)).text, 'owners'),
      ]
      for (const html of pages) {
        assert.ok(words(html).includes(badge), words(html))
        assert.ok(words(html).includes(limit), words(html))
        assert.ok(html.includes(`<span class="state ${state}">`), html)
      }
      const file = (await root.get(`/-/admin/owners.csv?q=${name}`)).text
      assert.ok(file.includes(`,${state},plan,`), file)
    })

  it('is told once on the page of the owner, with a link to what can be removed', async () => {
    for (const [name, told] of [
      ['near', ['Near limit · 15 MiB left', 'OK · 11 MiB left']],
      ['full', ['Over quota · limit reached', 'OK · 80 MiB left']],
      ['both', ['Over quota by 10 MiB', 'Over quota by 5 MiB']],
    ] as const) {
      const { text } = await ann.get(`/-/storage/${name}`)
      const badges = [...text.matchAll(/<span class="state \w+">.*?<\/span><\/span>/g)].map(([badge]) =>
        words(badge).trim(),
      )
      assert.deepEqual(badges, told)
      assert.doesNotMatch(text, /class="notice/)
      const excess = told.filter((badge) => badge.startsWith('Over')).length
      assert.equal(text.match(/usage\?remove=/g)?.length ?? 0, excess)
    }
  })

  it('links every excess to the selection that suffices', async () => {
    const pages = [
      (await ann.get('/')).text,
      (await root.get('/-/admin')).text,
      (await root.get('/-/admin/owners')).text,
    ]
    for (const text of pages) {
      const links = [...text.matchAll(/href="(\/-\/storage\/(?:full|both)\/usage\?remove=\w+)"/g)]
      assert.deepEqual(links.map(([, link]) => link).sort(), [
        '/-/storage/both/usage?remove=npm',
        '/-/storage/full/usage?remove=npm',
      ])
    }
    const { text } = await root.get('/-/storage/both/usage?remove=all')
    assert.match(words(main(text)), /What to remove Download CSV .* a ↗/)
    const file = (await root.get('/-/storage/both/usage.csv?remove=all')).text
    assert.match(file, /^kind,name,repository,bytes,created\r\nartifacts,a,,78643200,[^\r]*\r\n$/)
  })

  it('shows limits once: a rule about everything with the usage, and only others in a list', async () => {
    const { text } = await ann.get('/-/storage/both')
    assert.match(words(section(text, 'usage')), /105 MiB of 100 MiB used \(105%\), rule all/)
    assert.doesNotMatch(words(section(text, 'limits')), /Total|rule all/)
    await allot.allot.quota.apply({
      groups: [{ name: 'one', rules: ['all'] }],
      assignments: { near: ['one'] },
    })
    assert.doesNotMatch((await ann.get('/-/storage/near')).text, /id="limits"/)
    await allot.allot.quota.apply({ assignments: { near: ['plan'] } })
  })

  it('fills the bar of an owner over the limit, and marks and names the limit on it', async () => {
    const { text } = await ann.get('/-/storage/both')
    const [bar] = /<svg class="bar" .*?<\/svg>/.exec(text)!
    const widths = [...bar.matchAll(/<rect class="part\d" x="[\d.]+%" width="([\d.]+)%"/g)]
    const filled = widths.reduce((sum, [, width]) => sum + Number(width), 0)
    assert.ok(Math.abs(filled - 100) < 0.01, bar)
    assert.doesNotMatch(bar, /excess/)
    assert.match(bar, /<line class="limit" x1="95.238%"/)
    assert.match(text, /<svg class="limit-mark"[^>]*><line x1="95.238%".*?>Limit: 100\sMiB</)
    assert.doesNotMatch(section((await ann.get('/-/storage/near')).text, 'usage'), /limit-mark/)
  })

  it('fills the bar by what a rule measures, which counts bytes twice that it lists twice', async () => {
    await allot.allot.quota.apply({
      rules: [
        {
          name: 'twice',
          limit: 18 * MIB,
          subjects: ['size:assets:packages:all', 'size:assets:packages:all'],
        },
      ],
      groups: [{ name: 'double', rules: ['twice'] }],
      assignments: { near: ['double'] },
    })
    const limits = section((await ann.get('/-/storage/near')).text, 'limits')
    assert.match(words(limits), /Packages Over quota · limit reached 18 of 18 MiB \(100%\) rule twice/)
    assert.match(limits, /<rect class="part5" x="0%" width="100%"/)
    await allot.allot.quota.apply({ assignments: { near: ['plan'] } })
  })
})

describe('The pages about usage', () => {
  const allot = madeBefore(() => startFixture())
  const root = madeBefore(() => allot.signedIn('root', PASSWORD))
  const ann = madeBefore(() => allot.signedIn('ann', PASSWORD))

  it('suggest the smallest repository that suffices where only git data can be removed, and select it', async () => {
    const acme = (await ann.get('/-/storage/acme/usage?remove=total')).text
    const boxes = [
      ...acme.matchAll(/<input type="checkbox" name="item" value="(repositories:\d+)" checked[^>]*>/g),
    ]
    assert.equal(boxes.length, 1)
    assert.match(boxes[0]![0], /aria-label="Select art"/)
    assert.match(
      words(main(acme)),
      /Deleting the 1 item below frees 70 MiB, .* Git data is freed with its whole repository\. View all/,
    )
    const builds = (await ann.get('/-/storage/ann/usage?remove=builds')).text
    assert.match(words(main(builds)), /Delete items marked ↗ in the system that stores them\. View all/)
    const asked = await ann.post('/-/storage/acme/remove', { item: boxes[0]![1]! })
    assert.match(words(main(asked.text)), /70 MiB/)
  })

  it('suggest a repository where many small items do not suffice, and count what goes with it once', async () => {
    const { hosting, quota, ledger } = allot.allot
    const small = await hosting.accounts.createUser({ name: 'small' })
    const { id } = await hosting.repositories.create(small, small, { name: 'code' })
    await hosting.repositories.resize(id, 300)
    const entry = (index: number) => ({
      ...{ op: 'put' as const, kind: 'artifacts' as const, key: `small-${index}`, name: `n${index}` },
      ...{ repository: 'small/code', size: 1, run: 1 },
    })
    await ledger.batch(Array.from({ length: 60 }, (_, index) => entry(index)))
    await quota.apply({
      rules: [{ name: 'few', limit: 200, subjects: ['size:all'] }],
      groups: [{ name: 'few', rules: ['few'] }],
      assignments: { small: ['few'] },
    })
    const { text } = await root.get('/-/storage/small/usage?remove=few')
    assert.match(words(main(text)), /Deleting the 1 item below frees 360 B, which is enough/)
    assert.match(text, /value="repositories:\d+" checked[^>]*aria-label="Select code"/)
    await hosting.accounts.remove(small.id, { purge: true })
  })

  it('give no share of a limit of 0 or below, and offer no removal, since nothing gets under it', async () => {
    const { hosting, quota } = allot.allot
    const { id } = await hosting.organizations.create(allot.root.id, { name: 'barred' })
    await quota.apply({
      rules: [{ name: 'none', limit: 0, subjects: ['size:all'] }],
      groups: [{ name: 'none', rules: ['none'] }],
      assignments: { barred: ['none'] },
    })
    const textOf = async (path: string) => words(main((await root.get(path)).text))
    const pages = ['/-/storage/barred', '/-/admin/owners?q=barred', '/-/admin', '/']
    for (const limit of [0, -5]) {
      await quota.rules.edit('none', { limit })
      assert.match(
        await textOf('/-/storage/barred'),
        new RegExp(`0 B of .?${Math.abs(limit)} B used, rule none`),
      )
      assert.match(
        await textOf('/-/admin/owners?q=barred'),
        new RegExp(`Total: 0 of .?${Math.abs(limit)} B, rule none`),
      )
      const suggestion = await textOf('/-/storage/barred/usage?remove=none')
      assert.match(suggestion, /counts as over: nothing that you delete gets under this limit\. View all/)
      for (const subject of ['size:assets:artifacts', 'size:all'] as const) {
        await quota.rules.edit('none', { subjects: [subject] })
        for (const path of pages)
          assert.doesNotMatch((await root.get(path)).text, /barred\/usage\?remove=/, `${path} ${subject}`)
      }
    }
    await hosting.accounts.remove(id, { purge: true })
  })

  it('lead from every figure and card of the instance to the owners that it is about', async () => {
    const { text } = await root.get('/-/admin')
    for (const [id, to] of [
      ['usage', '/-/admin/owners?state=over&amp;sort=share'],
      ['usage', '/-/admin/owners?state=near&amp;sort=share'],
      ['usage', '/-/admin/owners?state=unlimited'],
      ['usage', '/-/admin/owners'],
      ['over', '/-/admin/owners?sort=share'],
      ['history', '/-/admin/owners?sort=growth'],
      ['largest', '/-/admin/owners'],
      ['health', '/-/admin/audit'],
    ] as const) {
      assert.ok(section(text, id).includes(`href="${to}"`), `${id} ${to}`)
      assert.equal((await root.get(to.replace('&amp;', '&'))).status, 200)
    }
  })

  it('say the change of the days that were chosen for the history', async () => {
    for (const [days, change] of [
      ['7', /No change in the last 7 days\./],
      ['30', /\+ 48\.9 MiB in the last 30 days\./],
      ['90', /\+ 173 MiB in the last 90 days\./],
      ['all', /\+ 173 MiB since \d{4}-\d\d-\d\d ?\./],
    ] as const) {
      const { text } = await ann.get(`/-/storage/ann/history?days=${days}`)
      assert.match(words(section(text, 'history')), change)
    }
  })

  it('switch between items and repositories, and keep what was searched', async () => {
    const items = section((await ann.get('/-/storage/ann/usage?q=e&kind=lfs')).text, 'items')
    assert.match(items, /<a href="\/-\/storage\/ann\/usage\?q=e" aria-current="true">Items<\/a>/)
    const [, to] = /<a href="([^"]*)">By repository<\/a>/.exec(items)!
    const repositories = section((await ann.get(to!)).text, 'items')
    assert.match(repositories, /aria-current="true">By repository<\/a>/)
    assert.match(repositories, /<form method="get" action="\/-\/storage\/ann\/repositories"/)
    assert.doesNotMatch(repositories, /name="kind"|>Kind</)
    assert.match(words(repositories), /5 repositories · Newest first/)
  })

  it('name an LFS object by its path, or by the beginning of its hash, with its repository', async () => {
    const { text } = await ann.get('/-/storage/ann/lfs')
    assert.match(words(text), /media\/take-0\.mp4 ↗ in website/)
    assert.match(words(text), /[\da-f]{12}… ↗ in notes/)
    assert.match((await ann.get('/-/storage/ann/usage.csv?kind=lfs')).text, /^lfs,[\da-f]{64},notes,/m)
  })

  it('explain once per list what is stored in another system', async () => {
    const { text } = await ann.get('/-/storage/ann/usage')
    assert.equal(words(main(text)).match(/Stored in another system/g)!.length, 1)
    assert.equal(text.match(/aria-label="Stored in another system"/g)!.length, 25)
    assert.doesNotMatch((await ann.get('/-/storage/ann/repositories')).text, /Stored in another system/)
  })

  it('filter without the loudest button', async () => {
    for (const [who, path] of [
      [ann, '/-/storage/ann/usage'],
      [ann, '/-/storage/ann/repositories'],
      [root, '/-/admin/owners'],
    ] as const) {
      const [form] = /<form method="get".*?<\/form>/s.exec((await who.get(path)).text)!
      assert.match(form, /<button type="submit" class="secondary">Filter</)
      assert.doesNotMatch(form, /<button type="submit">/)
    }
  })
})
