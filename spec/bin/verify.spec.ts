import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { readdir, readFile, rm, truncate, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { withReason } from '../../bin/errors.ts'
import { level } from '../../drivers/level/index.ts'
import { type OpenAllot, openAllot } from '../../lib/allot.ts'
import { encodeKey } from '../../lib/records/key-codec.ts'
import { encodeValue } from '../../lib/records/layout.ts'
import { run } from '../support/child.ts'
import { temporaryDirectory } from '../support/folder.ts'
import { lacks } from '../support/requirements.mjs'
import { allot } from './in-process.ts'
import { PROGRAM, served } from './program.ts'

const AGREE = /^\d+ records, \d+ index entries, \d+ counters: all agree\n$/

const inStore = async (data: string, work: (made: OpenAllot) => Promise<unknown>): Promise<void> => {
  const made = await openAllot({ driver: level(join(data, 'store')), repositories: false })
  try {
    await work(made)
  } finally {
    await made.close()
  }
}

const aStore = async (): Promise<string> => {
  const data = temporaryDirectory()
  await inStore(data, async ({ hosting }) => {
    const ann = await hosting.accounts.createUser({ name: 'ann', email: 'ann@example.test' })
    await hosting.accounts.createUser({ name: 'ben' })
    await hosting.organizations.create(ann.id, { name: 'guild', description: 'Weaves cloth' })
  })
  return data
}

const assertAnnIsThere = (data: string) =>
  inStore(data, async ({ hosting, verify }) => {
    assert.equal((await hosting.accounts.byName('ann'))?.email, 'ann@example.test')
    assert.deepEqual((await verify()).messages, [])
  })

const harm = async (data: string, harmful: [key: (string | number)[], value: Uint8Array | undefined][]) => {
  const driver = level(join(data, 'store'))
  await driver.open()
  await driver.write(async (tx) => {
    for (const [key, value] of harmful) {
      if (value === undefined) tx.delete(encodeKey(key))
      else tx.put(encodeKey(key), value)
    }
  })
  await driver.close()
}

describe('allot verify', () => {
  it('prints what it has counted, and shows no progress without a terminal', async () => {
    const { code, out, err } = await allot(['verify', '--data', await aStore()])
    assert.deepEqual([code, err], [0, ''])
    assert.match(out, AGREE)
  })

  it('names what differs and exits with 1; with --repair it names what it has repaired, and exits with 0', async () => {
    const data = await aStore()
    await harm(data, [
      [['account', 'u', 'name', 'ann'], undefined],
      [['account:kind', 'user'], encodeValue(7)],
    ])
    const found = await allot(['verify', '--data', data])
    assert.equal(found.code, 1)
    assert.deepEqual(found.out.split('\n').slice(0, 2).sort(), [
      'the counter ["account:kind","user"] is 7, but the records give 2',
      'the index entry ["account","u","name","ann"] of the record ["account","r",1] is missing',
    ])
    assert.match(found.out, /: 2 things differ\n$/)
    assert.equal(
      found.err,
      'allot: the store is inconsistent: restore a backup when a file is damaged; otherwise, `allot verify --repair` repairs what can be derived from records\n',
    )

    const repaired = await allot(['verify', '--repair', '--data', data])
    assert.deepEqual([repaired.code, repaired.err], [0, ''])
    assert.equal(repaired.out.split('\n').filter((line) => line.startsWith('repaired: ')).length, 2)
    assert.match(repaired.out.split('\n').slice(2).join('\n'), AGREE)
    await assertAnnIsThere(data)
  })

  it('names a record that cannot be parsed, leaves it, and exits with 1 even after a repair', async () => {
    const data = await aStore()
    await harm(data, [[['membership', 'r', 3, 1], Buffer.from('{"organization":3,')]])
    for (const words of [['verify', '--repair'], ['verify']]) {
      const { code, out, err } = await allot([...words, '--data', data])
      assert.equal(code, 1)
      assert.match(out, /^the record \["membership","r",3,1\] is not JSON$/m)
      assert.match(err, words.includes('--repair') ? /correct them by hand, or restore a backup/ : /^allot: /)
    }
  })

  it('names a table with a flipped bit that LevelDB reads, and exits with 1 even after a repair', async () => {
    const data = await aStore()
    const store = join(data, 'store')
    const table = join(store, (await readdir(store)).find((name) => name.endsWith('.ldb'))!)
    const bytes = await readFile(table)
    const at = bytes.indexOf('Weaves cloth')
    assert.ok(at > 0)
    bytes[at]! ^= 2
    await writeFile(table, bytes)
    await inStore(data, async ({ hosting }) =>
      assert.equal((await hosting.accounts.byName('guild'))?.description, 'Ueaves cloth'),
    )
    for (const words of [['verify'], ['verify', '--repair']]) {
      const { code, out, err } = await allot([...words, '--data', data])
      assert.equal(code, 1)
      assert.match(out, /^the file \S+\.ldb is damaged at byte 0$/m)
      assert.match(err, /restore a backup/)
    }
  })

  it('fails when another process has the store open', async () => {
    const data = temporaryDirectory()
    await served(['--data', data])
    for (const words of [['verify'], ['verify', '--repair']]) {
      const { code, out, err } = await allot([...words, '--data', data])
      assert.deepEqual([code, out], [1, ''])
      assert.match(err, /in use by another process/)
    }
  })

  it('creates no store where none exists', async () => {
    const data = temporaryDirectory()
    const { code, out, err } = await allot(['verify', '--data', data])
    assert.deepEqual(
      [code, out, err],
      [1, '', `allot: there is no store in ${join(data, 'store')}: name another folder with --data\n`],
    )
    assert.deepEqual(await readdir(data), [])
  })

  it('exits with 2 for an unknown option or storage', async () => {
    assert.equal((await allot(['verify', '--mend'])).code, 2)
    assert.equal((await allot(['verify', '--force'])).code, 2)
    assert.equal((await allot(['verify', '--storage', 'oracle://'])).code, 2)
  })

  it('shows a progress bar on a terminal, and clears it at the end', {
    skip: lacks('script'),
  }, async () => {
    const words = [...PROGRAM, 'verify', '--data', await aStore()]
    const { stdout } = await run('script', ['-qec', words.join(' '), '/dev/null'])
    assert.match(stdout, /verifying [█░]+ /)
    // biome-ignore lint/suspicious/noControlCharactersInRegex: a terminal is told to clear a line with one
    assert.match(stdout, /\u001b\[2K.*all agree\r?\n/)
  })
})

const manifestIn = (files: string[]) => files.find((one) => one.startsWith('MANIFEST'))!

const DAMAGES: [what: string, harm: (store: string, files: string[]) => Promise<unknown>][] = [
  ['whose CURRENT file is gone', (store) => rm(join(store, 'CURRENT'))],
  ['whose manifest is empty', (store, files) => truncate(join(store, manifestIn(files)))],
  ['that lacks its manifest', (store, files) => rm(join(store, manifestIn(files)))],
]

describe('allot verify --repair of a LevelDB', () => {
  for (const [what, damage] of DAMAGES)
    it(`${what} warns what may be lost, keeps what can be read, and leaves a consistent store`, async () => {
      const data = await aStore()
      const store = join(data, 'store')
      await damage(store, await readdir(store))
      await assert.rejects(
        inStore(data, async () => undefined),
        (error: Error) => /damaged: restore a backup, or run `allot verify --repair`/.test(withReason(error)),
      )
      const { code, out, err } = await allot(['verify', '--repair', '--data', data])
      assert.equal(code, 0, err + out)
      assert.match(err, /The newest writes may be lost.*set aside/s)
      for (const [, file] of err.matchAll(/set aside.*: (.*)/g)) assert.ok(existsSync(file!), file)
      assert.match(out, /all agree\n$/)
      await assertAnnIsThere(data)
    })
})
