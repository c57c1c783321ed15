import assert from 'node:assert/strict'
import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import fc from 'fast-check'
import { AllotError, importAllot } from '../../lib/index.ts'
import { parseShard, setShard } from '../../lib/records/shards.ts'
import { aGround, fill, type Ground } from '../files/ground.ts'
import { exactly } from '../records/raw.ts'
import { inChunks } from './instance.ts'
import { sealed } from './sealed.ts'

const SHARD = { owners: [], shard: '1/16' }

/**
 * A shard with one owner.
 * @returns the lines of an export of that owner, without the first and the last
 */
const filledShard = async (ground: Ground, shard: string, name: string): Promise<string[]> => {
  await ground.driver.open()
  await ground.driver.write((tx) => setShard(tx, parseShard(shard)))
  const allot = await ground.open()
  await fill(allot, name)
  const chunks: Uint8Array[] = []
  await allot.exportOwners([name], async (bytes) => void chunks.push(bytes))
  await allot.close()
  return Buffer.concat(chunks).toString().trimEnd().split('\n').slice(1, -1)
}

const filesIn = (folder: string): string[] =>
  existsSync(folder)
    ? readdirSync(folder, { recursive: true, withFileTypes: true })
        .filter((entry) => entry.isFile())
        .map((entry) => join(entry.parentPath, entry.name))
        .sort()
    : []

/** What is in the records and on the disk. */
const stateOf = async ({ driver, repositories, files }: Ground) => {
  await driver.open()
  const records = await exactly(driver)
  await driver.close()
  return { records, disk: [repositories, files].flatMap(({ directory }) => filesIn(directory)) }
}

const importInto = ({ driver, repositories, files }: Ground, lines: readonly string[]) =>
  importAllot({ driver, repositories, files }, inChunks(sealed(lines, SHARD), 1000))

const isContent = (line: string) => /^\{"(?:repository|file)":/.test(line)

/** The lines in another order: shuffled, or with one of them moved. */
const reordered = (lines: readonly string[]): fc.Arbitrary<string[]> => {
  const index = fc.nat(lines.length - 1)
  return fc.oneof(
    fc.shuffledSubarray([...lines], { minLength: lines.length }),
    fc.tuple(index, index).map(([from, to]) => lines.toSpliced(from, 1).toSpliced(to, 0, lines[from]!)),
  )
}

let lines: string[]
/** The lines of the owner of the used store, which it must refuse. */
let known: string[]
const [source, used] = [aGround(), aGround()]
before(async () => {
  lines = await filledShard(source, '1/16', 'alice')
  known = (await filledShard(used, '2/16', 'zoe')).filter((line) =>
    /^\{"collection":"(?:account|repository|file)"/.test(line),
  )
})
after(() => {
  for (const ground of [source, used]) ground.clear()
})

/** Where a line is put in: everywhere. */
const positions = (): number[] => [...lines.keys(), lines.length]

describe('A file of owners with one record that the store has', () => {
  const assertUnchanged = async (changed: readonly string[], unchanged: unknown) => {
    await assert.rejects(
      importInto(used, changed),
      (error) => error instanceof AllotError && ['invalid', 'conflict'].includes(error.code),
    )
    assert.deepEqual(await stateOf(used), unchanged)
  }

  it('is refused wherever the record is, and changes nothing', async () => {
    const unchanged = await stateOf(used)
    assert.ok(unchanged.disk.length > 5)
    for (const kind of ['account', 'repository', 'file']) {
      const record = known.find((line) => line.startsWith(`{"collection":"${kind}"`))!
      for (const at of positions()) await assertUnchanged(lines.toSpliced(at, 0, record), unchanged)
    }
  })

  it('is refused in any order of its lines, and changes nothing', async () => {
    const unchanged = await stateOf(used)
    const changed = fc.constantFrom(...known).chain((record) => reordered([...lines, record]))
    await fc.assert(
      fc.asyncProperty(changed, (changed) => assertUnchanged(changed, unchanged)),
      { numRuns: 60 },
    )
  })
})

describe('A file with its lines in another order', () => {
  const assertWholeOrUnchanged = async (ground: Ground, changed: readonly string[]) => {
    const unchanged = await stateOf(ground)
    const refusal = await importInto(ground, changed).catch((error: AllotError) => error)
    if (refusal instanceof Error) {
      assert.equal((refusal as AllotError).code, 'invalid', String(refusal))
      return assert.deepEqual(await stateOf(ground), unchanged)
    }
    assert.ok(!changed.some((line, at) => !isContent(line) && changed.slice(0, at).some(isContent)))
    const allot = await ground.open()
    assert.deepEqual((await allot.verify()).messages, [])
    await allot.close()
  }

  const TARGETS: [what: string, fill: (ground: Ground) => Promise<unknown>][] = [
    ['an empty store', async () => undefined],
    ['a shard with another owner', (ground) => filledShard(ground, '2/16', 'zoe')],
  ]
  for (const [what, fillTarget] of TARGETS)
    it(`is imported whole into ${what}, or changes nothing`, () =>
      fc.assert(
        fc.asyncProperty(reordered(lines), async (changed) => {
          const ground = aGround()
          await fillTarget(ground)
          await assertWholeOrUnchanged(ground, changed).finally(ground.clear)
        }),
        { numRuns: 12 },
      ))
})

it('a record after git data or a file is refused with the number of its line', async () => {
  const first = lines.findIndex(isContent)
  const changed = [...lines.toSpliced(first - 1, 1), lines[first - 1]!]
  for (const ground of [used, aGround()])
    await assert.rejects(importInto(ground, changed), {
      code: 'invalid',
      message: `line ${changed.length + 1}: records must come before git data and files: the file is damaged, so export again`,
    })
})
