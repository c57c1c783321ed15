import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('../../', import.meta.url))
const read = (file: string) => readFileSync(join(root, file), 'utf8')
const text = read('CONTRIBUTING.md')

/** Names of the code that a sentence gives with their file: "`NAME` (`FILE`)" or "`NAME` and `OTHER` in `FILE`". */
const NAMES_IN_FILE =
  /((?:`[#\w.]+`(?:, | and | or )?)+)\s+(?:in|of|\() ?`((?:lib|bin|spec|drivers)\/[\w./-]+\.tsx?)`/g

describe('CONTRIBUTING.md', () => {
  it('names what is in the files that it names', () => {
    const named = [...text.matchAll(NAMES_IN_FILE)].flatMap(([, names, file]) =>
      [...names!.matchAll(/`#?(?:\w+\.)?(\w+)`/g)].map(([, name]) => ({ name: name!, file: file! })),
    )
    assert.ok(named.length > 30)
    const wrong = named.filter(({ name, file }) => !new RegExp(`\\b${name}\\b`).test(read(file)))
    assert.deepEqual(wrong, [])
  })

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
})
