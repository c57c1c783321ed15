import assert from 'node:assert/strict'
import { rmSync } from 'node:fs'
import { after, before, describe, it } from 'node:test'
import * as v from 'valibot'
import { memory } from '../../drivers/memory/index.ts'
import { openAllot } from '../../lib/allot.ts'
import { routes } from '../../lib/api/index.ts'
import { importAllot } from '../../lib/index.ts'
import { TEXT_LIMITS } from '../../lib/records/text-limits.ts'
import { rawOf } from '../records/raw.ts'
import { temporaryDirectory } from '../support/folder.ts'
import { exported, inChunks, populate } from './instance.ts'
import { sealed } from './sealed.ts'

const long = (count: number) => 'x'.repeat(count)

const folder = temporaryDirectory()
const directories = { repositories: { directory: `${folder}/r` }, files: { directory: `${folder}/f` } }
let records: Map<string, object>
before(async () => {
  const allot = await openAllot({ driver: memory(), webhooks: true, ...directories })
  await populate(allot)
  const lines = (await exported(allot)).toString().trimEnd().split('\n').slice(1, -1)
  records = new Map(
    lines.map((line) => JSON.parse(line)).map(({ collection, record }) => [collection, record]),
  )
  await allot.close()
})
after(() => rmSync(folder, { recursive: true, force: true }))

describe('A record of an import', () => {
  const REFUSED: [collection: string, change: object][] = [
    ...Object.entries(TEXT_LIMITS).flatMap(([collection, limits]) =>
      Object.entries(limits).map(([member, limit]): [string, object] => [
        collection,
        { [member]: long(limit + 1) },
      ]),
    ),
    ['account', { visibility: 'secret' }],
    ['ledger', { key: long(3000) }],
    ['file', { name: '../../../x' }],
    ['attachment', { uuid: '../../x' }],
  ]
  for (const [collection, change] of REFUSED) {
    const [[member, value]] = Object.entries(change) as [[string, unknown]]
    it(`is refused with the number of its line, and leaves the store empty: ${collection}.${member} ${JSON.stringify(value).slice(0, 20)}`, async () => {
      const driver = memory()
      const good = { collection, record: records.get(collection) }
      const bad = { collection, record: { ...records.get(collection), ...change } }
      await importAllot({ driver: memory(), repositories: false, ...files() }, inChunks(sealed([good])))
      await assert.rejects(
        importAllot({ driver, repositories: false, ...files() }, inChunks(sealed([bad]))),
        { code: 'invalid', message: /^line 2: / },
      )
      await driver.open()
      assert.deepEqual(await rawOf(driver), [])
    })
  }
})

describe('A text from an embedding host', () => {
  it('is refused when it is longer than the API accepts', async () => {
    const allot = await openAllot({ driver: memory(), repositories: false, files: directories.files })
    const { accounts, repositories, issues, comments, releases, sshKeys, organizations } = allot.hosting
    const ann = await accounts.createUser({ name: 'ann' })
    const demo = await repositories.create(ann, ann, { name: 'demo' })
    const at = { owner: 'ann', name: 'demo' }
    await issues.create(ann, at, { title: 'one' })
    const refused = (pending: Promise<unknown>, member: string) =>
      assert.rejects(pending, { code: 'invalid', message: new RegExp(`^${member}: `) }, member)
    await refused(accounts.createUser({ name: 'ben', fullName: long(9000) }), 'fullName')
    await refused(accounts.createUser({ name: 'ben', email: 'ben' }), 'email')
    await refused(accounts.edit(ann.id, { location: long(51) }), 'location')
    await refused(accounts.edit(ann.id, { email: `${long(300)}@x.test` }), 'email')
    await refused(organizations.create(ann.id, { name: 'guild', fullName: long(101) }), 'fullName')
    await refused(repositories.create(ann, ann, { name: 'r', description: long(2049) }), 'description')
    await refused(repositories.edit(demo.id, { website: long(1025) }), 'website')
    await refused(issues.create(ann, at, { title: '' }), 'title')
    await refused(issues.edit(ann, at, 1, { title: long(256) }), 'title')
    await refused(comments.create(ann, at, 1, long(131_073)), 'body')
    await refused(releases.create(ann, at, { tag: 'v1', name: long(256) }), 'name')
    await refused(sshKeys.add(ann.id, { title: long(256), key: 'x' }), 'title')
    await allot.close()
  })
})

describe('The limits of texts', () => {
  it('are those of the route declarations', () => {
    const all = routes as unknown as {
      operationId: string
      body?: { entries: Record<string, v.GenericSchema> }
    }[]
    const SAME: [operationId: string, member: string, limit: number][] = [
      ...(['adminCreateUser', 'adminEditUser', 'orgCreate'] as const).map((id): [string, string, number] => [
        id,
        'full_name',
        TEXT_LIMITS.account.fullName,
      ]),
      ['adminEditUser', 'website', TEXT_LIMITS.account.website],
      ['adminEditUser', 'description', TEXT_LIMITS.account.description],
      ['adminEditUser', 'location', TEXT_LIMITS.account.location],
      ['orgCreate', 'website', TEXT_LIMITS.account.website],
      ['orgCreate', 'description', TEXT_LIMITS.account.description],
      ['orgCreate', 'location', TEXT_LIMITS.account.location],
      ['repoEdit', 'description', TEXT_LIMITS.repository.description],
      ['repoEdit', 'website', TEXT_LIMITS.repository.website],
      ['repoEdit', 'default_branch', TEXT_LIMITS.repository.defaultBranch],
      ['issueCreateIssue', 'title', TEXT_LIMITS.issue.title],
      ['issueCreateIssue', 'body', TEXT_LIMITS.issue.body],
      ['issueCreateComment', 'body', TEXT_LIMITS.comment.body],
      ['repoCreateRelease', 'tag_name', TEXT_LIMITS.release.tag],
      ['repoCreateRelease', 'target_commitish', TEXT_LIMITS.release.target],
      ['repoCreateRelease', 'name', TEXT_LIMITS.release.name],
      ['repoCreateRelease', 'body', TEXT_LIMITS.release.body],
      ['userCurrentPostKey', 'title', TEXT_LIMITS.sshKey.title],
      ['userCurrentPostKey', 'key', TEXT_LIMITS.sshKey.key],
    ]
    for (const [id, member, limit] of SAME) {
      const schema = all.find(({ operationId }) => operationId === id)?.body?.entries[member]
      assert.ok(schema, `${id} has ${member}`)
      assert.deepEqual(
        [v.is(schema, long(limit)), v.is(schema, long(limit + 1))],
        [true, false],
        `${id} ${member}`,
      )
    }
    const email = all.find(({ operationId }) => operationId === 'adminCreateUser')!.body!.entries.email!
    const address = (length: number) => `${long(length - 7)}@x.test`
    const { email: limit } = TEXT_LIMITS.account
    assert.deepEqual([v.is(email, address(limit)), v.is(email, address(limit + 1))], [true, false])
  })
})

let copies = 0
const files = () => ({ files: { directory: `${folder}/copy${++copies}` } })
