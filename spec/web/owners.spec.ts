import assert from 'node:assert/strict'
import { before, describe, it } from 'node:test'
import { madeBefore } from '../support/test-server.ts'
import { waitFor } from '../support/wait-for.ts'
import { PASSWORD, startFixture } from './fixture.ts'

/** What a page of owners shows: the filter and the order, and what is selected in the form. */
const stateOf = (html: string) => ({
  search: /name="q" type="search" value="([^"]*)"/.exec(html)?.[1],
  sorted: /aria-sort="(\w+)"><a[^>]*>(\w+)/.exec(html)?.slice(1),
  checked: [...html.matchAll(/<input[^>]*name="owner"[^>]*>/g)]
    .filter(([tag]) => / checked/.test(tag))
    .map(([tag]) => /value="([^"]*)"/.exec(tag)![1]),
  chosen: [...html.matchAll(/<option[^>]*value="([^"]+)"[^>]* selected/g)].map(([, value]) => value),
})

describe('The form that changes the groups of several owners', () => {
  const allot = madeBefore(() => startFixture())
  const root = madeBefore(() => allot.signedIn('root', PASSWORD))
  before(async () => {
    await allot.allot.quota.groups.create({ name: 'zeta' })
  })

  const QUERY = 'q=n&sort=name&order=reverse'
  /** The form of the list with the query, with some boxes ticked. */
  const open = async (query: string, fields: Record<string, string | readonly string[]>) => {
    const { text } = await root.get(`/-/admin/owners?${query}`)
    const list = (/name="list" value="([^"]*)"/.exec(text)?.[1] ?? '').replaceAll('&amp;', '&')
    return { list, ...fields }
  }
  const SELECTED = { owner: ['ben', 'ann'], change: 'remove', group: 'zeta' }
  const KEPT = { search: 'n', sorted: ['descending', 'Name'], checked: ['ben', 'ann'] }

  it('shows the same list with the same selection when it is refused', async () => {
    const { status, text } = await root.post(
      '/-/admin/owners',
      await open(QUERY, { ...SELECTED, owner: ['ben', 'ann', 'nobody'] }),
    )
    assert.equal(status, 422)
    assert.match(text, /There is no user or organization named &quot;nobody&quot;\./)
    assert.deepEqual(stateOf(text), { ...KEPT, chosen: ['remove', 'zeta'] })
  })

  for (const [what, list] of [
    ['the filter finds no owner', 'q=zzz'],
    ['the page is beyond the end', 'page=9'],
  ] as const)
    it(`says why it is refused when ${what}, so that the page has no field to say it`, async () => {
      const { status, text } = await root.post('/-/admin/owners', { ...SELECTED, list, group: 'gone' })
      assert.equal(status, 422)
      assert.deepEqual(text.match(/role="alert"/g), ['role="alert"'])
      assert.match(text, /role="alert" id="failure">Group: choose one\./)
      assert.doesNotMatch(text, /<select id="group" name="group"[^>]*aria-invalid/)
    })

  it('shows the same list with the same selection when its preview is canceled', async () => {
    const preview = await root.post(
      '/-/admin/owners',
      await open(QUERY, { ...SELECTED, do: 'preview', change: 'add' }),
    )
    assert.match(preview.text, /Nothing has been saved yet/)
    const fields: Record<string, string[]> = { do: ['edit'] }
    const values = preview.text.matchAll(/<input type="hidden" name="(\w+)" value="([^"]*)"/g)
    for (const [, name, value] of values)
      if (name !== 'form') fields[name!] = [...(fields[name!] ?? []), value!.replaceAll('&amp;', '&')]
    const { status, text } = await root.post('/-/admin/owners', fields)
    assert.equal(status, 200)
    assert.deepEqual(stateOf(text), { ...KEPT, chosen: ['zeta'] })
    assert.doesNotMatch(text, /role="alert"/)
    assert.deepEqual(await allot.allot.quota.groups.assignedTo('ben'), ['paid'])
  })

  it('leads back to the same list when it is saved', async () => {
    const fields = await open(`${QUERY}&page=1`, { owner: 'ben', change: 'add', group: 'zeta' })
    const { headers } = await root.post('/-/admin/owners', fields)
    assert.equal(headers.get('location'), `/-/admin/owners?${QUERY}&done=saved`)
    const plain = await root.post('/-/admin/owners', await open('', { owner: 'ben', group: 'zeta' }))
    assert.equal(plain.headers.get('location'), '/-/admin/owners?done=saved')
  })
})

describe('Forms that change the groups of the same owners at the same time', () => {
  it('undo nothing of each other', async () => {
    const allot = await startFixture()
    const root = await allot.signedIn('root', PASSWORD)
    await root.get('/-/admin/owners')
    const names = ['one', 'two', 'three', 'four']
    for (const name of names) await allot.allot.quota.groups.create({ name })
    const owner = ['ann', 'ben', 'acme', 'club']
    const saved = await Promise.all(
      names.map((group) => root.post('/-/admin/owners', { owner, change: 'add', group })),
    )
    for (const { headers } of saved) assert.equal(headers.get('location'), '/-/admin/owners?done=saved')
    for (const name of owner) {
      const assigned = await allot.allot.quota.groups.assignedTo(name)
      assert.deepEqual(assigned.filter((group) => names.includes(group)).sort(), names.toSorted(), name)
    }
  })
})

describe('A preview that is canceled', () => {
  it('leads back to the form with what was entered', async () => {
    const allot = await startFixture()
    const root = await allot.signedIn('root', PASSWORD)
    await root.get('/-/admin/rules')
    for (const [path, fields, entered] of [
      [
        '/-/admin/rules',
        { name: 'fresh', limit: '7 MiB', subject: 'size:all' },
        [/value="fresh"/, /value="7 MiB"/],
      ],
      [
        '/-/admin/rule',
        { name: 'total', limit: '8 MiB', subject: 'size:all' },
        [/<h1>Rule total/, /value="8 MiB"/],
      ],
      [
        '/-/admin/group',
        { name: 'free', rule: 'plenty' },
        [/value="plenty" checked/, /name="rule" value="total"\/>/],
      ],
      ['/-/admin/group/members', { name: 'paid', owner: 'ann' }, [/<h1>Group paid/, /value="ann"/]],
    ] as const) {
      const preview = await root.post(path, { ...fields, do: 'preview' })
      assert.match(preview.text, /name="do" value="edit"[^>]*>Cancel/, path)
      const { status, text } = await root.post(path, { ...fields, do: 'edit' })
      assert.equal(status, 200, path)
      for (const pattern of entered) assert.match(text, pattern, path)
    }
    for (const [path, fields, page] of [
      ['/-/admin/rule/delete', { name: 'total' }, '/-/admin/rule?name=total'],
      ['/-/admin/group/delete', { name: 'paid' }, '/-/admin/group?name=paid'],
      ['/-/admin/group/members', { name: 'paid', remove: 'ben' }, '/-/admin/group?name=paid'],
    ] as const) {
      const preview = await root.post(path, { ...fields, do: 'preview' })
      assert.match(preview.text, /name="do" value="edit"[^>]*>Cancel/, path)
      const { status, headers } = await root.post(path, { ...fields, do: 'edit' })
      assert.deepEqual([status, headers.get('location')], [303, page])
      assert.equal((await root.get(page)).status, 200)
    }
  })
})

describe('The owners of a large instance', () => {
  /** More owners than those of an instance whose pages read them all each time. */
  const MANY = 1001

  it('are read again after a change on a page, and not after a page that asks first', async (t) => {
    const allot = await startFixture()
    const root = await allot.signedIn('root', PASSWORD)
    const { organizations } = allot.allot.hosting
    for (let index = 0; index < MANY; index++)
      await organizations.create(undefined, { name: `large-${index}` })
    const isListed = async (name: string) =>
      (await root.get(`/-/admin/owners?q=${name}`)).text.includes(`>${name}<`)
    // Figures that are some seconds old are shown, so the time stands still.
    t.mock.timers.enable({ apis: ['Date'], now: Date.now() + 60_000 })
    await waitFor(() => isListed('large-7'))
    await organizations.create(undefined, { name: 'newest' })

    const asked = await root.post('/-/admin/account/delete', { name: 'ben' })
    assert.match(asked.text, /This cannot be undone/)
    assert.equal(await isListed('newest'), false)

    const { headers } = await root.post('/-/admin/account/active', { name: 'ben', active: 'no' })
    assert.match(headers.get('location')!, /done=disabled/)
    assert.equal(await isListed('newest'), true)
  })
})
