import assert from 'node:assert/strict'
import { before, describe, it, type TestContext } from 'node:test'
import { memory } from '../../drivers/memory/index.ts'
import { AUDIT_DAYS, MAX_OF_USER } from '../../lib/audit.ts'
import { decodeKey } from '../../lib/records/key-codec.ts'
import type { StorageDriver, WriteTransaction } from '../../lib/storage/index.ts'
import { madeBefore, type Person, start, type TestServer } from '../support/test-server.ts'

interface Entry {
  at: string
  actor: { id: number; login: string }
  action: string
  subject: string
  before: string
  after: string
}

describe('GET /admin/audit', () => {
  let root: Person
  const allot = madeBefore(() => start({ repositories: false }))
  before(async () => {
    root = allot.root
  })

  const log = async (query = ''): Promise<Entry[]> =>
    (await allot.as(root, 'GET', `/admin/audit${query}`)).body

  /** Makes a change, and returns what it added to the log, the oldest first. */
  const added = async (method: string, path: string, body?: object): Promise<Entry[]> => {
    const before = (await log()).length
    const { status } = await allot.as(root, method, path, body)
    assert.ok(status < 300, `${method} ${path}: ${status}`)
    const entries = await log()
    return entries.slice(0, entries.length - before).reverse()
  }

  const CHANGES: readonly [
    method: string,
    path: string,
    body: object | undefined,
    ...(readonly [action: string, subject: string, before: unknown, after: unknown])[],
  ][] = [
    [
      'POST',
      '/admin/quota/rules',
      { name: 'r', limit: 5, subjects: ['size:all'] },
      ['rule created', 'r', '', { limit: 5, subjects: ['size:all'] }],
    ],
    [
      'PATCH',
      '/admin/quota/rules/r',
      { limit: 7 },
      ['rule changed', 'r', { limit: 5, subjects: ['size:all'] }, { limit: 7, subjects: ['size:all'] }],
    ],
    ['POST', '/admin/quota/groups', { name: 'g' }, ['group created', 'g', '', { rules: [] }]],
    [
      'PUT',
      '/admin/quota/groups/g/rules/r',
      undefined,
      ['group changed', 'g', { rules: [] }, { rules: ['r'] }],
    ],
    [
      'POST',
      '/admin/users',
      { username: 'ann', email: 'ann@example.org' },
      ['account created', 'ann', '', undefined],
    ],
    ['PUT', '/admin/quota/groups/g/users/ann', undefined, ['groups assigned', 'ann', [], ['g']]],
    ['DELETE', '/admin/quota/groups/g/users/ann', undefined, ['groups assigned', 'ann', ['g'], []]],
    ['POST', '/admin/users/ann/quota/groups', { groups: ['g'] }, ['groups assigned', 'ann', [], ['g']]],
    [
      'DELETE',
      '/admin/quota/groups/g/rules/r',
      undefined,
      ['group changed', 'g', { rules: ['r'] }, { rules: [] }],
    ],
    [
      'PATCH',
      '/admin/users/ann',
      { full_name: 'Ann', admin: true },
      ['account changed', 'ann', { fullName: '', admin: false }, { fullName: 'Ann', admin: true }],
    ],
    ['PATCH', '/admin/users/ann', { password: 'a long password' }, ['password changed', 'ann', '', '']],
    [
      'POST',
      '/users/ann/tokens',
      { name: 'ci', scopes: ['read:user'] },
      ['token created', 'ann', '', { token: 'ci', scopes: ['read:user'] }],
    ],
    [
      'DELETE',
      '/users/ann/tokens/ci',
      undefined,
      ['token revoked', 'ann', { token: 'ci', scopes: ['read:user'] }, ''],
    ],
    [
      'POST',
      '/orgs',
      { username: 'acme' },
      ['account created', 'acme', '', { kind: 'organization', visibility: 'public' }],
    ],
    [
      'DELETE',
      '/orgs/acme',
      undefined,
      ['account deleted', 'acme', { kind: 'organization', purge: false }, ''],
    ],
    // With Sudo, the log names the administrator.
    ['POST', '/orgs?sudo=ann', { username: 'beta' }, ['account created', 'beta', '', undefined]],
    ['DELETE', '/orgs/beta?sudo=ann', undefined, ['account deleted', 'beta', undefined, '']],
    [
      'PATCH',
      '/user/settings?sudo=ann',
      { full_name: 'Ann B' },
      ['account changed', 'ann', { fullName: 'Ann' }, { fullName: 'Ann B' }],
    ],
    ['PATCH', '/user/settings?sudo=root', { full_name: 'Root' }],
    ['PATCH', '/user/settings', { full_name: '' }],
    ['DELETE', '/admin/quota/groups/g', undefined, ['group deleted', 'g', { rules: [], owners: 1 }, '']],
    [
      'POST',
      '/admin/quota/groups',
      { name: 'h', rules: [{ name: 'r' }, { name: 's', limit: 9, subjects: ['size:all'] }] },
      ['rule created', 's', '', { limit: 9, subjects: ['size:all'] }],
      ['group created', 'h', '', { rules: ['r', 's'] }],
    ],
    [
      'DELETE',
      '/admin/quota/rules/r',
      undefined,
      ['rule deleted', 'r', { limit: 7, subjects: ['size:all'] }, ''],
      ['group changed', 'h', { rules: ['r', 's'] }, { rules: ['s'] }],
    ],
    ['DELETE', '/admin/users/ann', undefined, ['account deleted', 'ann', { kind: 'user', purge: false }, '']],
  ]

  it('has each change of rules, groups, assignments and accounts: what, when and by whom', async () => {
    const parsed = (text: string) => (text === '' ? '' : JSON.parse(text))
    for (const [method, path, body, ...expected] of CHANGES) {
      const entries = await added(method, path, body)
      assert.equal(entries.length, expected.length, `${method} ${path}`)
      for (const [index, [action, subject, before, after]] of expected.entries()) {
        const entry = entries[index]!
        assert.deepEqual([entry.action, entry.subject], [action, subject])
        if (before !== undefined) assert.deepEqual(parsed(entry.before), before)
        if (after !== undefined) assert.deepEqual(parsed(entry.after), after)
        assert.deepEqual(entry.actor, { id: root.id, login: 'root' })
        assert.ok(Math.abs(Date.parse(entry.at) - Date.now()) < 60_000)
      }
    }
  })

  it('has the beginning of a value that is too long, as a JSON string', async () => {
    const subjects = Array.from({ length: 100 }, () => 'size:assets:artifacts')
    const [entry] = await added('POST', '/admin/quota/rules', { name: 'long', limit: 1, subjects })
    assert.match(JSON.parse(entry!.after), /^\{"limit":1,"subjects":\["size:assets:artifacts",/)
  })

  it('has no secret: neither passwords nor tokens', async () => {
    assert.doesNotMatch(JSON.stringify(await log('?limit=50')), /a long password|[0-9a-f]{40}/)
  })

  it('has what a plan changed, and nothing when it changed nothing', async () => {
    const plan = {
      rules: [{ name: 'p', limit: 1, subjects: ['size:all'] }],
      groups: [{ name: 'q', rules: ['p'] }],
      assignments: { root: ['q'] },
    }
    const entries = await added('POST', '/admin/quota/apply', plan)
    assert.deepEqual(entries.map(({ action, subject }) => `${action} ${subject}`).sort(), [
      'group created q',
      'groups assigned root',
      'rule created p',
    ])
    assert.deepEqual(await added('POST', '/admin/quota/apply', plan), [])
    assert.deepEqual(await added('POST', '/admin/quota/apply?dry_run=true', { ...plan, rules: [] }), [])
  })

  it('does not have a rule, or the groups of an owner, that were set to what they are', async () => {
    const same: [string, string, object?][] = [
      ['PATCH', '/admin/quota/rules/p', { limit: 1, subjects: ['size:all'] }],
      ['POST', '/admin/users/root/quota/groups', { groups: ['q'] }],
    ]
    for (const [method, path, body] of same)
      assert.deepEqual(await added(method, path, body), [], `${method} ${path}`)
  })

  it('does not have what was refused, nor what users change of themselves', async () => {
    const before = (await log('?limit=50')).length
    assert.equal(
      (await allot.as(root, 'POST', '/admin/quota/rules', { name: 'p', limit: 1, subjects: [] })).status,
      409,
    )
    const ben = await allot.person('ben')
    await allot.as(ben, 'POST', '/users/ben/tokens', { name: 'own', scopes: ['all'] })
    const edited = await allot.as(ben, 'PATCH', '/user/settings', { full_name: 'Ben' })
    assert.equal(edited.body.full_name, 'Ben')
    assert.equal((await log('?limit=50')).length, before)
  })

  it('pages, the newest first, and is for administrators with the scope', async () => {
    const all = await log('?limit=50')
    const first = await allot.as(root, 'GET', '/admin/audit?limit=2')
    assert.equal(first.headers.get('x-total-count'), String(all.length))
    assert.deepEqual(first.body, all.slice(0, 2))
    assert.deepEqual(await log('?limit=2&page=2'), all.slice(2, 4))
    assert.ok(all.every(({ at }, index) => index === 0 || at <= all[index - 1]!.at))
    const eve = await allot.person('eve')
    assert.equal((await allot.as(eve, 'GET', '/admin/audit')).status, 403)
    const narrow = { ...root, token: await allot.scoped(root, 'read:user') }
    assert.equal((await allot.as(narrow, 'GET', '/admin/audit')).status, 403)
  })

  it('forgets changes after 400 days', async (t) => {
    const before = (await log('?limit=50')).length
    assert.ok(before > 5)
    t.mock.timers.enable({ apis: ['Date'], now: Date.now() + 401 * 86_400_000 })
    assert.deepEqual(await log(), [])
    for (let limit = 1; limit <= 3; limit++)
      await allot.as(root, 'PATCH', '/admin/quota/rules/p', { limit: 10 + limit })
    const { headers } = await allot.as(root, 'GET', '/admin/audit')
    assert.equal(headers.get('x-total-count'), '3')
    // Removed with every twentieth change.
    for (let limit = 1; limit <= 20; limit++)
      await allot.as(root, 'PATCH', '/admin/quota/rules/p', { limit: 100 + limit })
    let lines = ''
    await allot.allot.export(async (chunk) => {
      lines += Buffer.from(chunk).toString()
    })
    assert.equal(lines.match(/^\{"collection":"audit"/gm)?.length, 23)
  })
})

describe('The changes of a plan', () => {
  it('are recorded like the same changes made directly', async (t) => {
    const { root, as, stop } = await start({ repositories: false })
    t.after(stop)
    const rule = (limit: number) => ({ name: 'x', limit, subjects: ['size:all'] })
    const group = (rules: string[]) => ({ name: 'y', rules })
    const assigned = { assignments: { root: ['y'] } }
    const steps: [plan: object, method: string, path: string, body?: object][] = [
      [{ rules: [rule(1)] }, 'POST', '/admin/quota/rules', rule(1)],
      [{ rules: [rule(2)] }, 'PATCH', '/admin/quota/rules/x', { limit: 2 }],
      [{ groups: [group([])] }, 'POST', '/admin/quota/groups', { name: 'y' }],
      [{ groups: [group(['x'])] }, 'PUT', '/admin/quota/groups/y/rules/x'],
      [assigned, 'PUT', '/admin/quota/groups/y/users/root'],
      [{ groups: [group([])], ...assigned, prune: true }, 'DELETE', '/admin/quota/rules/x'],
      [{ prune: true }, 'DELETE', '/admin/quota/groups/y'],
    ]
    /** What the requests add to the log, the oldest first. */
    const recorded = async (requests: [method: string, path: string, body?: object][]) => {
      const log = async (): Promise<Entry[]> => (await as(root, 'GET', '/admin/audit?limit=50')).body
      const before = (await log()).length
      for (const request of requests) assert.ok((await as(root, ...request)).status < 300, request[1])
      const entries = (await log()).reverse().slice(before)
      return entries.map(({ action, subject, before, after }) => ({ action, subject, before, after }))
    }
    const direct = await recorded(steps.map(([, ...request]) => request))
    const planned = await recorded(steps.map(([plan]) => ['POST', '/admin/quota/apply', plan]))
    // A plan also lists the assignments that end with a group.
    const unassigned = { action: 'groups assigned', subject: 'root', before: '["y"]', after: '[]' }
    assert.deepEqual(planned, [...direct, unassigned])
    // Deleting the rule also changes its group.
    assert.equal(direct.length, steps.length + 1)
  })
})

describe('The changes of a user who is not an administrator', () => {
  it(`fill the log to ${MAX_OF_USER} records, the newest, and those of administrators are kept`, async (t) => {
    const allot = await start({ repositories: false })
    t.after(() => allot.stop())
    const [root, fay] = [allot.root, await allot.person('fay')]
    const rename = (person: Person, name: string) =>
      allot.as(person, 'PATCH', '/orgs/busy', { full_name: name })
    const log = async (page: number): Promise<Entry[]> =>
      (await allot.as(root, 'GET', `/admin/audit?limit=50&page=${page}`)).body
    await rename(root, (await allot.as(fay, 'POST', '/orgs', { username: 'busy' })).body.name)
    for (let edit = 1; edit <= MAX_OF_USER + 1; edit++) await rename(fay, `Busy ${edit}`)
    const entries = [...(await log(1)), ...(await log(2)), ...(await log(3))]
    const namesBy = ({ name }: Person) =>
      entries.filter(({ actor }) => actor.login === name).map(({ after }) => JSON.parse(after).fullName)
    assert.deepEqual(namesBy(root), ['busy'])
    assert.equal(namesBy(fay).length, MAX_OF_USER)
    assert.deepEqual([namesBy(fay)[0], namesBy(fay).at(-1)], [`Busy ${MAX_OF_USER + 1}`, 'Busy 2'])
  })
})

describe('The audit log after a quiet time', () => {
  const setLimit = async (allot: TestServer, limit: number) => {
    const { status } = await allot.as(allot.root, 'PATCH', '/admin/quota/rules/p', { limit })
    assert.equal(status, 200)
  }
  /** Starts a server whose log has this many changes, which are too old to be shown once the clock is set. */
  const startWithChanges = async (t: TestContext, changes: number): Promise<TestServer> => {
    const allot = await start({ repositories: false })
    t.after(() => allot.stop())
    await allot.as(allot.root, 'POST', '/admin/quota/rules', { name: 'p', limit: 1, subjects: ['size:all'] })
    for (let limit = 2; limit <= changes; limit++) await setLimit(allot, limit)
    return allot
  }
  const waitLong = (t: TestContext) =>
    t.mock.timers.enable({ apis: ['Date'], now: Date.now() + (AUDIT_DAYS + 1) * 86_400_000 })

  it('counts the changes that it shows, however many others have expired', async (t) => {
    const allot = await startWithChanges(t, 250)
    waitLong(t)
    for (let limit = 1; limit <= 3; limit++) await setLimit(allot, limit)
    const { headers, body } = await allot.as(allot.root, 'GET', '/admin/audit')
    assert.deepEqual([headers.get('x-total-count'), body.length], ['3', 3])
  })

  it('is asked for expired changes at some of the changes of a large plan only', async () => {
    const real = memory()
    let ranges = 0
    const counting = (tx: WriteTransaction): WriteTransaction => ({
      ...tx,
      range(range) {
        if (decodeKey(range.start)[0] === 'audit') ranges++
        return tx.range(range)
      },
    })
    const driver: StorageDriver = { ...real, write: (work) => real.write((tx) => work(counting(tx))) }
    const allot = await start({ repositories: false, driver })
    const rules = Array.from({ length: 400 }, (_, at) => ({
      name: `r${at}`,
      limit: 1,
      subjects: ['size:all'],
    }))
    ranges = 0
    await allot.done(allot.root, 'POST', '/admin/quota/apply', { rules })
    assert.ok(ranges >= 1 && ranges <= 400 / 10, `${ranges}`)
  })

  it('is freed of expired changes in each of the stores of a process that take turns', async (t) => {
    const stores = [await startWithChanges(t, 5), await startWithChanges(t, 5)]
    waitLong(t)
    for (let limit = 1; limit <= 20; limit++) for (const allot of stores) await setLimit(allot, 100 + limit)
    for (const { allot } of stores) {
      let lines = ''
      await allot.export(async (chunk) => {
        lines += Buffer.from(chunk).toString()
      })
      assert.equal(lines.match(/^\{"collection":"audit"/gm)?.length, 20)
    }
  })
})
