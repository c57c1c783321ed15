import assert from 'node:assert/strict'
import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { before, describe, it } from 'node:test'
import fc from 'fast-check'
import { type AllotError, importAllot } from '../../lib/index.ts'
import { aGround, fill, type Ground } from '../files/ground.ts'
import { rawOf } from '../records/raw.ts'
import { exported, inChunks } from './instance.ts'
import { sealed } from './sealed.ts'

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
  const records = await rawOf(driver)
  await driver.close()
  return { records, disk: [repositories, files].flatMap(({ directory }) => filesIn(directory)) }
}

const into = ({ driver, repositories, files }: Ground, lines: readonly string[]) =>
  importAllot({ driver, repositories, files }, inChunks(sealed(lines), 1000))

const isContent = (line: string) => /^\{"(?:repository|file)":/.test(line)

/** The lines in another order: shuffled, or with one of them moved. */
const reordered = (lines: readonly string[]): fc.Arbitrary<string[]> => {
  const index = fc.nat(lines.length - 1)
  return fc.oneof(
    fc.shuffledSubarray([...lines], { minLength: lines.length }),
    fc.tuple(index, index).map(([from, to]) => lines.toSpliced(from, 1).toSpliced(to, 0, lines[from]!)),
  )
}

/** The lines of an export, without the first and the last. */
let lines: string[]
before(async () => {
  const source = aGround()
  const allot = await source.open()
  await fill(allot)
  lines = (await exported(allot)).toString().trimEnd().split('\n').slice(1, -1)
  await allot.close()
  source.clear()
})

describe('A file with its lines in another order', () => {
  const assertWholeOrUnchanged = async (ground: Ground, changed: readonly string[]) => {
    const unchanged = await stateOf(ground)
    const refusal = await into(ground, changed).catch((error: AllotError) => error)
    if (refusal instanceof Error) {
      assert.equal((refusal as AllotError).code, 'invalid', String(refusal))
      return assert.deepEqual(await stateOf(ground), unchanged)
    }
    assert.ok(!changed.some((line, at) => !isContent(line) && changed.slice(0, at).some(isContent)))
    const allot = await ground.open()
    assert.deepEqual((await allot.verify()).messages, [])
    await allot.close()
  }

  it('is imported whole, or changes nothing', () =>
    fc.assert(
      fc.asyncProperty(reordered(lines), async (changed) => {
        const ground = aGround()
        await assertWholeOrUnchanged(ground, changed).finally(ground.clear)
      }),
      { numRuns: 12 },
    ))
})

it('a record after git data or a file is refused with the number of its line', async () => {
  const first = lines.findIndex(isContent)
  const changed = [...lines.toSpliced(first - 1, 1), lines[first - 1]!]
  await assert.rejects(into(aGround(), changed), {
    code: 'invalid',
    message: `line ${changed.length + 1}: records must come before git data and files: the file is damaged, so export again`,
  })
})
