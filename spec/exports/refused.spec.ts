import assert from 'node:assert/strict'
import { existsSync, mkdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { memory } from '../../drivers/memory/index.ts'
import { openAllot } from '../../lib/allot.ts'
import { checkExport } from '../../lib/exports/format.ts'
import { AllotError, importAllot, type StorageDriver } from '../../lib/index.ts'
import { upgradedFrom } from '../../lib/records/layout.ts'
import { CURRENT_LAYOUT } from '../../lib/records/schema/index.ts'
import { contentOf, rawOf } from '../records/raw.ts'
import { temporaryDirectory } from '../support/folder.ts'
import { exported, inChunks } from './instance.ts'
import { sealed } from './sealed.ts'

/** A small instance, so that every byte of its export can be tested. */
const folder = temporaryDirectory()
const repositories = { directory: `${folder}/source` }
const source = memory()
let file: Buffer
before(async () => {
  const allot = await openAllot({ driver: source, repositories })
  const { hosting, ledger } = allot
  const ann = await hosting.accounts.createUser({ name: 'ann', email: 'ann@example.test' })
  await hosting.repositories.create(ann, ann, { name: 'demo', autoInit: true })
  await hosting.repositories.create(ann, ann, { name: 'bare' })
  await ledger.put({ kind: 'lfs', key: 'ü', repository: 'ann/demo', name: 'o', size: 5 })
  file = await exported(allot)
  await source.close()
  await source.open()
})
after(async () => {
  await source.close()
  rmSync(folder, { recursive: true, force: true })
})

const into = (driver: StorageDriver, bytes: Uint8Array, chunk?: number) =>
  importAllot({ driver, repositories: { directory: `${folder}/copy` } }, inChunks(bytes, chunk))

const rawAfter = async (driver: StorageDriver) => {
  await driver.open()
  return rawOf(driver)
}

/** Asserts that a file is refused with a message, and that the store stays empty. */
const assertRefused = async (bytes: Uint8Array, words: RegExp, chunk?: number): Promise<void> => {
  const driver = memory()
  await assert.rejects(into(driver, bytes, chunk), (error: AllotError) => {
    assert.ok(error instanceof AllotError, String(error))
    assert.equal(error.code, 'invalid')
    assert.match(error.message, words)
    return true
  })
  assert.deepEqual(await rawAfter(driver), [])
}

describe('A truncated file', () => {
  it('is refused for any length', async () => {
    for (let length = 0; length < file.length; length++)
      await assert.rejects(checkExport(inChunks(file.subarray(0, length), 4096)), AllotError, `at ${length}`)
    assert.ok((await checkExport(inChunks(file))).lines > 5)
  })

  it('is refused after any line, and leaves nothing', async () => {
    for (let end = file.indexOf(10); end !== -1 && end < file.length - 1; end = file.indexOf(10, end + 1)) {
      await assertRefused(file.subarray(0, end + 1), /cut short: it has \d+ whole lines/)
      await assertRefused(file.subarray(0, end), /cut short|not an export/)
    }
  })
})

describe('A changed file', () => {
  it('is refused for any changed byte', async () => {
    for (let at = 0; at < file.length; at += 5) {
      const changed = Buffer.from(file)
      changed[at]! ^= 1 + (at % 127)
      // Only the checksum detects a change of the time in the first line.
      await assert.rejects(checkExport(inChunks(changed)), AllotError, `at ${at}`)
    }
  })

  it('is refused with an added, a missing or a moved line, and leaves nothing', async () => {
    const lines = file.toString().trimEnd().split('\n')
    const text = (changed: string[]) => Buffer.from(`${changed.join('\n')}\n`)
    await assertRefused(text(lines.toSpliced(2, 1)), /checksum is wrong/)
    await assertRefused(text(lines.toSpliced(2, 0, lines[1]!)), /twice|checksum is wrong/)
    await assertRefused(text([lines[0]!, lines[2]!, lines[1]!, ...lines.slice(3)]), /checksum is wrong/)
  })
})

describe('A file with text after the last line', () => {
  const ADDED: [what: string, added: (last: string) => string][] = [
    ['an empty line', () => '\n'],
    ['the last line again', (last) => `${last}\n`],
    ['a line of text', () => 'end\n'],
    ['text without a line end', () => 'end'],
  ]
  for (const [what, added] of ADDED)
    it(`is refused as such, and leaves nothing: ${what}`, async () => {
      const lines = file.toString().trimEnd().split('\n')
      const bytes = Buffer.concat([file, Buffer.from(added(lines.at(-1)!))])
      const message = new RegExp(`^line ${lines.length + 1}: there is text after the last line of the export`)
      await assertRefused(bytes, message)
      await assertRefused(bytes, message, 7)
    })
})

const account = {
  ...{
    id: 1,
    kind: 'user',
    name: 'ann',
    fullName: '',
    email: '',
    website: '',
    description: '',
    location: '',
  },
  ...{ visibility: 'public', admin: false, active: true, password: null, createdAt: 1, updatedAt: 1 },
}
const repository = {
  ...{ id: 1, owner: 1, name: 'r', description: '', website: '', private: false, empty: true },
  ...{
    archived: false,
    parent: null,
    defaultBranch: 'main',
    size: 0,
    lfs: 0,
    stars: 0,
    forks: 0,
  },
  ...{ watchers: 0, createdAt: 1, updatedAt: 1 },
}
const anAccount = { collection: 'account', record: account }
const aRepository = { collection: 'repository', record: repository }
const head = { repository: 1, head: 'refs/heads/main' }
const part = { repository: 1, part: 'AAAA' }

describe('A file is refused, with the number of the line,', () => {
  const REFUSED: [what: string, bytes: Uint8Array, words: RegExp][] = [
    ['that is empty', Buffer.alloc(0), /not an export of Allot/],
    ['that is something else', Buffer.from('\x89PNG\n\x1a\n'), /not an export of Allot/],
    ['of another format', sealed([], { format: 'other' }), /not an export of Allot/],
    ['of a newer version', sealed([], { version: 2 }), /version 2 of the format.*reads up to 1.*newer/],
    [
      'of a newer layout',
      sealed([], { layout: CURRENT_LAYOUT + 1 }),
      /newer Allot.*import it with the newer one/,
    ],
    [
      'of an older layout',
      sealed([], { layout: CURRENT_LAYOUT - 1 }),
      /older Allot.*import it with the older one/,
    ],
    ['with a line that is not JSON', sealed([anAccount, '{"collection":']), /^line 3: is not valid JSON/],
    ['with a line that is not an object', sealed(['[]', '"x"']), /^line 2: /],
    ['with a line of an unknown kind', sealed([{ something: 1 }]), /^line 2: /],
    [
      'with an unknown collection',
      sealed([{ collection: 'x', record: {} }]),
      /^line 2: unknown collection "x"/,
    ],
    [
      'with a record that violates its schema',
      sealed([anAccount, { collection: 'account', record: { ...account, id: 0 } }]),
      /^line 3: account: id: /,
    ],
    [
      'with a record without a required member',
      sealed([{ collection: 'account', record: { id: 1 } }]),
      /^line 2: account: Kind is required$/,
    ],
    [
      'with a record twice',
      sealed([anAccount, anAccount]),
      /^line 3: the account "[^"]+" is in the file twice/,
    ],
    [
      'with two records of the same name',
      sealed([anAccount, { collection: 'account', record: { ...account, id: 2 } }]),
      /^line 3: this account is already taken/,
    ],
    ['with an invalid sequence', sealed([{ sequence: 'account', next: 0 }]), /^line 2: next: /],
    [
      'with git data of an unknown repository',
      sealed([anAccount, head]),
      /^line 3: the export has git data of repository 1, but no record/,
    ],
    [
      'with git data that is not a bundle',
      sealed([aRepository, part, head]),
      /^line 4: .*repository 1 is damaged/,
    ],
    ['with git data that is not base64', sealed([aRepository, { ...part, part: '?' }]), /^line 3: part: /],
    ['with git data without a HEAD', sealed([aRepository, part]), /the HEAD of repository 1 is missing/],
    [
      'with interleaved git data of two repositories',
      sealed([aRepository, part, { ...head, repository: 2 }]),
      /^line 4: the HEAD of repository 1 is missing/,
    ],
    [
      'with a HEAD that is not a branch',
      sealed([aRepository, { ...head, head: '../../config' }]),
      /^line 3: head: expected a branch/,
    ],
    [
      'with a HEAD that git refuses',
      sealed([aRepository, { ...head, head: 'refs/heads/a..b' }]),
      /^line 3: /,
    ],
    ['with a line that is too long', Buffer.alloc(17 * 1024 * 1024, 'x'), /^line 1: is longer than/],
  ]
  for (const [what, bytes, words] of REFUSED)
    it(what, async () => {
      await assertRefused(bytes, words)
      await assertRefused(bytes, words, 100_000)
    })

  it('with git data, into an instance where repositories are turned off', async () => {
    const driver = memory()
    const importing = importAllot({ driver, repositories: false }, inChunks(file))
    await assert.rejects(
      importing,
      /^AllotError: line \d+: the export contains git repositories, but repositories are turned off/,
    )
    assert.deepEqual(await rawAfter(driver), [])
  })
})

describe('A store that is not empty', () => {
  it('is refused and not changed', async () => {
    const driver = memory()
    const allot = await openAllot({ driver, repositories: false })
    await allot.hosting.accounts.createUser({ name: 'someone' })
    await allot.close()
    const before = await rawAfter(driver)
    await assert.rejects(into(driver, file), { code: 'conflict', message: /the store is not empty/ })
    assert.deepEqual(await rawAfter(driver), before)
  })

  it('keeps what its servers are receiving', async () => {
    const driver = memory()
    const allot = await openAllot({ driver, repositories: false })
    await allot.hosting.accounts.createUser({ name: 'someone' })
    await allot.close()
    const used = temporaryDirectory()
    const [repositories, files] = [{ directory: join(used, 'r') }, { directory: join(used, 'f') }]
    const arriving = [join(used, 'r', '01', '1.git.unfinished'), join(used, 'f', 'arriving', 'upload')]
    for (const path of arriving) mkdirSync(path, { recursive: true })
    const importing = importAllot({ driver, repositories, files }, inChunks(file))
    await assert.rejects(importing, { code: 'conflict', message: /the store is not empty/ })
    for (const path of arriving) assert.ok(existsSync(path), path)
  })

  it('is not one without records whose upgrade was killed: the import ends the upgrade', async () => {
    const driver = memory()
    await (await openAllot({ driver, repositories: false })).close()
    await driver.open()
    await driver.write(async (tx) => upgradedFrom.set(tx, CURRENT_LAYOUT - 1))
    await driver.close()
    await into(driver, file)
    await driver.open()
    assert.equal(await driver.read((tx) => upgradedFrom.get(tx)), undefined)
  })

  it('is not one that was only opened, which can be imported into', async () => {
    const driver = memory()
    await (await openAllot({ driver, repositories: false })).close()
    await into(driver, file)
    await driver.open()
    assert.deepEqual(await contentOf(driver), await contentOf(source))
  })
})

describe('An import that was interrupted', () => {
  const broken = async function* (bytes: Uint8Array) {
    yield bytes
    throw new Error('the network is gone')
  }

  it('leaves a store that cannot be opened, and that another import completes', async () => {
    for (const share of [0.1, 0.5, 0.9, 1]) {
      const driver = memory()
      const given = { driver, repositories: { directory: `${folder}/interrupted` } }
      const some = file.subarray(0, Math.floor(file.length * share))
      await assert.rejects(importAllot(given, broken(some)), /the network is gone/)
      await assert.rejects(openAllot(given), { code: 'unavailable', message: /holds part of an import/ })
      await importAllot(given, inChunks(file))
      const allot = await openAllot(given)
      assert.deepEqual(await contentOf(driver), await contentOf(source))
      await allot.close()
    }
  })
})
