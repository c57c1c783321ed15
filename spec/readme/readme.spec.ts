import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, it } from 'node:test'
import { fileURLToPath } from 'node:url'
import { documents, proseOf, readDocument, sectionOf } from './documents.ts'
import { CONFIGURATION, tables } from './options.ts'

const root = fileURLToPath(new URL('../../', import.meta.url))
const manifest = JSON.parse(readDocument('package.json')) as {
  scripts: Record<string, string>
  dependencies: Record<string, string>
  peerDependencies: Record<string, string>
  devDependencies: Record<string, string>
}

/** The texts between backticks in the prose of a document. */
const codeIn = (document: string): string[] =>
  [...proseOf(document).matchAll(/`([^`\n]+)`/g)].map(([, text]) => text!)

describe('The documents', () => {
  it('have a README of at most 150 lines', () => {
    assert.ok(readDocument('README.md').split('\n').length <= 151)
  })

  it('begin with code of the quota alone, within the first 50 lines', () => {
    const [beginning, code] = readDocument('README.md').split('```')
    assert.match(code!, /^ts\nimport \{ createQuota/)
    assert.ok(`${beginning}${code}`.split('\n').length <= 50)
  })

  it('can all be reached from the README, which ends with at most ten links', () => {
    const reached = new Set(['README.md'])
    for (const path of reached)
      for (const [, target] of proseOf(path).matchAll(/\]\(([^()\s#]+\.md)[)#]/g))
        reached.add(join(dirname(path), target!))
    assert.deepEqual(
      documents.filter((document) => !reached.has(document)),
      [],
    )
    const [, last] = readDocument('README.md').split('## Read on')
    assert.ok(last!.match(/\]\(/g)!.length <= 10)
  })

  it('have the tables of options, with the texts and defaults of the schemas', () => {
    for (const [name, table] of Object.entries(tables))
      assert.equal(sectionOf(CONFIGURATION, name), table(), 'run: npx tsx spec/readme/options.ts')
  })

  it('name the commit and the day of each table that was measured', () => {
    let count = 0
    for (const document of documents)
      for (const [, name, head] of readDocument(document).matchAll(
        /^<!-- (bench of .*|costs|faults|fleet faults|hostile) -->\n\| (.*?) \|/gm,
      )) {
        assert.match(head!, / \([0-9a-f]{8}, \d{4}-\d\d-\d\d\)$/, `${document}: ${name}`)
        count++
      }
    assert.ok(count > 15)
  })

  it('give a reason for every dependency, and for nothing else', () => {
    const rows = proseOf('docs/dependencies.md').match(/^\| `.*$/gm)!
    const named = rows.flatMap((row) =>
      [...row.split('|')[1]!.matchAll(/`([^`]+)`/g)].map(([, name]) => name!),
    )
    const { dependencies, peerDependencies, devDependencies } = manifest
    const known = Object.keys({ ...dependencies, ...peerDependencies, ...devDependencies })
    assert.deepEqual([...new Set(named)].sort(), known.sort())
    for (const row of rows) assert.ok(row.split('|')[2]!.trim().length > 10, row)
  })

  it('name only existing options', () => {
    const known = Object.values(tables)
      .map((table) => table())
      .join('\n')
    const sections = new Set([...known.matchAll(/`\[(\w+)\]/g)].map(([, section]) => section!))
    let count = 0
    // The changelog names former options.
    for (const document of documents.filter((path) => path !== 'CHANGELOG.md'))
      for (const text of codeIn(document)) {
        const [, section] = /^([a-z]+)\.[a-z]+(?:[A-Z][a-z]*)*$/.exec(text) ?? []
        if (section === undefined || !sections.has(section)) continue
        assert.ok(known.includes(`\`${text}\``), `${document} names the unknown option ${text}`)
        count++
      }
    assert.ok(count > 15)
  })

  it('name only existing options in SECURITY.md, without their section as well', () => {
    const known = Object.values(tables)
      .map((table) => table())
      .join('\n')
    const names = codeIn('SECURITY.md').filter((text) => /^[a-z]+[A-Z][a-zA-Z]*$/.test(text))
    for (const name of names)
      assert.ok(name === 'createLimitedServer' || known.includes(`\`${name}\``), `unknown option ${name}`)
    assert.ok(names.length > 4)
  })

  it('name only existing scripts', () => {
    let count = 0
    for (const document of documents)
      for (const [, script] of readDocument(document).matchAll(/npm run ([\w:-]+)/g)) {
        assert.ok(script! in manifest.scripts, `${document}: npm run ${script}`)
        count++
      }
    assert.ok(count > 15)
  })

  it('name only existing files and folders', () => {
    let count = 0
    for (const document of documents)
      for (const text of codeIn(document)) {
        if (!/^(?:lib|spec|bin|drivers|examples|docs)\/[\w./-]*$/.test(text)) continue
        assert.ok(existsSync(join(root, text)), `${document} names ${text}`)
        count++
      }
    assert.ok(count > 40)
  })

  it('have lines of at most 120 characters, besides code and the rows of tables', () => {
    const wide = ['CHANGELOG.md', 'docs/performance.md']
    for (const document of documents.filter((path) => !wide.includes(path)))
      for (const line of proseOf(document).split('\n'))
        assert.ok(line.length <= 120 || line.trimStart().startsWith('|'), `${document}: ${line}`)
  })

  it('list in CONTRIBUTING.md each recipe of docs/additions.md', () => {
    for (const [, title] of readDocument('docs/additions.md').matchAll(/^## (Add .*)$/gm)) {
      const anchor = title!
        .toLowerCase()
        .replaceAll(/[^\w -]/g, '')
        .replaceAll(' ', '-')
      assert.ok(readDocument('CONTRIBUTING.md').includes(`(docs/additions.md#${anchor})`), title)
    }
  })
})
