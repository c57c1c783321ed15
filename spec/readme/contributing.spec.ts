import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('../../', import.meta.url))
const read = (file: string) => readFileSync(join(root, file), 'utf8')
const text = read('CONTRIBUTING.md')

const tracked = execFileSync('git', ['ls-files'], { cwd: root, encoding: 'utf8' }).split('\n')

/** The files whose path ends so: later files of a folder are named without it. */
const filesNamed = (path: string): string[] =>
  tracked.filter((file) => file === path || file.endsWith(`/${path}`))

const has = (file: string, name: string): boolean => new RegExp(`\\b${name}\\b`).test(read(file))

/** Names such as `sizes` and `noSizes` that stand before "in `file`" or "(`file`)". */
const namedPlaces = (text: string): { name: string; file: string }[] => {
  const place =
    /((?:`[#\w.]+`(?:,| and| or)?(?: with its actions to)?\s+)+)(?:in|of|\()\s*`([\w./-]+\.tsx?)`/g
  return [...text.matchAll(place)].flatMap(([, names = '', file = '']) =>
    [...names.matchAll(/`#?(?:\w+\.)*(\w+)`/g)].map(([, name = '']) => ({ name, file })),
  )
}

describe('CONTRIBUTING.md', () => {
  const NAMED: [word: string, file: string][] = [
    ['export const collections', 'lib/records/schema/index.ts'],
    ['export const numbered', 'lib/records/schema/index.ts'],
    ['const steps: readonly UpgradeStep', 'lib/records/schema/index.ts'],
    ['const DRIVERS', 'bin/config/drivers.ts'],
    ['export interface StorageDriver', 'lib/storage/driver.ts'],
    ['export const driverSpec', 'spec/driver-spec.ts'],
    ['afterCommit', 'lib/records/store.ts'],
  ]
  it('uses the names of the code', () => {
    for (const [word, file] of NAMED) assert.ok(read(file).includes(word), `${file} does not have ${word}`)
    const members = (name: string) =>
      [...new RegExp(`${name}\\(\\{([\\s\\S]*?)\\n *\\}\\)`).exec(text)![1]!.matchAll(/^ +(\w+):/gm)].map(
        ([, key]) => key!,
      )
    const [route, collection] = [
      read('lib/http/route.ts') + read('lib/http/access.ts'),
      read('lib/records/collection.ts'),
    ]
    for (const key of members('route')) assert.match(route, new RegExp(`\\b${key}\\??:`))
    for (const key of members('new Collection')) assert.match(collection, new RegExp(`\\b${key}\\??:`))
  })

  it('names in backticks, before "in" or a parenthesis with a file, what that file has', () => {
    const missing = namedPlaces(text).filter(
      ({ name, file }) => !filesNamed(file).some((each) => has(each, name)),
    )
    assert.ok(namedPlaces(text).length > 60, 'the sentences are found')
    assert.deepEqual(missing, [])
  })
})
