import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { before, describe, it } from 'node:test'
import { SCOPES } from '../../lib/scopes.ts'
import { temporaryDirectory } from '../support/folder.ts'
import { madeBefore } from '../support/test-server.ts'
import { type PageClient, type PageServer, startPages, words } from './browser.ts'
import { PASSWORD } from './fixture.ts'

/** The names in the table, in their order. */
const names = (html: string): string[] =>
  [...html.replace(/<thead>.*?<\/thead>/gs, '').matchAll(/<tr>.*?<\/tr>/gs)].map(
    ([row]) =>
      row
        .replace(/<[^>]*>/g, ' ')
        .trim()
        .split(/\s+/)[0]!,
  )

const OID = createHash('sha256').update('large').digest('hex')

describe('The table of what uses the storage', () => {
  let ann: PageClient
  const items = (query = '') => ann.get(`/-/storage/ann/usage${query}`)
  const allot = madeBefore(() =>
    startPages({
      repositories: { directory: temporaryDirectory() },
      quota: { defaultGroups: ['free'] },
    }),
  )
  before(async () => {
    const { rules, groups } = allot.allot.quota
    await rules.create({ name: 'files', limit: 4000, subjects: ['size:assets:all'] })
    await groups.create({ name: 'free', rules: ['files'] })
    const account = await allot.person('ann', { password: PASSWORD })
    await allot.as(account, 'POST', '/user/repos', { name: 'code', private: true })
    await allot.as(account, 'POST', '/user/repos', { name: 'other' })
    for (const [name, size] of [
      ['app', 3000],
      ['tool', 1500],
    ] as const)
      await allot.upload(account, `/api/packages/ann/generic/${name}/1.0/${name}.bin`, 'x'.repeat(size))
    const issue = await allot.as(account, 'POST', '/repos/ann/code/issues', { title: 'A bug' })
    await allot.attach(account, `/repos/ann/code/issues/${issue.body.number}`, 'y'.repeat(800), 'log.txt')
    await allot.upload(account, `/ann/code/info/lfs/objects/${OID}/5`, 'large')
    await allot.allot.ledger.put({
      kind: 'artifacts',
      key: 'run',
      repository: 'ann/other',
      name: '=build',
      size: 600,
      run: 7,
    })
    ann = await allot.signedIn('ann', PASSWORD)
  })

  it('lists git data, LFS objects, packages, attachments and artifacts together, with their share', async () => {
    const { text } = await items()
    assert.match(words(text), /7 items/)
    assert.deepEqual(
      new Set(names(text)),
      new Set(['code', 'other', 'app', 'tool', 'log.txt', '=build', `${OID.slice(0, 12)}…`]),
    )
    assert.match(words(text), /app package · generic 1\.0 · Download package .* \d+% 2\.93 KiB/)
    assert.match(words(text), /=build ↗ artifact · run 7 in other/)
    const shares = [...text.matchAll(/<td class="number share wide">(\d+)%/g)].map(([, share]) =>
      Number(share),
    )
    assert.ok(Math.abs(shares.reduce((sum, share) => sum + share, 0) - 100) <= 5, String(shares))
  })

  it('filters by kind, by repository and by a part of the name, and sorts', async () => {
    assert.deepEqual(names((await items('?kind=packages')).text), ['app', 'tool'])
    assert.deepEqual(names((await items('?kind=packages&sort=name&order=reverse')).text), ['tool', 'app'])
    assert.deepEqual(names((await items('?kind=packages&order=reverse')).text), ['tool', 'app'])
    assert.deepEqual(names((await items('?q=LOG')).text), ['log.txt'])
    assert.deepEqual(names((await items('?kind=lfs&repository=code')).text), [`${OID.slice(0, 12)}…`])
    assert.deepEqual(names((await items('?kind=lfs&repository=other')).text), [])
    assert.match(words((await items('?q=nothing')).text), /Nothing matches/)
    for (const query of [
      '?page=9',
      '?page=-1',
      '?kind=x&sort=y&order=z',
      `?q=${'x'.repeat(5000)}`,
      '?repository=%00',
    ])
      assert.equal((await items(query)).status, 200, query)
  })

  it('adds up everything in a repository when repositories are listed', async () => {
    const { text } = await ann.get('/-/storage/ann/repositories')
    assert.deepEqual(new Set(names(text)), new Set(['code', 'other']))
    assert.match(words(text), /private · git \d+ B, LFS 5 B, attachments 800 B/)
    assert.match(words(text), /public · git \d+ B, artifacts 600 B/)
  })

  it('has pages and a CSV file for more than a thousand items, and says where they end', async () => {
    const long = await allot.person('long', { password: PASSWORD })
    await allot.as(long, 'POST', '/user/repos', { name: 'git' })
    const entry = (index: number) => ({
      ...{ op: 'put' as const, key: `long-${index}`, name: `n${index}`, size: 20_000 - index },
      ...(index % 20 === 0
        ? { kind: 'packages' as const, owner: 'long', type: 'npm', version: '1' }
        : { kind: 'artifacts' as const, repository: 'long/git', run: 1 }),
    })
    await allot.allot.ledger.batch(Array.from({ length: 1100 }, (_, index) => entry(index)))
    const browser = await allot.signedIn('long', PASSWORD)
    const page = async (query: string) => {
      const { text } = await browser.get(`/-/storage/long/usage${query}`)
      return { shown: names(text), text: words(text) }
    }
    const deep = await page('?page=19')
    assert.deepEqual([deep.shown.length, deep.shown[0], deep.shown.at(-1)], [50, 'n900', 'n949'])
    assert.match(
      deep.text,
      /1,101 items\. The 1,000 largest are listed, .* Page 19 of 20 First Previous Next Last/,
    )
    assert.match((await page('?page=1')).text, /Page 1 of 20 Next Last/)
    assert.match((await page('?page=20')).text, /Page 20 of 20 First Previous/)
    assert.match((await page('?page=21')).text, /Nothing on this page .* First Previous/)
    for (const [link, target] of [
      ['First', 'usage'],
      ['Previous', 'usage\\?page=18'],
      ['Next', 'usage\\?page=20'],
      ['Last', 'usage\\?page=20'],
    ])
      assert.match(
        (await browser.get('/-/storage/long/usage?page=19')).text,
        new RegExp(`href="/-/storage/long/${target}"[^>]*>${link}<`),
      )
    assert.equal((await page('?kind=packages&page=2')).shown[0], 'n1000')
    assert.match((await page('?q=n100')).text, /Only the 1,000 largest are searched and sorted/)
    const file = async (query: string) => {
      const { headers, text } = await browser.get(`/-/storage/long/usage.csv${query}`)
      const [, name] = /filename="([^"]*)"/.exec(headers.get('content-disposition')!)!
      const lines = text.trim().split('\r\n')
      return { name, count: lines.length - 1, last: lines.at(-1)!.split(',')[1] }
    }
    assert.deepEqual(await file(''), { name: 'long-usage.csv', count: 1101, last: 'git' })
    const searched = await file('?q=n')
    assert.deepEqual([searched.name, searched.count], ['long-usage.csv', 1100])
    await allot.allot.ledger.batch(Array.from({ length: 9000 }, (_, index) => entry(1100 + index)))
    const cut = await file('?q=n')
    assert.deepEqual([cut.name, cut.count], ['long-usage-largest-10000.csv', 10_000])
  })

  it('is a CSV file, in which no name is a formula', async () => {
    const { headers, text } = await ann.get('/-/storage/ann/usage.csv')
    assert.match(headers.get('content-disposition')!, /^attachment; filename="ann-usage\.csv"/)
    const [head, ...lines] = text.trim().split('\r\n')
    assert.equal(head, 'kind,name,repository,bytes,created')
    assert.equal(lines.length, 7)
    assert.ok(
      lines.some((line) => /^artifacts,'=build,other,600,2\d{3}-/.test(line)),
      text,
    )
    const packages = await ann.get('/-/storage/ann/usage.csv?kind=packages')
    assert.equal(packages.text.trim().split('\r\n').length, 3)
  })

  it('downloads what this server keeps', async () => {
    const { text } = await items()
    const links = [...text.matchAll(/href="([^"]*download\?item=[^"]*)"/g)].map(([, link]) => link!)
    const files = new Map<string, string>()
    for (const link of new Set(links)) {
      const { headers, text, status } = await ann.get(link)
      assert.equal(status, 200)
      assert.match(headers.get('content-security-policy')!, /default-src 'none'/)
      files.set(/filename="([^"]*)"/.exec(headers.get('content-disposition')!)![1]!, text)
    }
    assert.equal(files.get('app.bin'), 'x'.repeat(3000))
    assert.equal(files.get('log.txt'), 'y'.repeat(800))
    assert.equal(files.get(OID), 'large')
    for (const item of ['', 'artifacts:run', 'lfs:none', 'git:1', 'packages:allot:999'])
      assert.equal(
        (await ann.get(`/-/storage/ann/download?item=${encodeURIComponent(item)}`)).status,
        404,
        item,
      )
  })

  it('selects what to remove to get under a limit, as few items as suffice', async () => {
    const { text } = await items('?remove=files')
    assert.match(
      words(text),
      /Assets: 5\.76 of 3\.91 KiB, rule files\. Deleting the 1 item below frees 2\.93 KiB/,
    )
    assert.deepEqual(names(text), ['app'])
    assert.match(text, /<input type="checkbox" name="item" value="packages:[^"]*" checked/)
    assert.match(
      words((await ann.get('/')).text),
      /Assets Over quota .* 5\.76 of 3\.91 KiB \(148%\) rule files/,
    )
    assert.match(words((await items('?remove=other')).text), /7 items/)
  })

  it('leads to a history that says on the first day that it begins', async () => {
    const { text } = await ann.get('/-/storage/ann/history')
    assert.match(
      words(text),
      /The history begins today, with [\d.]+ KiB\. From tomorrow on, a chart shows here/,
    )
    assert.doesNotMatch(text, /class="chart"/)
    await allot.person('new', { password: PASSWORD })
    const fresh = await allot.signedIn('new', PASSWORD)
    assert.match(
      words((await fresh.get('/')).text),
      /Nothing is stored yet\. A chart shows here how usage changes/,
    )
  })

  it('shows nothing of another owner, and deletes nothing of another owner', async () => {
    await allot.person('eve', { password: PASSWORD })
    const eve = await allot.signedIn('eve', PASSWORD)
    const [value] = /packages:[^"]*/.exec((await items('?kind=packages')).text)!
    assert.equal((await eve.get('/-/storage/ann/usage')).status, 404)
    assert.equal((await eve.get(`/-/storage/eve/download?item=${encodeURIComponent(value)}`)).status, 404)
    const answer = await eve.post('/-/storage/eve/remove', { item: value, confirmed: 'yes' })
    assert.equal(answer.headers.get('location'), '/-/storage/eve/usage?done=gone')
    assert.equal((await eve.post('/-/storage/ann/remove', { item: value, confirmed: 'yes' })).status, 404)
    assert.deepEqual(names((await items('?kind=packages')).text), ['app', 'tool'])
  })

  it('deletes several items after a confirmation that says how much is freed', async () => {
    const page = await items()
    const values = [...page.text.matchAll(/name="item" value="([^"]*)"/g)].map(([, value]) => value!)
    assert.deepEqual(values.map((value) => value.split(':')[0]).sort(), [
      'attachments',
      'lfs',
      'packages',
      'packages',
    ])
    const asked = await ann.post('/-/storage/ann/remove', { item: values })
    assert.match(words(asked.text), /Delete 4 items\? This frees 5\.18 KiB and cannot be undone\./)
    assert.match(words(asked.text), /Commits that use a deleted LFS object/)
    assert.equal(names((await items()).text).length, 7)
    const done = await ann.post('/-/storage/ann/remove', { item: values, confirmed: 'yes' })
    assert.equal(done.headers.get('location'), '/-/storage/ann/usage?done=deleted')
    assert.deepEqual(new Set(names((await items()).text)), new Set(['code', 'other', '=build']))
    assert.equal((await ann.post('/-/storage/ann/remove', { item: Array(51).fill('x') })).status, 422)
  })

  it('deletes LFS objects of an archived repository for those who administer it alone', async () => {
    const owner = await allot.person('lena', { password: PASSWORD })
    const { id, username } = { id: owner.id, username: 'lena' }
    const writer = await allot.person('will')
    await allot.as(owner, 'POST', '/user/repos', { name: 'old' })
    await allot.upload(owner, `/lena/old/info/lfs/objects/${OID}/5`, 'large')
    await allot.as(owner, 'PUT', '/repos/lena/old/collaborators/will', { permission: 'write' })
    assert.equal((await allot.as(owner, 'PATCH', '/repos/lena/old', { archived: true })).status, 200)
    const repository = (await allot.as(owner, 'GET', '/repos/lena/old')).body.id
    const { lfs } = allot.allot.hosting
    const remove = (user: { id: number; username: string }) =>
      lfs.remove({ ...user, admin: false }, repository, OID)
    await assert.rejects(remove({ id: writer.id, username: 'will' }), /archived/)
    assert.ok(await remove({ id, username }))
    assert.equal((await allot.as(owner, 'GET', '/user/quota')).body.used.size.git.LFS, 0)
  })

  it('shows and filters by who attached a file, and deletes those attachments that it has shown', async () => {
    const [olga, mallory] = [
      await allot.person('olga', { password: PASSWORD }),
      await allot.person('mallory'),
    ]
    await allot.as(olga, 'POST', '/user/repos', { name: 'app' })
    const attach = async (by: typeof olga, file: string, size: number) => {
      const { body } = await allot.as(by, 'POST', '/repos/olga/app/issues', { title: file })
      await allot.attach(by, `/repos/olga/app/issues/${body.number}`, 'z'.repeat(size), file)
    }
    await attach(olga, 'mine.txt', 700)
    for (let index = 0; index < 60; index++) await attach(mallory, `spam${index}.txt`, 100 + index)
    const browser = await allot.signedIn('olga', PASSWORD)
    const list = async (query = '') => (await browser.get(`/-/storage/olga/usage${query}`)).text
    assert.match(words(await list('?kind=attachments')), /mine\.txt issue 1 in app · attached by olga/)
    const found = await list('?uploader=Mallory')
    assert.match(words(found), /Download CSV 60 items/)
    assert.match(words(found), /Delete up to 500 attachments of Mallory…/)
    assert.doesNotMatch(found, /mine\.txt/)
    assert.match(words(await list('?uploader=nobody')), /Nothing matches/)
    const asked = await browser.post('/-/storage/olga/remove', { uploader: 'mallory' })
    assert.match(words(asked.text), /Delete 60 items\?/)
    const hidden = [...asked.text.matchAll(/type="hidden" name="([^"]*)" value="([^"]*)"/g)]
    const valuesOf = (field: string) => hidden.flatMap(([, name, value]) => (name === field ? [value!] : []))
    await attach(mallory, 'later.txt', 900)
    const done = await browser.post('/-/storage/olga/remove', {
      confirmed: 'yes',
      uploader: valuesOf('uploader'),
      item: valuesOf('item'),
    })
    assert.deepEqual([done.status, done.headers.get('location')], [303, '/-/storage/olga/usage?done=deleted'])
    assert.deepEqual(names(await list('?uploader=mallory')), ['later.txt'])
    assert.match(await list('?kind=attachments'), /mine\.txt/)
    const { body } = await allot.as(olga, 'GET', '/user/quota')
    assert.equal(body.used.size.assets.attachments.issues, 1600)
    const many = { item: Array(501).fill('attachments:x') }
    assert.equal((await browser.post('/-/storage/olga/remove', many)).status, 422)
  })

  it('needs the scopes of each kind when the session began with a token', async () => {
    const { body } = await allot.as(allot.root, 'POST', '/users/ann/tokens', {
      name: 'read',
      scopes: ['read:user'],
    })
    const reader = await allot.signedIn('', body.sha1)
    const { text } = await reader.get('/-/storage/ann/repositories')
    assert.doesNotMatch(text, /type="checkbox"/)
    const { body: other } = await allot.as(allot.root, 'GET', '/repos/ann/other')
    await reader.post('/-/storage/ann/remove', { item: `repositories:${other.id}`, confirmed: 'yes' })
    assert.equal((await allot.as(allot.root, 'GET', '/repos/ann/other')).status, 200)
  })
})

describe('The page of tokens and sessions', () => {
  let ann: PageClient
  let person: Awaited<ReturnType<PageServer['person']>>
  const allot = madeBefore(() => startPages())
  before(async () => {
    person = await allot.person('ann', { password: PASSWORD })
    ann = await allot.signedIn('ann', PASSWORD)
  })

  it('makes a token, shows it once, lists it by its last eight characters, and revokes it after a confirmation', async () => {
    const made = await ann.post('/-/account/tokens', { name: 'ci', scope: ['read:user', 'read:repository'] })
    const [secret] = /\b[\da-f]{40}\b/.exec(words(made.text))!
    // Before it is used: a use is saved a few seconds later, which a busy machine may take until it asks for
    // the list.
    const list = await ann.get('/-/account')
    assert.equal((await allot.as({ ...person, token: secret }, 'GET', '/user')).body.login, 'ann')
    assert.ok(!list.text.includes(secret))
    assert.match(
      words(list.text),
      new RegExp(
        `ci ends in ${secret.slice(-8)} · created on [\\d-]+ · never used scopes: read:repository, read:user`,
      ),
    )
    const token = /name="token" value="(\d+)"/g
    const id = [...list.text.matchAll(token)].map(([, id]) => id!).at(-1)!
    assert.match(
      words((await ann.post('/-/account/revoke', { token: id, name: 'ci' })).text),
      /Revoke this token\?/,
    )
    assert.equal((await allot.as({ ...person, token: secret }, 'GET', '/user')).status, 200)
    const done = await ann.post('/-/account/revoke', { token: id, confirmed: 'yes' })
    assert.equal(done.headers.get('location'), '/-/account?done=revoked')
    assert.equal((await allot.as({ ...person, token: secret }, 'GET', '/user')).status, 401)
    assert.equal((await ann.post('/-/account/revoke', { token: id, confirmed: 'yes' })).status, 404)
  })

  it('revokes no other token, whose name is the id of one that is gone', async () => {
    const { tokens } = allot.allot.hosting
    const gone = await tokens.create(person.id, 'gone', ['read:user'])
    const other = await tokens.create(person.id, String(gone.token.id), ['read:user'])
    const fields = { token: String(gone.token.id), confirmed: 'yes' }
    assert.equal((await ann.post('/-/account/revoke', fields)).status, 303)
    assert.equal((await ann.post('/-/account/revoke', fields)).status, 404)
    assert.equal((await allot.as({ ...person, token: other.secret }, 'GET', '/user')).status, 200)
  })

  it('offers the scopes that allow something, and names those that allow nothing', async () => {
    const { text } = await ann.get('/-/account')
    const offered = [...text.matchAll(/name="scope" value="([^"]*)"/g)].map(([, scope]) => scope)
    assert.deepEqual(
      offered,
      SCOPES.filter((scope) => !/misc|admin|secrets/.test(scope)),
    )
    assert.match(words(text), /The scopes read:misc and write:misc of Forgejo allow nothing here\./)
  })

  it('keeps what was entered when a token is refused, and explains each scope', async () => {
    for (const [fields, message] of [
      [{ name: '', scope: 'all' }, /Must have 1 to 255 characters/],
      [{ name: 'x', scope: [] }, /Choose at least one/],
      [{ name: 'x', scope: 'read:everything' }, /Invalid access token scope: read:everything/],
    ] as const) {
      const { status, text } = await ann.post('/-/account/tokens', fields)
      assert.equal(status, 422)
      assert.match(words(text), message)
    }
    const { text } = await ann.get('/-/account')
    assert.match(words(text), /write:repository Push, and create, change and delete repositories\./)
    assert.doesNotMatch(text, /value="write:admin"/)
  })

  it('refuses a token that may do more than the session', async () => {
    const { body } = await allot.as(allot.root, 'POST', '/users/ann/tokens', {
      name: 'narrow',
      scopes: ['write:user'],
    })
    const narrow = await allot.signedIn('', body.sha1)
    assert.doesNotMatch((await narrow.get('/-/account')).text, /value="write:repository"/)
    const { status, text } = await narrow.post('/-/account/tokens', {
      name: 'wide',
      scope: 'write:repository',
    })
    assert.equal(status, 403)
    assert.match(words(text), /cannot give a token the scope write:repository/)
  })
})
