import assert from 'node:assert/strict'
import { randomBytes, randomInt } from 'node:crypto'
import { openSync, readdirSync, readSync, statSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it, type TestContext } from 'node:test'
import { ClassicLevel } from 'classic-level'
import { level } from '../../drivers/level/index.ts'
import { checkTables } from '../../drivers/level/tables.ts'
import type { StorageDriver } from '../../lib/storage/index.ts'
import { openFor } from '../driver-spec/fixture.ts'
import { temporaryDirectory } from '../support/folder.ts'

/** A table ends with the places of two blocks, zeros that mean nothing, and eight bytes of a magic number. */
const FOOTER = 48

interface Filling {
  records: number
  value: (number: number) => Uint8Array
  compression?: boolean
  isCompacted?: boolean
}

const text = (number: number) => Buffer.from(`{"number":${number},"text":"${'of many records '.repeat(8)}"}`)

const FILLINGS: Record<string, Filling> = {
  'compressed and compacted': { records: 40_000, value: text, isCompacted: true },
  'just written, of several levels': {
    records: 60_000,
    value: (at) => Buffer.concat([text(at), randomBytes(60)]),
  },
  'not compressed': { records: 10_000, value: text, compression: false },
  'of large values': { records: 12, value: () => randomBytes(700_000) },
  'of one record': { records: 1, value: text },
}

const filled = async ({ records, value, compression = true, isCompacted }: Filling): Promise<string> => {
  const folder = join(temporaryDirectory(), 'store')
  const database = new ClassicLevel<string, Uint8Array>(folder, { valueEncoding: 'view', compression })
  await database.open()
  for (let from = 0; from < records; from += 1000) {
    const batch = database.batch()
    for (let at = from; at < Math.min(records, from + 1000); at++)
      batch.put(`record ${(at * 7919) % records} `.repeat(3), value(at))
    await batch.write()
  }
  if (isCompacted) await database.compactRange('a', 'z')
  await database.close()
  // Closing the driver writes the log as a table.
  const driver = level(folder)
  await driver.open()
  await driver.close()
  return folder
}

const damageOf = async (driver: StorageDriver): Promise<string[]> => {
  const found: string[] = []
  await driver.findDamage!((message) => found.push(message))
  return found
}

const tablesIn = (folder: string): string[] =>
  readdirSync(folder)
    .filter((name) => name.endsWith('.ldb'))
    .map((name) => join(folder, name))

/** @returns what flips a bit, and when called again, flips it back */
const flipping = (file: string, at: number) => {
  const descriptor = openSync(file, 'r+')
  const mask = 1 << randomInt(8)
  return () => {
    const byte = Buffer.alloc(1)
    readSync(descriptor, byte, 0, 1, at)
    byte[0]! ^= mask
    writeSync(descriptor, byte, 0, 1, at)
  }
}

/** Flips one bit, which must be found in its file, at its block. */
const assertFound = async (driver: StorageDriver, file: string, at: number) => {
  const flip = flipping(file, at)
  flip()
  const found = await damageOf(driver)
  flip()
  assert.ok(found.length === 1 && found[0]!.startsWith(`the file ${file} is damaged`), `${at}: ${found}`)
  const offset = Number(/ byte (\d+)$/.exec(found[0]!)![1])
  const end = statSync(file).size - FOOTER
  assert.ok(at < end ? offset <= at : offset === end, `${at}: ${found}`)
}

const opened = async (t: TestContext, filling: Filling) => {
  const folder = await filled(filling)
  return { folder, driver: await openFor(t, level(folder)) }
}

describe('the check of tables', () => {
  for (const [what, filling] of Object.entries(FILLINGS))
    it(`finds no damage in tables ${what}, and each flipped bit`, async (t) => {
      const { folder, driver } = await opened(t, filling)
      const tables = tablesIn(folder)
      assert.ok(tables.length >= 1)
      assert.deepEqual(await damageOf(driver), [])
      for (let round = 0; round < 40; round++) {
        const file = tables[randomInt(tables.length)]!
        const { size } = statSync(file)
        // Half of them are among the last blocks, which are few: the filter, the lists, and the footer.
        const at =
          round % 2 === 0
            ? randomInt(size - FOOTER)
            : size - FOOTER - randomInt(Math.min(size - FOOTER, 3000))
        await assertFound(driver, file, at)
      }
      for (const fromEnd of [1, 8, FOOTER - 3, FOOTER - 2, FOOTER - 1, FOOTER])
        await assertFound(driver, tables[0]!, statSync(tables[0]!).size - fromEnd)
      assert.deepEqual(await damageOf(driver), [])
    })

  it('finds none in tables that LevelDB writes and removes meanwhile', async (t) => {
    const { driver, folder } = await opened(t, { records: 20_000, value: () => randomBytes(300) })
    const before = new Set(tablesIn(folder))
    let isDone = false
    const writing = (async () => {
      for (let round = 0; round < 40; round++)
        await driver.write(async (tx) => {
          for (let at = 0; at < 500; at++)
            tx.put(Buffer.from(`record ${randomInt(20_000)}`), randomBytes(1000))
        })
      isDone = true
    })()
    while (!isDone) assert.deepEqual(await damageOf(driver), [])
    await writing
    assert.ok(tablesIn(folder).some((file) => !before.has(file)))
    const found: string[] = []
    await checkTables(folder, " 999999:12['a' .. 'b']\n", (message) => found.push(message))
    assert.deepEqual(found, [])
  })
})
