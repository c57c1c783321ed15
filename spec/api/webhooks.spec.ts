import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { assertError, assertNoContent, assertNotFound } from '../support/expectations.ts'
import { type Receiver, startReceiver } from '../support/receiver.ts'
import { type Person, start, type TestServer } from '../support/test-server.ts'

let allot: TestServer
let receiver: Receiver
let [alice, bob]: Person[] = []
before(async () => {
  receiver = await startReceiver()
  allot = await start({ repositories: false, webhooks: { allowedHosts: ['127.0.0.1'] } })
  alice = await allot.person('alice')
  bob = await allot.person('bob')
  await allot.as(alice, 'POST', '/orgs', { username: 'acme' })
  await allot.as(alice, 'POST', '/user/repos', { name: 'app' })
})
after(async () => {
  await allot.stop()
  await receiver.stop()
})

const CONFIG = { url: 'https://ci.example.org/hook', content_type: 'json', secret: 'between us' }
const hookAt = (path: string) => ({
  type: 'gitea',
  config: { ...CONFIG, url: `${receiver.url}${path}` },
  active: true,
})

const created = (who: Person, path: string, body: object = { type: 'gitea', config: CONFIG }) =>
  allot.made(who, path, body)

const GROUPS = ['/repos/alice/app/hooks', '/orgs/acme/hooks', '/user/hooks', '/admin/hooks'] as const
const keeperOf = (path: string) => (path.startsWith('/admin') ? allot.root : alice!)

it('A webhook is of a repository or an organization that exists', async () => {
  for (const path of ['/repos/alice/missing/hooks', '/orgs/missing/hooks'])
    assertNotFound(await allot.as(alice, 'POST', path, { type: 'gitea', config: CONFIG }))
})

for (const path of GROUPS)
  describe(`Webhooks at ${path}`, () => {
    it('are created, listed, read, changed and deleted', async () => {
      const who = keeperOf(path)
      const { id, ...hook } = await created(who, path)
      assert.deepEqual(
        { ...hook, created_at: '', updated_at: '' },
        {
          type: 'gitea',
          config: { url: CONFIG.url, content_type: 'json' },
          branch_filter: '',
          events: ['push'],
          authorization_header: '',
          active: false,
          inactive_reason: '',
          is_system_webhook: path === '/admin/hooks',
          created_at: '',
          updated_at: '',
        },
      )
      const at = `${path}/${id}`
      const list = await allot.as(who, 'GET', path)
      assert.deepEqual([list.body.length, list.headers.get('x-total-count')], [1, '1'])
      const edit = { events: ['issues', 'quota'], active: true, config: { content_type: 'form' } }
      const edited = await allot.as(who, 'PATCH', at, edit)
      assert.equal(edited.status, 200, edited.text)
      assert.deepEqual((await allot.as(who, 'GET', at)).body, edited.body)
      const { events, active, config } = edited.body
      assert.deepEqual([events, active, config.content_type], [['issues', 'quota'], true, 'form'])
      assertNoContent(await allot.as(who, 'DELETE', at))
      for (const [method, one] of [['GET'], ['PATCH', {}], ['DELETE']] as const)
        assertNotFound(await allot.as(who, method, at, one))
    })

    it('send a test on request, keep its delivery, and send it again', async () => {
      const who = keeperOf(path)
      const target = path.replaceAll('/', '-')
      const { id } = await created(who, path, hookAt(`/${target}`))
      const at = `${path}/${id}`
      assertNoContent(await allot.as(who, 'POST', `${at}/tests`))
      await receiver.at(`/${target}`, 1)
      const again = await allot.as(who, 'POST', `${at}/deliveries/1/attempts`)
      assert.deepEqual([again.status, again.body.id, again.body.redelivery], [202, 2, true])
      const [first, second] = await receiver.at(`/${target}`, 2)
      assert.equal(first!.headers['x-gitea-event'], 'ping')
      assert.deepEqual(
        [second!.headers['x-gitea-delivery'], second!.text],
        [first!.headers['x-gitea-delivery'], first!.text],
      )
      const list = await allot.as(who, 'GET', `${at}/deliveries`)
      assert.deepEqual(
        list.body.map((one: { id: number }) => one.id),
        [2, 1],
      )
      const { body } = await allot.as(who, 'GET', `${at}/deliveries/1`)
      assert.deepEqual(
        [body.status, body.status_code, body.attempts, body.response.body, body.request.payload],
        ['delivered', 200, 1, 'thanks', first!.body],
      )
      await allot.as(who, 'PATCH', at, { active: false })
      for (const inactive of ['tests', 'deliveries/1/attempts'])
        assertError(await allot.as(who, 'POST', `${at}/${inactive}`), 409, /not active/)
      await allot.as(who, 'DELETE', at)
    })

    it('do not exist for others, nor under another path', async () => {
      const who = keeperOf(path)
      const { id } = await created(who, path)
      const at = `${path}/${id}`
      const isOwn = path === '/user/hooks'
      const requests = [
        ['GET', path],
        ['POST', path, { type: 'gitea', config: CONFIG }],
        ...(['', '/deliveries', '/deliveries/1'] as const).map((rest) => ['GET', at + rest] as const),
        ...(['/tests', '/deliveries/1/attempts'] as const).map((rest) => ['POST', at + rest] as const),
        ['PATCH', at, {}],
        ['DELETE', at],
      ] as const
      for (const [method, target, body] of isOwn ? requests.slice(2) : requests) {
        const answer = await allot.as(bob, method, target, body)
        if (isOwn) assertNotFound(answer)
        else assertError(answer, 403)
      }
      for (const [method, target, body] of requests.slice(2)) {
        const missing = target.replace(`/${id}`, '/999')
        assertNotFound(await allot.as(who, method, missing, body))
        if (!isOwn) {
          const elsewhere = target.replace(path, '/user/hooks')
          assertNotFound(await allot.as(alice, method, elsewhere, body))
        }
      }
      assertNoContent(await allot.as(who, 'DELETE', at))
    })

    it('are limited in number', async () => {
      const who = keeperOf(path)
      const ids: number[] = []
      for (let made = 0; made < 20; made++) ids.push((await created(who, path)).id)
      assertError(await allot.as(who, 'POST', path, { type: 'gitea', config: CONFIG }), 409, /20 webhooks/)
      for (const id of ids) await allot.as(who, 'DELETE', `${path}/${id}`)
    })

    it('are refused with a sentence that says what is wrong', async () => {
      const bad: [object, RegExp][] = [
        [{ type: 'slack', config: CONFIG }, /^type: expected one of gitea, gogs, forgejo|^type: /],
        [{ type: 'gitea', config: { content_type: 'json' } }, /config\.url is required/i],
        [{ type: 'gitea', config: { url: 'ftp://a.example' } }, /^config\.url: expected a URL that begins/],
        [{ type: 'gitea', config: { url: 'nothing' } }, /^config\.url: expected a URL that begins/],
        [{ type: 'gitea', config: { url: 'https://a:b@c.example/' } }, /authorization_header instead/],
        [
          { type: 'gitea', config: { url: 'http://10.0.0.1/' } },
          /^config\.url: the address 10\.0\.0\.1 is not public/,
        ],
        [{ type: 'gitea', config: { url: 'http://[::1]/' } }, /::1 is not public/],
        [{ type: 'gitea', config: { url: 'http://[::127.0.0.1]/' } }, /::7f00:1 is not public/],
        [{ type: 'gitea', config: { url: 'http://[4000::1]/' } }, /4000::1 is not public/],
        [{ type: 'gitea', config: { url: 'http://2130706434/' } }, /127\.0\.0\.2 is not public/],
        [{ type: 'gitea', config: { ...CONFIG, content_type: 'xml' } }, /^config\.content_type: /],
        [
          { type: 'gitea', config: { ...CONFIG, http_method: 'GET' } },
          /^config\.http_method: expected one of "POST"/,
        ],
        [
          { type: 'gitea', config: { ...CONFIG, secret: 'x'.repeat(256) } },
          /^config\.secret: must have at most 255/,
        ],
        [{ type: 'gitea', config: CONFIG, events: ['pushh'] }, /^events: there is no event "pushh"/],
        [{ type: 'gitea', config: CONFIG, events: Array(51).fill('push') }, /^events: must have at most 50/],
        [
          { type: 'gitea', config: CONFIG, authorization_header: 'a\nb' },
          /^authorization_header: must be one line/,
        ],
        [{ type: 'gitea', config: CONFIG, active: 'yes' }, /^active: /],
      ]
      const who = keeperOf(path)
      for (const [body, message] of bad) assertError(await allot.as(who, 'POST', path, body), 422, message)
      const { id } = await created(who, path)
      for (const [body, message] of bad.slice(2))
        assertError(await allot.as(who, 'PATCH', `${path}/${id}`, body), 422, message)
      const { url } = (await allot.as(who, 'GET', `${path}/${id}`)).body.config
      assert.equal(url, CONFIG.url)
      await allot.as(who, 'DELETE', `${path}/${id}`)
      assert.deepEqual((await allot.as(who, 'GET', path)).body, [])
    })
  })

describe('The secret and the Authorization header of a webhook', () => {
  it('are in no response, and not in the audit log', async () => {
    const body = { type: 'gitea', config: CONFIG, authorization_header: 'Bearer hidden' }
    const { id } = await created(alice!, '/user/hooks', body)
    const at = `/user/hooks/${id}`
    await allot.as(alice, 'PATCH', at, { config: { secret: 'another' } })
    const answers = [
      await allot.as(alice, 'GET', at),
      await allot.as(alice, 'GET', '/user/hooks'),
      await allot.as(allot.root, 'GET', '/admin/audit'),
    ]
    assert.match(answers[2]!.text, /webhook changed/)
    for (const { text } of answers) assert.doesNotMatch(text, /between us|another|Bearer/)
    assertNoContent(await allot.as(alice, 'DELETE', at))
  })

  it('are kept when a client sends back what it was shown, except that another receiver gets no header', async () => {
    const body = { ...hookAt('/one'), authorization_header: 'Bearer hidden' }
    const { id } = await created(alice!, '/user/hooks', body)
    const at = `/user/hooks/${id}`
    const shown = (await allot.as(alice, 'GET', at)).body
    assert.equal((await allot.as(alice, 'PATCH', at, shown)).status, 200)
    await allot.as(alice, 'POST', `${at}/tests`)
    const [first] = await receiver.at('/one', 1)
    assert.equal(first!.headers.authorization, 'Bearer hidden')
    assert.match(String(first!.headers['x-hub-signature-256']), /^sha256=[0-9a-f]{64}$/)
    const elsewhere = { config: { url: `${receiver.url.replace('127.0.0.1', 'localhost')}/two` } }
    assert.equal((await allot.as(alice, 'PATCH', at, elsewhere)).status, 200)
    await allot.as(alice, 'PATCH', at, { config: { url: `${receiver.url}/two` } })
    await allot.as(alice, 'POST', `${at}/tests`)
    const [second] = await receiver.at('/two', 1)
    assert.equal(second!.headers.authorization, undefined)
    await allot.as(alice, 'DELETE', at)
  })
})

it('The audit log names the repository of a webhook as it is stored', async () => {
  const { id } = await created(alice!, '/repos/ALICE/APP/hooks', { type: 'gitea', config: CONFIG })
  const { body } = await allot.as(allot.root, 'GET', '/admin/audit')
  assert.deepEqual([body[0].action, body[0].subject], ['webhook created', 'alice/app'])
  await allot.as(alice, 'DELETE', `/repos/alice/app/hooks/${id}`)
})

it('Webhooks are off by default: neither the routes nor the OpenAPI document have them', async () => {
  const off = await start({ repositories: false })
  for (const path of ['/user/hooks', '/admin/hooks']) assertNotFound(await off.as(off.root, 'GET', path))
  const { paths, tags } = (await off.request('GET', '/openapi.json')).body
  const names = [...Object.keys(paths), ...tags.map(({ name }: { name: string }) => name)]
  assert.deepEqual(
    names.filter((name) => name.includes('hook')),
    [],
  )
  await off.stop()
})
