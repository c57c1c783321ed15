import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { fileURLToPath } from 'node:url'
import { runSync } from '../support/child.ts'
import { documents } from './documents.ts'

const root = fileURLToPath(new URL('../../', import.meta.url))
const read = (file: string) => readFileSync(join(root, file), 'utf8')
const PAGES = ['CONTRIBUTING.md', 'docs/additions.md', 'docs/architecture.md'] as const
const additions = read('docs/additions.md')

const tracked = runSync('git', ['ls-files'], { cwd: root }).split('\n')

/** The files whose path ends so: later files of a folder are named without it. */
const filesNamed = (path: string): string[] =>
  tracked.filter((file) => file === path || file.endsWith(`/${path}`))

/** Paths of files in backticks, and of folders that end with a slash or begin with one of the source. */
const pathsIn = (text: string): string[] =>
  [...text.matchAll(/`([\w@./-]+)`/g)]
    .map(([, path]) => path!)
    .filter((path) => /\.(?:tsx?|mjs|json|toml|md)$|^(?:lib|bin|drivers|spec|examples|docs)\//.test(path))

const exists = (path: string): boolean =>
  filesNamed(path).length > 0 || tracked.some((file) => file.includes(path.replace(/\/?$/, '/')))

const has = (file: string, name: string): boolean => new RegExp(`\\b${name}\\b`).test(read(file))

/** Names such as `entrySizes` and `noEntrySizes` that stand before "in `file`" or "(`file`)". */
const namedPlaces = (text: string): { name: string; file: string }[] => {
  const place =
    /((?:`[#\w.]+`(?:,| and| or)?(?: with its actions to)?\s+)+)(?:in|of|\()\s*`([\w./-]+\.tsx?)`/g
  return [...text.matchAll(place)].flatMap(([, names = '', file = '']) =>
    [...names.matchAll(/`#?(?:\w+\.)*(\w+)`/g)].map(([, name = '']) => ({ name, file })),
  )
}

const missingIn = (places: { name: string; file: string }[]): string[] =>
  places
    .filter(({ name, file }) => !filesNamed(file).some((each) => has(each, name)))
    .map(({ name, file }) => `${name} in ${file}`)

/** Lines that a reader of the source sees wrapped; rows of tables and code cannot be. */
const longLines = (text: string): string[] =>
  text
    .replaceAll(/^ *```[\s\S]*?^ *```$/gm, '')
    .split('\n')
    .filter((line) => line.length > 120 && !line.trimStart().startsWith('|'))

describe('The pages for contributors', () => {
  const NAMED: [word: string, file: string][] = [
    ['export const collections', 'lib/records/schema/index.ts'],
    ['const steps: readonly UpgradeStep', 'lib/records/schema/index.ts'],
    ['const DRIVERS', 'bin/config/drivers.ts'],
    ['export interface StorageDriver', 'lib/storage/driver.ts'],
    ['export const driverSpec', 'spec/driver-spec.ts'],
    ['afterCommit', 'lib/records/store.ts'],
  ]
  it('have examples with the members of the code', () => {
    for (const [word, file] of NAMED) assert.ok(read(file).includes(word), `${file} does not have ${word}`)
    const members = (before: string) =>
      [...new RegExp(`${before}\\{([\\s\\S]*?)\\n *\\}\\)`).exec(additions)![1]!.matchAll(/^ +(\w+):/gm)].map(
        ([, key]) => key!,
      )
    const [route, collection] = [read('lib/api/kit.ts'), read('lib/records/collection.ts')]
    for (const key of members("list\\('userListHats', '/hats', "))
      assert.match(route, new RegExp(`\\b${key}(?:\\??:|\\()`))
    for (const key of members('new Collection\\(')) assert.match(collection, new RegExp(`\\b${key}\\??:`))
  })

  for (const page of PAGES)
    it(`name files and folders that exist, in ${page}`, () => {
      const paths = pathsIn(read(page))
      assert.ok(paths.length > 10, 'the paths are found')
      assert.deepEqual(
        paths.filter((path) => !exists(path)),
        [],
      )
    })

  it('name in backticks, before "in" or a parenthesis with a file, what that file has', () => {
    const places = PAGES.flatMap((page) => namedPlaces(read(page)))
    assert.ok(places.length > 50, 'the sentences are found')
    assert.deepEqual(missingIn(places), [])
  })

  it('list each recipe in CONTRIBUTING.md', () => {
    const recipes = [...additions.matchAll(/^## (Add .*)$/gm)].map(([, title]) => title!)
    const listed = read('CONTRIBUTING.md')
    const anchors = recipes.map((title) =>
      title
        .toLowerCase()
        .replaceAll(/[^\w -]/g, '')
        .replaceAll(' ', '-'),
    )
    assert.deepEqual(
      anchors.filter((anchor) => !listed.includes(`(docs/additions.md#${anchor})`)),
      [],
    )
  })
})

it('The documents have lines of at most 120 characters', () => {
  const wide = ['CHANGELOG.md', 'docs/performance.md']
  for (const page of documents.filter((name) => !wide.includes(name)))
    assert.deepEqual(longLines(read(page)), [], page)
})
