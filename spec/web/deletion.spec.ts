import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { Readable } from 'node:stream'
import { before, describe, it, mock } from 'node:test'
import { unknownOutcome } from '../../drivers/postgres/errors.ts'
import { AllotError } from '../../lib/index.ts'
import { StorageError } from '../../lib/storage/index.ts'
import { temporaryDirectory } from '../support/folder.ts'
import { madeBefore } from '../support/test-server.ts'
import { type PageClient, type PageServer, startPages, words } from './browser.ts'
import { PASSWORD } from './fixture.ts'

const OID = createHash('sha256').update('large').digest('hex')

/** The rows of the table of what goes, each as `name | frees`. */
const rows = (html: string): string[] =>
  [...html.replace(/<thead>.*?<\/thead>/gs, '').matchAll(/<tr.*?<\/tr>/gs)].map(([row]) =>
    [...row.matchAll(/<td.*?<\/td>/gs)].map(([cell]) => words(cell).trim()).join(' | '),
  )

const fieldOf = (html: string, name: string): string =>
  new RegExp(`<input[^>]*name="${name}"[^>]*>`).exec(html)![0]

describe('Before something is deleted', () => {
  let ann: PageClient
  let root: PageClient
  let account: Awaited<ReturnType<PageServer['person']>>
  const allot = madeBefore(() => startPages({ repositories: { directory: temporaryDirectory() } }))
  before(async () => {
    account = await allot.person('ann', { password: PASSWORD })
    for (const name of ['code', 'more', 'other']) await allot.as(account, 'POST', '/user/repos', { name })
    await allot.upload(account, `/ann/code/info/lfs/objects/${OID}/5`, 'large')
    const issue = await allot.as(account, 'POST', '/repos/ann/code/issues', { title: 'A bug' })
    await allot.attach(account, `/repos/ann/code/issues/${issue.body.number}`, 'y'.repeat(800), 'log.txt')
    await allot.upload(account, '/api/packages/ann/generic/app/1.0/app.bin', 'x'.repeat(3000))
    await allot.allot.ledger.put({
      kind: 'artifacts',
      key: 'run',
      repository: 'ann/code',
      name: 'build',
      size: 600_000,
      run: 7,
    })
    await allot.allot.ledger.put({
      kind: 'lfs',
      key: 'far',
      repository: 'ann/code',
      name: 'far',
      size: 70_000,
    })
    ann = await allot.signedIn('ann', PASSWORD)
    root = await allot.signedIn('', allot.root.token)
    await root.get('/-/admin')
  })

  const idOf = async (name: string) =>
    `repositories:${(await allot.as(account, 'GET', `/repos/ann/${name}`)).body.id}`
  const names = async () =>
    ((await allot.as(account, 'GET', '/user/repos')).body as { name: string }[])
      .map(({ name }) => name)
      .sort()
  const remove = (fields: Record<string, string | string[]>) => ann.post('/-/storage/ann/remove', fields)

  it('a repository is listed with everything that goes, by kind with sizes, and what is stored in another system is not counted', async () => {
    const { text } = await remove({ item: await idOf('code') })
    const [, freed] = /This frees (.*?) and cannot/.exec(words(text))!
    assert.match(freed!, /^at least /)
    const [bytes, git] = [...text.matchAll(/<data value="(\d+)"/g)].map(([, value]) => Number(value))
    assert.equal(bytes, git! + 800)
    assert.deepEqual(rows(text), [
      `code repository of ann | ${freed!.replace('at least ', '')}`,
      `Git data | ${git} B`,
      'LFS objects Those that are stored in another system stay there. | up to 68.4 KiB',
      'Attachments | 800 B',
      'Artifacts 586 KiB, stored in another system: not deleted there. View | Stays',
    ])
    const [link] = /href="([^"]*kind=artifacts[^"]*)"/.exec(text)!.slice(1)
    const list = await ann.get(link!.replaceAll('&amp;', '&'))
    assert.match(words(list.text), /1 artifact · .* build .*run 7 in code/)
    assert.match(words(text), /no longer counts toward the limits, but its files stay where they are/)
  })

  it('a repository is kept until its name is typed', async () => {
    const item = await idOf('code')
    const before = (await allot.as(account, 'GET', '/user/quota')).body
    for (const confirmation of ['', 'Code', 'more', '1']) {
      const { status, text } = await remove({ item, confirmed: 'yes', confirmation })
      assert.equal(status, 422)
      assert.match(
        words(text),
        new RegExp(
          `Expected "code", the name of the repository, got "${confirmation}"; nothing was deleted\\.`.replaceAll(
            '"',
            '&quot;',
          ),
        ),
      )
      assert.match(fieldOf(text, 'confirmation'), /aria-invalid[^>]*aria-describedby="failure"/)
    }
    assert.equal((await remove({ item, confirmed: 'yes' })).status, 422)
    assert.deepEqual((await allot.as(account, 'GET', '/user/quota')).body, before)
    assert.deepEqual(await names(), ['code', 'more', 'other'])
  })

  it('several repositories are kept until their number is typed, and each is listed', async () => {
    const items = [await idOf('code'), await idOf('more')]
    const { text } = await remove({ item: items })
    assert.match(words(text), /Delete 2 repositories\?.*Confirmation: type 2 , the number of repositories/)
    assert.deepEqual(
      rows(text)
        .filter((row) => row.includes('repository of'))
        .map((row) => row.split(' ')[0]),
      ['code', 'more'],
    )
    assert.equal((await remove({ item: items, confirmed: 'yes', confirmation: '1' })).status, 422)
    assert.deepEqual(await names(), ['code', 'more', 'other'])
    const done = await remove({ item: items, confirmed: 'yes', confirmation: '2' })
    assert.equal(done.headers.get('location'), '/-/storage/ann/usage?done=deleted')
    assert.deepEqual(await names(), ['other'])
  })

  it('one repository goes when its name is typed, with the many entries of another system in it', async () => {
    const entry = (index: number) => ({
      ...{ op: 'put' as const, kind: 'artifacts' as const, key: `many-${index}`, name: `n${index}` },
      ...{ repository: 'ann/other', size: 1000, run: 1 },
    })
    await allot.allot.ledger.batch(Array.from({ length: 700 }, (_, index) => entry(index)))
    const item = await idOf('other')
    const { text } = await remove({ item })
    assert.ok(
      rows(text).includes('Artifacts 684 KiB, stored in another system: not deleted there. View | Stays'),
      rows(text).join('\n'),
    )
    const account = await root.post('/-/admin/account/delete', { name: 'ann' })
    assert.ok(
      rows(account.text).includes('Artifacts 684 KiB, stored in another system: not deleted there. | Stays'),
    )
    assert.equal((await remove({ item, confirmed: 'yes', confirmation: 'other' })).status, 303)
    assert.deepEqual(await names(), [])
  })

  it('an account says what must go first, with links, and its name must be typed', async () => {
    await allot.as(account, 'POST', '/user/repos', { name: 'last' })
    await root.post('/-/admin/accounts/new', {
      kind: 'organization',
      name: 'acme',
      owner: 'ann',
      visibility: 'public',
    })
    await allot.as(account, 'POST', '/orgs/acme/repos', { name: 'engine' })
    const asked = await root.post('/-/admin/account/delete', { name: 'ann' })
    assert.match(
      words(asked.text),
      /To delete the user alone Settle these first: 1 repository : delete or transfer it 1 version of a package : delete it the organization acme , which has no other owner/,
    )
    for (const to of [
      '/-/storage/ann/repositories',
      '/-/storage/ann/packages',
      '/-/admin/account?name=acme',
    ]) {
      assert.ok(asked.text.includes(`href="${to}"`), to)
      assert.equal((await root.get(to)).status, 200)
    }
    assert.match(
      words(asked.text),
      /everything below: this frees ([\d.]+ KiB)\. .* By repository .* last repository of ann .* engine repository of acme/,
    )
    assert.ok(rows(asked.text).includes('Packages | 2.93 KiB'))
    assert.match(words(asked.text), /Organizations without another owner are deleted too: acme ?\./)
    assert.doesNotMatch(asked.text, /type="checkbox"/)
    for (const confirmation of ['', 'Ann', 'acme']) {
      const { status, text } = await root.post('/-/admin/account/delete', {
        name: 'ann',
        purge: 'yes',
        confirmation,
      })
      assert.equal(status, 422)
      assert.match(text, /Expected &quot;ann&quot;, the name of the user, got .*; nothing was deleted\./)
      assert.match(fieldOf(text, 'confirmation'), /aria-invalid/)
    }
    const alone = await root.post('/-/admin/account/delete', { name: 'ann', confirmation: 'ann' })
    assert.equal(alone.status, 422)
    assert.match(
      words(alone.text),
      /still owns repositories; what must go first is listed below\. .*Settle these first/,
    )
    assert.deepEqual(await names(), ['engine', 'last'])
    const done = await root.post('/-/admin/account/delete', {
      name: 'ann',
      purge: 'yes',
      confirmation: 'ann',
    })
    assert.equal(done.headers.get('location'), '/-/admin/owners?done=deleted')
    for (const name of ['ann', 'acme'])
      assert.equal((await root.get(`/-/admin/account?name=${name}`)).status, 404)
  })

  it('an account that owns nothing goes alone, and an organization that it did not found stays', async () => {
    const ben = await allot.person('ben')
    const { organizations } = allot.allot.hosting
    const club = await organizations.create(undefined, { name: 'club' })
    await organizations.setMember(club.id, ben.id)
    await allot.allot.ledger.put({
      kind: 'packages',
      key: 'own',
      owner: 'ben',
      name: 'p',
      size: 9,
      type: 'npm',
      version: '1',
    })
    const asked = await root.post('/-/admin/account/delete', { name: 'ben' })
    assert.doesNotMatch(words(asked.text), /Settle these first|this frees/)
    assert.deepEqual(rows(asked.text), ['Packages 9 B, stored in another system: not deleted there. | Stays'])
    const done = await root.post('/-/admin/account/delete', { name: 'ben', confirmation: 'ben' })
    assert.equal(done.status, 303)
    assert.equal((await root.get('/-/admin/account?name=club')).status, 200)
  })

  it('a founder who alone owns an organization is refused with a sentence about it', async () => {
    const fay = await allot.person('fay')
    await allot.allot.hosting.organizations.create(fay.id, { name: 'fays' })
    const { status, text } = await root.post('/-/admin/account/delete', { name: 'fay', confirmation: 'fay' })
    assert.equal(status, 422)
    assert.match(
      words(text),
      /the only owner of an organization that it founded; what must go first is listed below\. .*the organization fays/,
    )
  })

  it('an organization that goes with an account only if a box is ticked is listed with what it has', async () => {
    const cleo = await allot.person('cleo')
    const { organizations } = allot.allot.hosting
    const team = await organizations.create(undefined, { name: 'team' })
    await organizations.setMember(team.id, cleo.id, { owner: true })
    assert.equal((await allot.as(cleo, 'POST', '/orgs/team/repos', { name: 'plans' })).status, 201)
    await allot.allot.ledger.put({
      kind: 'artifacts',
      key: 'plan',
      repository: 'team/plans',
      name: 'build',
      size: 2048,
      run: 1,
    })
    const box = (html: string) => /<input type="checkbox" name="purge"[^>]*>/.exec(html)![0]
    const asked = await root.post('/-/admin/account/delete', { name: 'cleo' })
    assert.match(
      words(asked.text),
      /Also delete what has no other owner: team .* This also deletes everything below/,
    )
    const listed = rows(asked.text)
    assert.ok(
      listed.some((row) => row.startsWith('plans repository of team | ')),
      listed.join('\n'),
    )
    assert.ok(
      listed.some((row) => row.startsWith('Artifacts 2 KiB, stored in another system')),
      listed.join('\n'),
    )
    assert.match(asked.text, /<details open>\s*<summary>By repository/)
    assert.doesNotMatch(box(asked.text), / checked/)
    const fields = { name: 'cleo', purge: 'yes' }
    const refused = await root.post('/-/admin/account/delete', { ...fields, confirmation: 'Cleo' })
    assert.equal(refused.status, 422)
    assert.match(box(refused.text), / checked/)
    assert.equal((await root.get('/-/admin/account?name=team')).status, 200)
    const done = await root.post('/-/admin/account/delete', { ...fields, confirmation: 'cleo' })
    assert.equal(done.status, 303)
    for (const name of ['cleo', 'team'])
      assert.equal((await root.get(`/-/admin/account?name=${name}`)).status, 404)
  })
})

describe('A deletion of several items of which one is refused', () => {
  it('deletes the others, and says which it did not delete', async () => {
    const allot = await startPages({ repositories: { directory: temporaryDirectory() } })
    const person = await allot.person('ann', { password: PASSWORD })
    const { hosting } = allot.allot
    const viewer = { id: person.id, admin: false }
    const file = () => Readable.from([Buffer.from('text')])
    await allot.as(person, 'POST', '/user/repos', { name: 'old' })
    await hosting.issues.create(viewer, { owner: 'ann', name: 'old' }, { title: 'A bug' })
    const input = { name: 'log.txt', content: file(), maxSize: 100 }
    await hosting.attachments.add(viewer, { owner: 'ann', name: 'old' }, { issue: 1 }, input)
    mock.method(hosting.attachments, 'remove', async () => {
      throw new AllotError('forbidden', 'this repository is archived')
    })
    for (const name of ['one', 'two'])
      await hosting.packages.add(
        viewer,
        { owner: 'ann', type: 'generic', name, version: '1' },
        'x',
        file(),
        undefined,
      )
    const ann = await allot.signedIn('ann', PASSWORD)
    const itemsIn = (html: string) => [...html.matchAll(/name="item" value="([^"]*)"/g)].map(([, id]) => id!)
    const before = itemsIn((await ann.get('/-/storage/ann/usage?kind=attachments')).text)
    before.push(...itemsIn((await ann.get('/-/storage/ann/usage?kind=packages')).text))
    const { status, text } = await ann.post('/-/storage/ann/remove', { item: before, confirmed: 'yes' })
    assert.equal(status, 403)
    assert.match(words(text), /[Dd]eleted 2 of 3 items, and not log\.txt: .*archived/)
    assert.deepEqual(itemsIn(text), before.slice(0, 1))
    assert.match(text, /href="\/-\/storage\/ann\/usage"/)
    assert.deepEqual(itemsIn((await ann.get('/-/storage/ann/usage?kind=packages')).text), [])
  })

  /** Deletes the packages one, two and six, while the deletion of some of them fails. */
  const removePackages = async (failures: Readonly<Record<string, Error>>) => {
    const allot = await startPages({ repositories: { directory: temporaryDirectory() } })
    const person = await allot.person('ann', { password: PASSWORD })
    const { packages } = allot.allot.hosting
    const viewer = { id: person.id, admin: false }
    for (const name of ['one', 'two', 'six']) {
      const version = { owner: 'ann', type: 'generic', name, version: '1' }
      await packages.add(viewer, version, 'x', Readable.from([Buffer.from('text')]), undefined)
    }
    const ann = await allot.signedIn('ann', PASSWORD)
    const list = async () => (await ann.get('/-/storage/ann/usage?kind=packages')).text
    const items = [...(await list()).matchAll(/name="item" value="([^"]*)"/g)].map(([, id]) => id!)
    const remove = packages.remove.bind(packages)
    mock.method(packages, 'remove', (by: typeof viewer, version: Parameters<typeof remove>[1]) => {
      const failure = failures[version.name]
      if (failure !== undefined) throw failure
      return remove(by, version)
    })
    const answer = await ann.post('/-/storage/ann/remove', { item: items, confirmed: 'yes' })
    assert.equal((await list()).match(/name="item"/g)?.length, Object.keys(failures).length)
    return { ...answer, retryAfter: answer.headers.get('retry-after') }
  }

  it('deletes the others, and says so, when the reason is unexpected', async () => {
    const { status, text, retryAfter } = await removePackages({ two: new Error('the disk is gone') })
    assert.deepEqual([status, retryAfter], [503, '1'])
    assert.match(words(text), /Deleted 2 of 3 items, and not two.*: an internal error occurred/)
    assert.doesNotMatch(text, /the disk is gone/)
  })

  it('has no Retry-After while it is not known of one item whether it was deleted', async () => {
    const busy = new StorageError('busy', 'the database did not answer in time')
    const { status, text, retryAfter } = await removePackages({ two: busy, six: unknownOutcome() })
    assert.deepEqual([status, retryAfter], [503, null])
    assert.match(words(text), /not known whether the write took place/)
  })
})
