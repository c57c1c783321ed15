import assert from 'node:assert/strict'
import { before, describe, it } from 'node:test'
import { madeBefore } from '../support/test-server.ts'
import { words } from './browser.ts'
import { PASSWORD, startFixture } from './fixture.ts'

const MIB = 1024 ** 2

/**
 * The fixture: `free`, with the rules total (200 MiB) and builds (40 MiB), applies by default; `paid` has no
 * limit.
 */
describe('What a change does to owners', () => {
  const allot = madeBefore(() => startFixture())
  const root = madeBefore(() => allot.signedIn('root', PASSWORD))
  before(async () => {
    await root.get('/-/admin/rules')
  })

  /** What a form asks, with nothing changed. */
  const asked = async (path: string, fields: Record<string, string | string[]>): Promise<string> => {
    const policy = async () => [
      (await allot.as(allot.root, 'GET', '/admin/quota/rules')).body,
      (await allot.as(allot.root, 'GET', '/admin/quota/groups')).body,
      await allot.allot.quota.groups.assignedTo('ben'),
    ]
    const before = await policy()
    const { status, text } = await root.post(`/-/admin/${path}`, fields)
    assert.equal(status, 200, text)
    assert.deepEqual(await policy(), before)
    return text
  }

  /** Each listed owner with the words for its state, and the class of their color. */
  const states = (html: string): string[] =>
    [...html.matchAll(/<bdi>(\w+)<\/bdi><\/a><span class="state (\w*)">([^<]*)</g)].map(
      ([, name, color, text]) => `${name}: ${text} (${color})`,
    )

  it('is said of the deletion of a default group: to how many owners it applies, and that they have no limit any more', async () => {
    const text = await asked('group/delete', { name: 'free' })
    assert.match(
      words(text),
      /Delete the group free\? .* Default group: applies to 5 owners\. After deletion, they have no limit\. root No limit anymore/,
    )
    assert.deepEqual(states(text), [
      'root: No limit anymore (near)',
      'ann: No limit anymore (near)',
      'acme: No limit anymore (near)',
      'secret: No limit anymore (near)',
      'club: No limit anymore (near)',
    ])
    assert.match(
      words(text),
      /acme No limit anymore Total: 220 MiB , no limit; limit before: 200 MiB by the rule total/,
    )
    assert.doesNotMatch(text, /state within|assigned to no owner/)
  })

  it('is said of the deletion of a rule, with the limit that decides then', async () => {
    const text = await asked('rule/delete', { name: 'total' })
    assert.match(
      words(text),
      /The rule will be removed from free, and applies to 5 owners\. After deletion, the group free decides\./,
    )
    assert.ok(states(text).includes('ann: Stays over quota (over)'))
    assert.match(
      words(text),
      /acme No limit anymore for total Total: 220 MiB , no limit; limit before: 200 MiB by the rule total ; now artifacts decides: 0 B of 40 MiB, rule builds/,
    )
    assert.match(
      words(await asked('rule/delete', { name: 'plenty' })),
      /applies to 1 owner\. After deletion, the owner has no limit\./,
    )
  })

  it('is said of the last rule of a group, which asks first', async () => {
    const text = await asked('group', { name: 'free', shown: ['total', 'builds'] })
    assert.match(words(text), /Group free loses the rules total and builds .* Nothing has been saved yet/)
    assert.equal(states(text).filter((state) => state.endsWith(': No limit anymore (near)')).length, 5)
    assert.match(text, /<input type="hidden" name="confirmed" value="yes"/)
  })

  it('is said of the end of an assignment, which asks first, and of an assignment', async () => {
    const page = await root.get('/-/admin/group?name=paid')
    const [, form] = /<form(.*?)<\/form>/s.exec(page.text.slice(page.text.indexOf('id="members"')))!
    assert.match(form!, /<input type="hidden" name="do" value="preview"/)
    const removed = await asked('group/members', { name: 'paid', remove: 'ben', do: 'preview' })
    assert.match(
      words(removed),
      /ben loses the group paid .* 1 gets a limit\. ben Gets a limit Artifacts: 0 B of 40 MiB, rule builds 1 other subject Gets a limit: Total: 0 B of 200 MiB, rule total/,
    )
    const added = await asked('group/members', { name: 'paid', owner: 'acme', do: 'preview' })
    assert.deepEqual(states(added), ['acme: No limit anymore (near)'])
    await allot.allot.quota.groups.create({
      name: 'only',
      rules: [{ name: 'one', limit: MIB, subjects: ['size:all'] }],
    })
    await allot.allot.quota.groups.assign('secret', 'only')
    const back = await asked('group/members', { name: 'only', remove: 'secret', do: 'preview' })
    assert.deepEqual(states(back), ['secret: Comes back within quota (within)'])
    assert.match(
      words(back),
      /secret Comes back within quota Total: 5 of 200 MiB, rule total ; limit before: 1 MiB by the rule one/,
    )
    await allot.allot.quota.groups.remove('only')
    await allot.allot.quota.rules.remove('one')
  })

  it('is counted and listed for a change of a limit, also for owners who are and stay over', async () => {
    const text = await asked('rule', { name: 'total', limit: '100 MiB', subject: 'size:all', do: 'preview' })
    assert.match(
      words(text),
      /Rule total: 200 MiB → 100 MiB .* applies to 5 owners\. 1 goes over quota, 1 stays over quota\. /,
    )
    assert.deepEqual(states(text), ['ann: Goes over quota (over)', 'acme: Stays over quota (over)'])
    assert.match(
      words(text),
      /acme Stays over quota Total: 220 of 100 MiB, rule total ; limit before: 200 MiB/,
    )
    const wider = await asked('rule', { name: 'total', limit: '300 MiB', subject: 'size:all', do: 'preview' })
    assert.deepEqual(states(wider), [
      'ann: Stays over quota (over)',
      'acme: Comes back within quota (within)',
    ])
    const unlimited = await asked('rule', {
      name: 'builds',
      limit: 'unlimited',
      subject: 'size:assets:artifacts',
      do: 'preview',
    })
    assert.match(
      words(unlimited),
      /Rule builds: 40 MiB → unlimited .* 1 stays over quota, 1 comes back within quota\. /,
    )
  })

  it('has a title that says what changes, with the unit on the line of its number', async () => {
    for (const [path, fields, title] of [
      ['rules', { name: 'new', limit: '5 MiB', subject: 'size:git:lfs' }, 'New rule new: 5\u00a0MiB for LFS'],
      [
        'rule',
        { name: 'builds', limit: '41943041', subject: 'size:git:lfs' },
        'Rule builds: 40\u00a0MiB → 41,943,041\u00a0bytes, Artifacts → LFS',
      ],
      ['rule', { name: 'total', limit: '200 MiB', subject: 'size:all' }, 'Nothing changes'],
      ['groups', { name: 'new' }, 'New group new'],
      [
        'group',
        { name: 'free', shown: ['total', 'builds'], rule: ['total', 'plenty'] },
        'Group free gets the rule plenty and loses the rule builds',
      ],
      [
        'owners',
        { owner: ['ann', 'acme', 'club', 'root'], group: 'paid', change: 'add' },
        '4 owners get the group paid',
      ],
    ] as const) {
      const text = await asked(path, { ...(fields as Record<string, string | string[]>), do: 'preview' })
      const [, found] = /<h1>(.*?)<\/h1>/.exec(text)!
      assert.equal(found, title)
    }
  })

  it('leads back to the list that the form belongs to', async () => {
    for (const [path, fields, list] of [
      ['rules', { name: 'new', limit: '5 MiB', subject: 'size:git:lfs', do: 'preview' }, 'Rules'],
      ['rule', { name: 'total', limit: '100 MiB', subject: 'size:all', do: 'preview' }, 'Rules'],
      ['rule/delete', { name: 'total' }, 'Rules'],
      ['groups', { name: 'new', do: 'preview' }, 'Groups'],
      ['group', { name: 'free', rule: 'total', do: 'preview' }, 'Groups'],
      ['group/delete', { name: 'free' }, 'Groups'],
      ['owners', { owner: 'ann', group: 'paid', change: 'add', do: 'preview' }, 'Owners'],
    ] as const) {
      const [, trail] = /<nav class="crumbs"[^>]*>(.*?)<\/nav>/s.exec(await asked(path, { ...fields }))!
      assert.deepEqual(
        [...trail!.matchAll(/href="([^"]*)"[^>]*>(?:<bdi>)?([^<]*)</g)].map(([, to, name]) => [to, name]),
        [
          ['/-/admin', 'Administration'],
          [`/-/admin/${list.toLowerCase()}`, list],
        ],
        path,
      )
    }
  })
})
