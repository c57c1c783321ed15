import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { memory } from '../../drivers/memory/index.ts'
import { AUDIT_SEARCHED, recordAudit } from '../../lib/audit.ts'
import { now } from '../../lib/clock.ts'
import { auditRecords } from '../../lib/records/schema/index.ts'
import { Store, type WriteContext } from '../../lib/records/store.ts'
import { wordFor } from '../../lib/web/parts/labels.ts'
import { countReads } from '../counted.ts'
import { type PageClient, type PageServer, startPages } from './browser.ts'

/** The rows of the table, as text, and the links of each. */
const rowsOf = (html: string) =>
  [...html.matchAll(/<tr><td>(.*?)<\/tr>/gs)].map(([, row]) => ({
    text: row!
      .replace(/<div class="small slim">.*?<\/div>/s, '')
      .replace(/<time.*$/s, '')
      .replace(/<[^>]*>/g, ' ')
      .replace(/\s+/g, ' ')
      .replace(/ ([,;])/g, '$1')
      .trim(),
    links: [...row!.replace(/<div class="small slim">.*?<\/div>/s, '').matchAll(/href="([^"]*)"/g)].map(
      ([, to]) => to!.replaceAll('&amp;', '&').replace('/-/admin/', ''),
    ),
  }))

describe('The page of the audit log', () => {
  let allot: PageServer
  let root: PageClient
  before(async () => {
    allot = await startPages({ webhooks: true })
    root = allot.browser()
    await root.signIn('', allot.root.token)
    const ann = await allot.person('ann', { admin: true })
    const made = async (who: typeof ann, method: string, path: string, body?: object) => {
      const { status } = await allot.as(who, method, path, body)
      assert.ok(status < 300, `${method} ${path}: ${status}`)
    }
    await made(allot.root, 'POST', '/admin/quota/rules', {
      name: 'total',
      limit: 1024,
      subjects: ['size:all'],
    })
    await made(allot.root, 'PATCH', '/admin/quota/rules/total', { limit: 2048, subjects: ['size:wiki'] })
    for (const name of ['free', 'paid']) await made(ann, 'POST', '/admin/quota/groups', { name })
    await made(ann, 'PUT', '/admin/quota/groups/free/rules/total')
    await made(ann, 'PUT', '/admin/quota/groups/free/users/ann')
    await made(allot.root, 'POST', '/admin/users/ann/quota/groups', { groups: ['paid'] })
    await made(allot.root, 'DELETE', '/admin/quota/groups/paid/users/ann')
    await made(ann, 'DELETE', '/admin/quota/groups/paid')
  })
  after(() => allot.stop())

  const shown = async (query = '') => rowsOf((await root.get(`/-/admin/audit${query}`)).text)

  it('says what was added and what was removed, with links to what is named and still has a page', async () => {
    const [account, rule, group] = ['account?name=ann', 'rule?name=total', 'group?name=free']
    const rows = (await shown()).filter(({ text }) => !/token|account created/.test(text))
    assert.deepEqual(rows, [
      { text: 'paid group deleted rules none; owners 0 ann', links: ['account?name=ann'] },
      {
        text: 'ann groups removed paid root',
        links: [account, 'account?name=root'],
      },
      {
        text: 'ann groups changed added paid; removed free root',
        links: [account, group, 'account?name=root'],
      },
      { text: 'ann groups added free ann', links: [account, group, account] },
      { text: 'free group changed rules added total ann', links: [group, rule, account] },
      { text: 'paid group created rules none ann', links: [account] },
      { text: 'free group created rules none ann', links: [group, account] },
      {
        text: 'total rule changed limit 1 KiB → 2 KiB; subjects added size:wiki; subjects removed size:all root',
        links: [rule, 'account?name=root'],
      },
      { text: 'total rule created limit 1 KiB; subjects size:all root', links: [rule, 'account?name=root'] },
    ])
  })

  it('links to nothing that was deleted since: accounts, rules, groups, and repositories with webhooks', async () => {
    const { accounts } = allot.allot.hosting
    const gone = await allot.person('gone', { admin: true })
    const made = async (method: string, path: string, body?: object) => {
      const { status } = await allot.as(gone, method, path, body)
      assert.ok(status < 300, `${method} ${path}: ${status}`)
    }
    const webhook = { type: 'gitea', config: { url: 'https://example.org/', content_type: 'json' } }
    await made('POST', '/admin/quota/rules', { name: 'brief', limit: 1, subjects: ['size:all'] })
    await made('POST', '/admin/quota/groups', { name: 'short', rules: [{ name: 'brief' }] })
    await made('PUT', '/admin/quota/groups/short/users/gone')
    for (const name of ['stays', 'leaves']) {
      await made('POST', '/user/repos', { name })
      await made('POST', `/repos/gone/${name}/hooks`, webhook)
    }
    await made('POST', '/user/hooks', webhook)
    await made('DELETE', '/repos/gone/leaves')
    const linked = async () =>
      new Set((await shown()).flatMap(({ links }) => links).filter((to) => /gone|brief|short/.test(to)))
    const pages = ['account?name=gone', 'rule?name=brief', 'group?name=short', '/gone/stays']
    assert.deepEqual([...(await linked())].sort(), pages.sort())
    await made('DELETE', '/admin/quota/groups/short')
    await made('DELETE', '/admin/quota/rules/brief')
    await accounts.remove(gone.id, { purge: true })
    assert.deepEqual([...(await linked())], [])
    const { text } = await root.get('/-/admin/audit')
    const links = [...text.matchAll(/href="([^"#]*)"/g)].map(([, to]) => to!.replaceAll('&amp;', '&'))
    assert.ok(links.length > 10)
    for (const to of links) assert.ok((await root.get(to)).status < 400, to)
  })

  it('links a change to its actor, and not to another account that has the name now', async () => {
    const { accounts } = allot.allot.hosting
    const first = await allot.person('twice', { admin: true })
    await allot.as(first, 'POST', '/admin/quota/groups', { name: 'by-twice' })
    await accounts.remove(first.id)
    await allot.person('twice')
    const [row] = await shown('?subject=by-twice')
    assert.deepEqual(row, { text: 'by-twice group created rules none twice', links: ['group?name=by-twice'] })
  })

  it('is filtered by who changed what of which kind, without regard to case', async () => {
    for (const [query, count] of [
      ['?actor=ANN&kind=group', 4],
      ['?actor=root&kind=rule', 2],
      ['?kind=assignment&subject=ANN', 3],
      ['?kind=assignment&subject=a&actor=root', 2],
      ['?kind=rule&subject=TOT', 2],
      ['?kind=nothing&subject=total', 2],
      ['?actor=an', 0],
    ] as const)
      assert.equal((await shown(query)).length, count, query)
    const { text } = await root.get('/-/admin/audit?actor=%3Cb%3E&kind=rule&from=x&page=0')
    assert.match(text, /value="&lt;b>"/)
    assert.match(text, /<option value="rule" selected/)
    assert.match(text, /No change matches.*href="\/-\/admin\/audit"[^>]*>show all changes/s)
  })

  it('has pages of a filter, and goes on with older changes when it has looked at many', async () => {
    const by = { id: allot.root.id, username: 'root' }
    const names = Array.from({ length: 100 }, (_, index) => `many-${index}`)
    const applied = (limit: number) =>
      allot.allot.hosting.plans.apply(
        { rules: names.map((name) => ({ name, limit, subjects: ['size:all' as const] })) },
        { by },
      )
    for (let limit = 0; limit < AUDIT_SEARCHED / names.length; limit++) await applied(limit)
    const first = await root.get('/-/admin/audit?subject=many-7')
    assert.equal(rowsOf(first.text).length, 50)
    const [, second] = /href="([^"]*)" rel="next"/.exec(first.text)!
    assert.equal(second!.replaceAll('&amp;', '&'), '/-/admin/audit?subject=many-7&page=2')
    assert.equal((await shown('?subject=many-7&page=4')).length, 50)
    const none = await root.get('/-/admin/audit?subject=total&kind=rule')
    assert.equal(rowsOf(none.text).length, 0)
    const [, older] = /href="([^"]*)">Search older changes/.exec(none.text)!
    const { text } = await root.get(older!.replaceAll('&amp;', '&'))
    assert.equal(rowsOf(text).length, 2)
    assert.doesNotMatch(text, /Search older changes/)
  })

  it('names what was changed as the form does', async () => {
    await allot.as(allot.root, 'PATCH', '/admin/users/ann', {
      ...{ login_name: 'ann', source_id: 0, full_name: 'Ann A.', admin: false },
    })
    const [newest] = await shown('?kind=account&subject=ann')
    assert.equal(newest!.text, 'ann account changed display name “” → Ann A.; administrator yes → no root')
  })

  it('names what no form changes in words, too', async () => {
    const { id } = await allot.person('words', { admin: true })
    const made = { type: 'gitea', config: { url: 'https://example.org/', content_type: 'json', secret: 's' } }
    assert.equal((await allot.as(allot.root, 'POST', '/admin/hooks', made)).status, 201)
    await allot.allot.hosting.accounts.remove(id, {
      purge: true,
      by: { id: allot.root.id, username: 'root' },
    })
    const [webhook] = await shown('?kind=webhook&actor=root')
    assert.match(webhook!.text, /; secret yes; authorization header no root$/)
    const [account] = await shown('?kind=account&subject=words')
    assert.equal(account!.text, 'words account deleted kind user; contents deleted yes root')
  })

  it('says in words that details were too long for the log, whatever was changed', async () => {
    const { rules, groups } = allot.allot.quota
    const by = { id: allot.root.id, username: 'root' }
    const names = Array.from({ length: 40 }, (_, index) => `${'long-rule-'.repeat(6)}${index}`)
    for (const name of names) await rules.create({ name, limit: 1, subjects: ['size:all'] })
    await groups.create({ name: 'all-rules', rules: names }, by)
    await groups.remove('all-rules', by)
    const rows = await shown('?subject=all-rules')
    assert.deepEqual(
      rows.map(({ text }) => text),
      ['deleted', 'created'].map((action) => `all-rules group ${action} details too long for the log root`),
    )
  })

  it('says that groups were changed when the lists are too long for the log', async () => {
    const { groups } = allot.allot.quota
    const names = Array.from({ length: 40 }, (_, index) => `${'long-name-'.repeat(6)}${index}`)
    for (const name of names) await groups.create({ name })
    const by = { id: allot.root.id, username: 'root' }
    const assign = (given: string[]) =>
      allot.allot.hosting.plans.apply({ assignments: { ann: given } }, { by })
    await assign(names)
    await assign(names.slice(1))
    const [newest] = await shown('?kind=assignment')
    assert.deepEqual(newest, {
      text: 'ann groups changed details too long for the log root',
      links: ['account?name=ann', 'account?name=root'],
    })
  })
})

describe('A record of the audit log about a rule or a group', () => {
  it('links to none that was created again under its name, in whichever way', async () => {
    const allot = await startPages()
    try {
      const root = allot.browser()
      await root.signIn('', allot.root.token)
      const { rules, groups } = allot.allot.quota
      const { plans } = allot.allot.hosting
      const by = { id: allot.root.id, username: 'root' }
      const tight = { name: 'tight', limit: 1, subjects: ['size:all' as const] }
      const records = async () =>
        rowsOf((await root.get('/-/admin/audit?kind=')).text)
          .filter(({ text }) => /^(tight|crew) /.test(text))
          .map(({ text, links }) => ({ text, to: links.filter((to) => /tight|crew/.test(to)) }))
      let older = 0
      for (const create of [
        async () => {
          await rules.create(tight, by)
          await groups.create({ name: 'crew', rules: ['tight'] }, by)
        },
        () => plans.apply({ rules: [tight], groups: [{ name: 'crew', rules: ['tight'] }] }, { by }),
        () => groups.create({ name: 'crew', rules: [tight] }, by),
      ]) {
        await create()
        await plans.apply({ rules: [{ ...tight, limit: 2 }] }, { by })
        await rules.edit('tight', { limit: 3 }, by)
        await groups.removeRule('crew', 'tight', by)
        const all = await records()
        const present = all.slice(0, all.length - older)
        assert.equal(present.length, 5)
        for (const { text, to } of present)
          assert.equal(to[0], text.startsWith('crew') ? 'group?name=crew' : 'rule?name=tight', text)
        for (const { text, to } of all.slice(present.length)) assert.deepEqual(to, [], text)
        await groups.remove('crew', by)
        await rules.remove('tight', by)
        older = all.length + 2
      }
    } finally {
      await allot.stop()
    }
  })
})

describe('A member that the audit log has no word for', () => {
  it('does not compile', async () => {
    const wrong = { action: 'rule changed', subject: 'x', after: { limit: 1, color: 'red' } } as const
    // `npm run check` fails for a line after this comment that compiles.
    // @ts-expect-error
    const record = () => recordAudit({} as WriteContext, undefined, wrong)
    assert.equal(await record(), undefined)
    for (const name of Object.keys(wrong.after)) assert.equal(wordFor(name), name)
  })
})

describe('The page of the audit log of an old store', () => {
  it('links to no account that is newer than the record about its name', async () => {
    const driver = memory()
    const allot = await startPages({ driver })
    try {
      const root = allot.browser()
      await root.signIn('', allot.root.token)
      await allot.person('again')
      const record = { actor: allot.root.id, actorName: 'root', action: 'account changed' } as const
      await new Store(driver).write(async (tx) => {
        for (const [nonce, at] of Object.entries({ old: now() - 3600, recent: now() + 1 }))
          await auditRecords.add(tx, {
            ...{ ...record, nonce, at, subject: 'again' },
            ...{ before: '{"fullName":""}', after: JSON.stringify({ fullName: nonce }) },
          })
      })
      const rows = rowsOf((await root.get('/-/admin/audit?subject=again')).text)
      const linked = rows
        .filter(({ text }) => text.includes('account changed'))
        .map(({ text, links }) => [/(\w+) root$/.exec(text)![1], links.includes('account?name=again')])
      assert.deepEqual(linked, [
        ['recent', true],
        ['old', false],
      ])
    } finally {
      await allot.stop()
    }
  })

  it('shows records whose details cannot be read', async () => {
    const driver = memory()
    const allot = await startPages({ driver })
    try {
      const root = allot.browser()
      await root.signIn('', allot.root.token)
      const record = { at: now(), actor: allot.root.id, actorName: 'root', action: 'rule changed' } as const
      const details = ['null', '{"limit":1', '7', 'true']
      await new Store(driver).write(async (tx) => {
        for (const [index, before] of details.entries())
          await auditRecords.add(tx, {
            ...{ ...record, nonce: `n${index}`, subject: `odd-${index}` },
            ...{ before, after: '{"limit":1024}' },
          })
      })
      const { status, text } = await root.get('/-/admin/audit?subject=odd')
      assert.equal(status, 200)
      assert.deepEqual(
        rowsOf(text).map((row) => row.text),
        ['odd-3', 'odd-2', 'odd-1']
          .map((name) => `${name} rule changed details too long for the log root`)
          .concat('odd-0 rule changed limit 1 KiB root'),
      )
    } finally {
      await allot.stop()
    }
  })
})

describe('The names on a page of the audit log', () => {
  it('are looked up up to a number, however many the changes name', async () => {
    const counted = countReads(memory())
    const allot = await startPages({ driver: counted.driver })
    try {
      const root = allot.browser()
      await root.signIn('', allot.root.token)
      const { groups } = allot.allot.quota
      const by = { id: allot.root.id, username: 'root' }
      const path = '/-/admin/audit?kind=assignment'
      await groups.create({ name: 'oldest' }, by)
      const names = Array.from({ length: 2000 }, (_, index) => `g${index}`)
      await allot.allot.hosting.plans.apply({ groups: names.map((name) => ({ name, rules: [] })) })
      for (let index = 0; index < 20; index++)
        await allot.allot.hosting.plans.apply(
          { assignments: { root: names.slice(index * 100, (index + 1) * 100) } },
          { by },
        )
      const reads = await counted.during(() => root.get(path))
      assert.match((await root.get(path)).text, /group\?name=g1999/)
      const all = (await root.get('/-/admin/audit')).text
      assert.match(all, /group\?name=oldest/, 'what a record is about has a link, whatever others list')
      assert.ok(reads < 700, `${reads} reads`)
    } finally {
      await allot.stop()
    }
  })
})
