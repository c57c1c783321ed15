import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import express from 'express'
import { memory } from '../../drivers/memory/index.ts'
import { createQuota, type HostIdentity, type Quota, type QuotaOptions } from '../../lib/index.ts'
import { assertError, assertNoContent, assertNotFound } from '../support/expectations.ts'
import { listen } from '../support/listen.ts'
import { type Answer, createSender } from '../support/request.ts'
import { createSpecStore, type EmptyStore } from '../support/store.ts'

const quiet = { error: () => undefined, info: () => undefined }

/** A login of the host: a header names the tenant, and another one the rights. */
const authenticate: QuotaOptions['authenticate'] = ({ headers }) => {
  const tenant = headers['x-tenant']
  if (typeof tenant !== 'string') return null
  const { 'x-admin': admin, 'x-scopes': scopes } = headers
  return {
    id: decodeURIComponent(tenant),
    admin: admin === 'yes',
    scopes: typeof scopes === 'string' ? scopes.split(',') : undefined,
  }
}

const as =
  (tenant: string, more: Record<string, string> = {}) =>
  (base: string, method: string, path: string, body?: unknown): Promise<Answer> =>
    createSender(`${base}/api/v1`)(method, path, {
      headers: { 'x-tenant': encodeURIComponent(tenant), ...more },
      ...(body === undefined ? {} : { body }),
    })

const admin = as('the operators', { 'x-admin': 'yes' })

let store: EmptyStore
let quota: Quota
let base: string
let stop: () => Promise<void>
before(async () => {
  store = await createSpecStore()
  quota = await createQuota({ driver: store.driver, authenticate, log: quiet })
  const running = await listen(quota.handler)
  base = running.origin
  stop = running.stop
})
after(async () => {
  await stop()
  assert.deepEqual((await quota.verify()).messages, [])
  await quota.close()
  await store.drop()
})

describe('The handler of createQuota', () => {
  it('lets an administrator make rules, groups and assignments, and put entries for owners of any name', async () => {
    const tenant = 'tenant/42 ä'
    const path = encodeURIComponent(tenant)
    const rule = { name: 'small', limit: 1000, subjects: ['size:all'] }
    assert.equal((await admin(base, 'POST', '/admin/quota/rules', rule)).status, 201)
    assert.equal(
      (await admin(base, 'POST', '/admin/quota/groups', { name: 'free', rules: ['small'] })).status,
      201,
    )
    assertNoContent(await admin(base, 'PUT', `/admin/quota/groups/free/users/${path}`))
    const entry = { owner: tenant, name: 'a.pdf', size: 1500 }
    const put = await admin(base, 'PUT', '/admin/ledger/artifacts/file-1', entry)
    assert.deepEqual([put.status, put.body], [201, { kind: 'artifacts', key: 'file-1', ...entry }])

    const own = as(tenant)
    assert.equal((await own(base, 'GET', '/user/quota')).body.used.size.assets.artifacts, 1500)
    assert.equal((await own(base, 'GET', '/user/quota/check?subject=size:all')).body, true)
    assert.equal((await own(base, 'GET', '/user/quota/explain?subject=size:all')).body.left, -500)
    assert.equal((await as('another')(base, 'GET', '/user/quota/check?subject=size:all')).body, false)

    const members = await admin(base, 'GET', '/admin/quota/groups/free/users')
    assert.deepEqual(
      members.body.map(({ login, html_url }: { login: string; html_url: string }) => [login, html_url]),
      [[tenant, '']],
    )
    const over = await admin(base, 'GET', '/admin/quota/over')
    assert.deepEqual([over.body.length, over.body[0].owner.login], [1, tenant])
    const status = await admin(base, 'GET', `/admin/users/${path}/quota`)
    assert.equal(status.body.groups[0].name, 'free')
    const why = await admin(base, 'GET', `/admin/users/${path}/quota/explain?subject=size:all`)
    assert.equal(why.body.over, true)
    const applied = await admin(base, 'POST', '/admin/quota/apply', { assignments: { 'plan/1': ['free'] } })
    assert.deepEqual([applied.body[0].action, applied.body[0].name], ['create', 'plan/1'])
    const simulated = await admin(base, 'POST', '/admin/quota/simulate', {
      assignments: { [tenant]: [], 'never named': ['free'] },
    })
    assert.deepEqual(
      simulated.body.map(({ owner }: { owner: { login: string } }) => owner.login),
      [tenant],
    )
    assertNoContent(await admin(base, 'DELETE', `/admin/quota/groups/free/users/${path}`))
    assertNotFound(await admin(base, 'DELETE', '/admin/quota/groups/free/users/never%20named'))
    assert.ok(!(await quota.owners.list({ offset: 0, limit: 100 })).items.includes('never named'))
  })

  it('lists who changed what, with the id -1 for a sender who is not an owner yet', async () => {
    const auditor = as('auditors', { 'x-admin': 'yes' })
    const newest = async () => (await auditor(base, 'GET', '/admin/audit?limit=1')).body[0]
    const change = (limit: number) => auditor(base, 'PATCH', '/admin/quota/rules/audited', { limit })
    await auditor(base, 'POST', '/admin/quota/rules', { name: 'audited', limit: 1, subjects: ['size:all'] })
    const { actor, action, subject } = await newest()
    assert.deepEqual([actor, action, subject], [{ id: -1, login: 'auditors' }, 'rule created', 'audited'])

    await quota.ledger.put({ kind: 'artifacts', key: 'audit', owner: 'auditors', name: 'x', size: 1 })
    await change(2)
    const owned = await newest()
    assert.equal(owned.actor.login, 'auditors')
    assert.ok(owned.actor.id > 0, `the id is ${owned.actor.id}`)
    assertError(await as('tenant')(base, 'GET', '/admin/audit'), 403)
  })

  it('lists the entries of the owner who asks, largest first, without links', async () => {
    const lines = [
      { kind: 'artifacts', key: 'l1', name: 'one', size: 1 },
      { kind: 'artifacts', key: 'l2', name: 'two', size: 2 },
      { kind: 'packages', key: 'l3', name: 'image', size: 3, type: 'oci', version: '1' },
      { kind: 'attachments', key: 'l4', name: 'photo', size: 4, on: 'issue' },
    ]
    const sender = createSender(`${base}/api/v1`)
    const batch = await sender('POST', '/admin/ledger', {
      headers: { 'x-tenant': 'ops', 'x-admin': 'yes', 'content-type': 'application/x-ndjson' },
      body: lines.map((line) => JSON.stringify({ op: 'put', owner: 'lister', ...line })).join('\n'),
    })
    assert.deepEqual(batch.body, { applied: 4 })
    const list = async (path: string) => as('lister')(base, 'GET', `/user/quota/${path}`)
    const artifacts = await list('artifacts?limit=1')
    assert.deepEqual(artifacts.body, [{ name: 'two', size: 2, html_url: '' }])
    assert.equal(artifacts.headers.get('x-total-count'), '2')
    assert.deepEqual((await list('packages')).body, [
      { name: 'image', type: 'oci', version: '1', size: 3, html_url: '' },
    ])
    assert.deepEqual((await list('attachments')).body, [
      { name: 'photo', size: 4, api_url: '', contained_in: { api_url: '', html_url: '' } },
    ])
    assert.deepEqual((await as('nobody yet')(base, 'GET', '/user/quota/artifacts')).body, [])
  })

  it('serves the document of its routes, and no others', async () => {
    const { paths } = (await admin(base, 'GET', '/openapi.json')).body
    const described = Object.keys(paths)
    assert.ok(described.includes('/user/quota') && described.includes('/admin/ledger/{kind}/{key}'))
    assert.deepEqual(
      described.filter(
        (path) =>
          !/^\/(?:user\/quota|admin\/(?:quota|ledger|audit|users\/\{username\}\/quota))|openapi/.test(path),
      ),
      [],
    )
    for (const path of [
      '/user',
      '/version',
      '/users/search',
      '/repos/search',
      '/admin/users',
      '/admin/export',
    ])
      assertNotFound(await admin(base, 'GET', path))
  })

  it('answers 401 to a request that the host does not know, and 403 to one without the right', async () => {
    const unknown = createSender(`${base}/api/v1`)
    for (const path of ['/user/quota', '/admin/quota/rules'])
      assertError(await unknown('GET', path), 401, /sign in first/)
    assertError(await as('tenant')(base, 'GET', '/admin/quota/rules'), 403)
    assertError(await as('tenant')(base, 'PUT', '/admin/ledger/lfs/x', {}), 403)
    const narrow = as('ops', { 'x-admin': 'yes', 'x-scopes': 'read:admin' })
    assert.equal((await narrow(base, 'GET', '/admin/quota/rules')).status, 200)
    assertError(await narrow(base, 'DELETE', '/admin/ledger/lfs/x'), 403, /write:admin/)
    assertError(await narrow(base, 'GET', '/user/quota'), 403, /read:user/)
  })

  it('answers 500 when the host returns an identity without an id', async (test) => {
    const logged: string[] = []
    const log = {
      error: ({ err }: { err?: Error }) => void logged.push(err?.message ?? ''),
      info: () => undefined,
    }
    const authenticate = () => ({ id: '' }) satisfies HostIdentity
    const strange = await createQuota({ driver: memory(), authenticate, log })
    const running = await listen(strange.handler)
    test.after(async () => {
      await running.stop()
      await strange.close()
    })
    assertError(await createSender(`${running.origin}/api/v1`)('GET', '/user/quota'), 500)
    assert.match(logged.join(), /^authenticate returned [^,]+/)
  })

  it('answers 404 to a path, and 422 to an entry, with a name that no owner can have', async () => {
    assertNotFound(await admin(base, 'PUT', '/admin/quota/groups/free/users/a%0Ab'))
    assertNotFound(await admin(base, 'DELETE', '/admin/quota/groups/free/users/a%0Ab'))
    assertNotFound(await admin(base, 'GET', '/admin/users/a%0Ab/quota'))
    const entry = { owner: 'a\nb', name: 'x', size: 1 }
    assertError(await admin(base, 'PUT', '/admin/ledger/artifacts/x', entry), 422, /^owner: /)
    assertError(
      await admin(base, 'PUT', '/admin/ledger/artifacts/x', { name: 'x', size: 1 }),
      422,
      /Owner is required/,
    )
  })

  it('lets administrators, and only them, act for an owner with Sudo', async () => {
    await quota.ledger.put({ kind: 'lfs', key: 'sudo', owner: 'sudone', name: 'x', size: 9 })
    const acting = as('ops', { 'x-admin': 'yes', sudo: 'sudone' })
    assert.equal((await acting(base, 'GET', '/user/quota')).body.used.size.git.LFS, 9)
    assertError(await acting(base, 'GET', '/admin/quota/rules'), 403)
    assertError(await as('tenant', { sudo: 'sudone' })(base, 'GET', '/user/quota'), 403)
  })

  it('passes other paths on, and answers below a prefix of Express', async () => {
    const app = express()
    app.use('/storage', quota.handler)
    app.get('/storage/else', (_req, res) => void res.send('the application'))
    const running = await listen(app)
    try {
      const own = await as('tenant')(`${running.origin}/storage`, 'GET', '/user/quota')
      assert.equal(own.status, 200)
      assert.equal(await (await fetch(`${running.origin}/storage/else`)).text(), 'the application')
    } finally {
      await running.stop()
    }
  })

  it('is a fetch handler too', async () => {
    const headers = { 'x-tenant': 'tenant' }
    const request = (path: string) => new Request(`http://localhost${path}`, { headers })
    assert.equal((await quota.fetch(request('/api/v1/user/quota'))).status, 200)
    assert.equal((await quota.fetch(request('/s/api/v1/user/quota'), { prefix: '/s' })).status, 200)
    assert.equal((await quota.fetch(request('/api/v1/user/quota'), { prefix: '/s' })).status, 404)
  })

  it('answers 401 to everybody when the host gives no authenticate function', async () => {
    const anonymous = await createQuota({ driver: memory(), basePath: '/quota', log: quiet })
    const { status, text } = await anonymous
      .fetch(new Request('http://localhost/quota/user/quota'))
      .then(async (response) => ({ status: response.status, text: await response.text() }))
    await anonymous.close()
    assert.equal(status, 401)
    assert.match(text, /createQuota was given no authenticate function/)
  })
})
