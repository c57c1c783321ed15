import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ClassicLevel } from 'classic-level'
import { type LevelOptions, level } from '../../drivers/level/index.ts'
import { save } from '../driver-spec/fixture.ts'
import { temporaryDirectory } from '../support/folder.ts'

const MIB = 1024 * 1024
/** 20 MB, which LevelDB compresses. */
const RECORDS = Object.fromEntries(
  Array.from({ length: 20_000 }, (_, at) => [`record ${at}`, 'text '.repeat(200)]),
)

test('LevelDB keeps as many bytes of decompressed blocks as blockCache says, by default 8 MiB', async (t) => {
  const folder = temporaryDirectory()
  // Shows the database that the driver has opened.
  const { mock } = t.mock.method(ClassicLevel.prototype, 'open')
  const keptBytes = async (options: LevelOptions): Promise<number> => {
    const driver = level(folder, options)
    await driver.open()
    await driver.read((tx) => tx.getMany(Object.keys(RECORDS).map((key) => Buffer.from(key))))
    const database = mock.calls.at(-1)!.this as ClassicLevel
    const kept = database.getProperty('leveldb.approximate-memory-usage')
    await driver.close()
    return Number(kept)
  }
  const first = level(folder)
  await first.open()
  await save(first, RECORDS)
  await first.close()
  const cases = [
    [{ blockCache: 0 }, 0],
    [{ blockCache: 2 * MIB }, 2 * MIB],
    [{}, 8 * MIB],
  ] as const
  for (const [options, most] of cases) {
    const kept = await keptBytes(options)
    // Each of the sixteen parts of the cache may have no room for one more block.
    assert.ok(kept > most * 0.9 && kept < most + MIB / 4, `${most}: ${kept}`)
  }
  assert.ok((await keptBytes({ blockCache: 64 * MIB })) > 18 * MIB)
})
