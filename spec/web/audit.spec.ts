import assert from 'node:assert/strict'
import { before, describe, it } from 'node:test'
import { memory } from '../../drivers/memory/index.ts'
import { AUDIT_SEARCHED, recordAudit } from '../../lib/audit.ts'
import { rangeBelow } from '../../lib/records/key-codec.ts'
import { Store, type WriteContext } from '../../lib/records/store.ts'
import { wordFor } from '../../lib/web/parts/labels.ts'
import { madeBefore } from '../support/test-server.ts'
import { startPages } from './browser.ts'

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
  const allot = madeBefore(() => startPages({ webhooks: true }))
  const root = madeBefore(() => allot.signedIn('', allot.root.token))
  before(async () => {
    const ann = await allot.person('ann', { admin: true })
    const made: typeof allot.done = (...sent) => allot.done(...sent)
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

  const shown = async (query = '') => rowsOf((await root.get(`/-/admin/audit${query}`)).text)

  it('says what was added and what was removed, with links to what is named', async () => {
    const [account, rule] = ['account?name=ann', 'rule?name=total']
    const [group, paid] = ['group?name=free', 'group?name=paid']
    const rows = (await shown()).filter(({ text }) => !/token|account created/.test(text))
    assert.deepEqual(rows, [
      { text: 'paid group deleted rules none; owners 0 ann', links: [paid, account] },
      { text: 'ann groups removed paid root', links: [account, paid, 'account?name=root'] },
      {
        text: 'ann groups changed added paid; removed free root',
        links: [account, paid, group, 'account?name=root'],
      },
      { text: 'ann groups added free ann', links: [account, group, account] },
      { text: 'free group changed rules added total ann', links: [group, rule, account] },
      { text: 'paid group created rules none ann', links: [paid, account] },
      { text: 'free group created rules none ann', links: [group, account] },
      {
        text: 'total rule changed limit 1 KiB → 2 KiB; subjects added size:wiki; subjects removed size:all root',
        links: [rule, 'account?name=root'],
      },
      { text: 'total rule created limit 1 KiB; subjects size:all root', links: [rule, 'account?name=root'] },
    ])
  })

  it('links a webhook to its repository or its account; that of the instance has no page', async () => {
    const hooked = await allot.person('hooked', { admin: true })
    const webhook = { type: 'gitea', config: { url: 'https://example.org/', content_type: 'json' } }
    for (const [path, body] of [
      ['/user/repos', { name: 'files' }],
      ['/repos/hooked/files/hooks', webhook],
      ['/user/hooks', webhook],
      ['/admin/hooks', webhook],
    ] as const)
      assert.equal((await allot.as(hooked, 'POST', path, body)).status, 201, path)
    const rows = await shown('?kind=webhook&actor=hooked')
    assert.deepEqual(
      rows.map(({ links }) => links),
      [[], ['account?name=hooked'], ['/hooked/files']].map((links) => [...links, 'account?name=hooked']),
    )
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

describe('A change that a later version of Allot has recorded', () => {
  it('is shown without a link, and is found by its subject', async () => {
    const driver = memory()
    const allot = await startPages({ driver })
    const root = await allot.signedIn('', allot.root.token)
    const by = { id: allot.root.id, username: 'root' }
    await new Store(driver).write((tx) => recordAudit(tx, by, { action: 'rule created', subject: 'Mars' }))
    const replace = (before: string, after: string) =>
      driver.write(async (tx) => {
        for await (const [key, value] of tx.range(rangeBelow(['audit', 'r'])))
          if (Buffer.from(value).includes('Mars'))
            tx.put(key, Buffer.from(Buffer.from(value).toString().replace(before, after)))
      })
    await replace('rule created', 'planet moved')
    for (const query of ['', '?subject=mars']) {
      const [row] = rowsOf((await root.get(`/-/admin/audit${query}`)).text)
      assert.equal(row!.text, 'Mars planet moved root')
    }
    const { status, text } = await root.get('/-/admin/audit?kind=rule&subject=mars')
    assert.deepEqual([status, rowsOf(text)], [200, []])
    await replace('planet moved', 'rule created')
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
