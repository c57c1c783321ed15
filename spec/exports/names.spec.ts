import assert from 'node:assert/strict'
import { rmSync } from 'node:fs'
import { after, before, describe, it } from 'node:test'
import * as v from 'valibot'
import { memory } from '../../drivers/memory/index.ts'
import { openAllot } from '../../lib/allot.ts'
import { routes } from '../../lib/api/index.ts'
import { checkRecord } from '../../lib/exports/record-checks.ts'
import { AllotError, importAllot } from '../../lib/index.ts'
import { collections } from '../../lib/records/schema/index.ts'
import { TEXT_LIMITS } from '../../lib/records/text-limits.ts'
import { rawOf } from '../records/raw.ts'
import { temporaryDirectory } from '../support/folder.ts'
import { exported, inChunks, populate } from './instance.ts'
import { sealed } from './sealed.ts'

type Record_ = { [member: string]: unknown }

const UUID = '0c9ee0ab-3a6c-4cd5-8d3f-2a6b1c0d9e8f'
const [MD5, SHA1, SHA256, SHA512] = [32, 40, 64, 128].map((length) => 'a'.repeat(length)) as string[]

/** Records of collections that the instance lacks. */
const MORE: Record<string, Record_> = {
  migrationLog: {
    source: 'https://x.test',
    kind: 'account',
    scope: '',
    name: 'ann',
    copy: { id: 1 },
    original: { id: 1, name: 'ann' },
  },
  pushJournal: {
    ...{ id: 1, repository: 1, pid: null, since: 1 },
    push: { by: 1, updates: [{ ref: 'refs/heads/main', before: null, after: SHA1 }] },
  },
  quotaOwner: { id: 1, name: 'tenant/42', createdAt: 1 },
  removedGroup: { sequence: 1, name: 'old' },
  redirect: { owner: 1, name: 'old', repository: 1, createdAt: 1 },
  formerName: { name: 'old', account: 1, createdAt: 1 },
  packageVersion: {
    ...{ id: 1, owner: 1, type: 'generic', name: 'kit', version: '1.0', creator: 1, size: 1, files: 1 },
    createdAt: 1,
  },
  packageFile: {
    ...{ id: 1, version: 1, owner: 1, name: 'kit.tar', stored: UUID, size: 1 },
    ...{ md5: MD5, sha1: SHA1, sha256: SHA256, sha512: SHA512, createdAt: 1 },
  },
}

/** A record of each collection with texts, as an export contains it. */
const samples = new Map<string, Record_>(Object.entries(MORE))
const sizes = new Map<string, number>()
let lines: string[]
const folder = temporaryDirectory()
const directories = { repositories: { directory: `${folder}/r` }, files: { directory: `${folder}/f` } }
before(async () => {
  const allot = await openAllot({ driver: memory(), webhooks: true, ...directories })
  await populate(allot)
  lines = (await exported(allot)).toString().trimEnd().split('\n').slice(1, -1)
  for (const line of lines) {
    const { collection, record } = JSON.parse(line)
    const hasTexts = collection === 'account' ? record.password !== null : collection !== undefined
    // The largest record has members that others leave out.
    if (hasTexts && line.length > (sizes.get(collection) ?? 0)) {
      samples.set(collection, record)
      sizes.set(collection, line.length)
    }
  }
  await allot.close()
})
after(() => rmSync(folder, { recursive: true, force: true }))

const refusal = (collection: string, change: Record_): string => {
  try {
    checkRecord(collection, { ...samples.get(collection)!, ...change })
    return ''
  } catch (error) {
    assert.ok(error instanceof AllotError, `${collection} ${Object.keys(change)}: ${error}`)
    return error.message
  }
}

const long = (count: number) => 'x'.repeat(count)

/** Texts that the API refuses, by collection and member. */
const REFUSED: [collection: string, change: Record_][] = [
  ...['../../x', '..', 'a/b', 'a..b', '-a', '', 'admin', 'ä', 'a\0', long(41)].map(
    (name): [string, Record_] => ['account', { name }],
  ),
  ['account', { email: 'nobody' }],
  ['account', { email: `${long(250)}@x.test` }],
  ['account', { fullName: long(101) }],
  ['account', { location: long(51) }],
  ['account', { password: 'plain' }],
  ['account', { passwordLink: { hash: 'x', expiresAt: 1 } }],
  ...['../x', '..', '.', 'a/b', 'a.git', 'a.wiki', '', long(101), 'a\n'].map((name): [string, Record_] => [
    'repository',
    { name },
  ]),
  ['repository', { defaultBranch: '-x' }],
  ['repository', { defaultBranch: 'a..b' }],
  ['repository', { description: long(2049) }],
  ['redirect', { name: '../x' }],
  ['formerName', { name: '../x' }],
  ...['', 'a\0b', '\x1b[2J', long(256), '\ud800'].flatMap((name): [string, Record_][] => [
    ['token', { name }],
    ['rule', { name }],
    ['group', { name }],
    ['removedGroup', { name }],
    ['group', { rules: [name] }],
    ['assignment', { group: name }],
  ]),
  ['token', { scopes: ['root'] }],
  ['token', { hash: '../x' }],
  ['session', { hash: 'x' }],
  ['rule', { subjects: ['size:nope'] }],
  ['file', { name: '../../../x' }],
  ['file', { sha256: 'x' }],
  ['sshKey', { title: long(256) }],
  ['sshKey', { fingerprint: 'x' }],
  ['gpgKey', { fingerprint: 'x' }],
  ['gpgKey', { keyId: '../x' }],
  ['ledger', { key: '' }],
  ['ledger', { key: 'a\0' }],
  ['ledger', { key: 'ä'.repeat(128) }],
  ['ledger', { name: '' }],
  ['ledger', { name: long(256) }],
  ['ledger', { version: long(256) }],
  ['ledger', { partitionOwner: null, repository: null }],
  ['issue', { title: '' }],
  ['issue', { title: long(256) }],
  ['comment', { body: long(131_073) }],
  ['release', { tag: 'a..b' }],
  ['release', { tag: 'a b' }],
  ['release', { name: long(256) }],
  ['attachment', { name: '../x' }],
  ['attachment', { uuid: '../../x' }],
  ['migrationLog', { name: long(513) }],
  ['migrationLog', { digest: 'x' }],
  ['packageVersion', { name: 'a/b' }],
  ['packageVersion', { version: '..' }],
  ['packageFile', { name: '../x' }],
  ['packageFile', { stored: '../../x' }],
]

describe('A record of an import', () => {
  for (const [collection, change] of REFUSED) {
    const [[member, value]] = Object.entries(change) as [[string, unknown]]
    const shown = JSON.stringify(value)
    it(`is refused like in the API: ${collection}.${member} ${shown.slice(0, 40)}`, () => {
      assert.equal(refusal(collection, {}), '', 'the record as it was is fine')
      assert.notEqual(refusal(collection, change), '')
    })
  }

  it('has a limit on every text, in every collection and in every object of a record', () => {
    const unbounded: string[] = []
    for (const { options } of collections) {
      assert.equal(refusal(options.name, {}), '', `there is a valid record of ${options.name}`)
      const schema = options.schema as unknown as Schema
      for (const [path, record] of tooLongIn(schema, options.name, samples.get(options.name)))
        if (refusal(options.name, record as Record_) === '') unbounded.push(path)
    }
    assert.deepEqual(unbounded, [])
  })

  it('is accepted when the API wrote it', async () => {
    const driver = memory()
    await importAllot({ driver, ...copies() }, inChunks(sealed(lines)))
  })

  it('is refused with the number of its line, and leaves the store empty', async () => {
    for (const [collection, change] of [
      ['account', { name: '../../x' }],
      ['account', { name: 'a\0' }],
      ['ledger', { key: 'a\0' }],
      ['packageVersion', { name: 'a/b' }],
    ] as [string, Record_][]) {
      const driver = memory()
      const bad = { collection, record: { ...samples.get(collection)!, ...change } }
      const file = sealed([bad])
      await assert.rejects(importAllot({ driver, ...copies() }, inChunks(file)), {
        code: 'invalid',
        message: new RegExp(`^line 2: ${collection}: `),
      })
      await driver.open()
      assert.deepEqual(await rawOf(driver), [])
    }
  })
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

type Schema = v.GenericSchema & { wrapped?: Schema; item?: Schema; entries?: Record<string, Schema> }

/** More characters than any text may have, payloads of webhooks included. */
const TOO_LONG = 5 * 1024 * 1024

/** Values of a schema in which one text is too long, by the path of that text. */
const tooLongIn = (schema: Schema, path: string, valid: unknown): [path: string, value: unknown][] => {
  const { type, wrapped, item, entries } = schema
  if (wrapped !== undefined) return tooLongIn(wrapped, path, valid)
  if (type === 'string') return [[path, long(TOO_LONG)]]
  if (item !== undefined) {
    const [first] = (valid ?? []) as unknown[]
    return tooLongIn(item, `${path}[]`, first).map(([inner, value]) => [inner, [value]])
  }
  return Object.entries(entries ?? {}).flatMap(([member, inner]) => {
    const parent = (valid ?? {}) as Record_
    return tooLongIn(inner, `${path}.${member}`, parent[member]).map(([inside, value]): [string, unknown] => [
      inside,
      { ...parent, [member]: value },
    ])
  })
}

let copied = 0
const copies = () => ({
  repositories: { directory: `${folder}/copy${++copied}` },
  files: { directory: `${folder}/copied${copied}` },
})
