import assert from 'node:assert/strict'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('../../', import.meta.url))
const read = (file: string) => readFileSync(join(root, file), 'utf8')
const text = read('CONTRIBUTING.md')
const words = [...text.matchAll(/`([^`\n]+)`/g)].map(([, word]) => word!)

describe('CONTRIBUTING.md', () => {
  it('names only existing files and folders', () => {
    const paths = words.filter((word) => /^(?:lib|spec|bin|drivers|examples)(?:\/|$)/.test(word))
    assert.ok(paths.length > 15)
    for (const path of paths) assert.ok(existsSync(join(root, path)), path)
  })

  it('names only existing scripts', () => {
    const { scripts } = JSON.parse(read('package.json')) as { scripts: Record<string, string> }
    for (const [, script] of text.matchAll(/npm run ([\w:-]+)/g)) assert.ok(script! in scripts, script)
  })

  const NAMED: [word: string, file: string][] = [
    ['export const collections', 'lib/records/schema/index.ts'],
    ['export const numbered', 'lib/records/schema/index.ts'],
    ['export const steps', 'lib/records/schema/migrations.ts'],
    ['export const driverFor', 'bin/config/store.ts'],
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
    for (const key of members('collection')) assert.match(collection, new RegExp(`\\b${key}\\??:`))
  })
})
