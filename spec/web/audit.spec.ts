import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { AUDIT_SEARCHED } from '../../lib/audit.ts'
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
    allot = await startPages()
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
        links: [account, 'group?name=paid', 'account?name=root'],
      },
      {
        text: 'ann groups changed added paid; removed free root',
        links: [account, 'group?name=paid', group, 'account?name=root'],
      },
      { text: 'ann groups added free ann', links: [account, group, account] },
      { text: 'free group changed rules added total ann', links: [group, rule, account] },
      { text: 'paid group created rules none ann', links: ['group?name=paid', account] },
      { text: 'free group created rules none ann', links: [group, account] },
      {
        text: 'total rule changed limit 1 KiB → 2 KiB; subjects added size:wiki; subjects removed size:all root',
        links: [rule, 'account?name=root'],
      },
      { text: 'total rule created limit 1 KiB; subjects size:all root', links: [rule, 'account?name=root'] },
    ])
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
      text: 'ann groups changed details cut root',
      links: ['account?name=ann', 'account?name=root'],
    })
  })
})
