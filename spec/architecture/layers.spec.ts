import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { dirname } from 'node:path'
import { describe, it } from 'node:test'
import { VERSION } from '../../lib/version.ts'
import { filesIn, importsOf, inRoot, sourceOf } from './source.ts'

/** The rows of the table in docs/architecture.md, the highest first: the folders and files of each. */
const ROWS = sourceOf('docs/architecture.md')
  .split('\n')
  .filter((line) => /^\| [^|]+ \| `(?:lib|bin|drivers)[/`]/.test(line))
  .map((line) => [...line.split('|')[2]!.matchAll(/`([^`]+)`/g)].map(([, path]) => path!))

const files = ['lib', 'drivers', 'bin', 'examples'].flatMap(filesIn)

/**
 * The folder or file of the table that a file belongs to: of `lib/records` and `lib/records/schema` the
 * longer one.
 */
const layerOf = (file: string): string => {
  const layers = ROWS.flat().filter((path) => file === path || file.startsWith(`${path}/`))
  const layer = layers.sort((left, right) => right.length - left.length)[0]
  assert.ok(layer, `${file} has no layer: add it to the table in docs/architecture.md`)
  return layer
}

const rowOf = (layer: string): number => ROWS.findIndex((row) => row.includes(layer))

/** Within a row, its files may import each other and its folders. */
const mayImport = (from: string, to: string): boolean =>
  from === to || rowOf(to) > rowOf(from) || (rowOf(to) === rowOf(from) && from.endsWith('.ts'))

describe('The table of layers', () => {
  it('names each folder and file once, and only those that exist', () => {
    const named = ROWS.flat()
    assert.ok(ROWS.length > 20)
    assert.deepEqual([...new Set(named)], named)
    assert.deepEqual(
      named.filter((path) => !existsSync(inRoot(path))),
      [],
    )
  })
})

/** @param partOf the part of the folder that a file is in, whose files may import each other */
const assertNoCycle = (folder: string, partOf: (file: string) => string): void => {
  const imported = new Map<string, Set<string>>()
  for (const file of filesIn(folder)) {
    const parts = imported.get(partOf(file)) ?? new Set()
    for (const to of importsOf(file)) if (to.startsWith(`${folder}/`)) parts.add(partOf(to))
    imported.set(partOf(file), parts)
  }
  assert.ok(imported.size > 5)
  const visit = (part: string, path: readonly string[]): void => {
    assert.ok(!path.includes(part), `they import each other: ${[...path, part].join(' → ')}`)
    for (const to of imported.get(part) ?? []) if (to !== part) visit(to, [...path, part])
  }
  for (const part of imported.keys()) visit(part, [])
}

describe('Imports', () => {
  it('point to lower rows of the table, in every file', () => {
    assert.ok(files.length > 80)
    const wrong = files.flatMap((file) =>
      importsOf(file)
        .filter((to) => !mayImport(layerOf(file), layerOf(to)))
        .map((to) => `${file} imports ${to}`),
    )
    assert.deepEqual(wrong, [])
  })

  it('do not connect the API, the pages and the exports with each other', () => {
    const beside = ['lib/api', 'lib/web', 'lib/exports']
    const wrong = beside.flatMap(filesIn).flatMap((file) =>
      importsOf(file)
        .filter((to) => beside.includes(layerOf(to)) && layerOf(to) !== layerOf(file))
        .map((to) => `${file} imports ${to}`),
    )
    assert.deepEqual(wrong, [])
  })

  it('form no cycle', () => {
    const done = new Set<string>()
    const visit = (file: string, path: readonly string[]): void => {
      assert.ok(!path.includes(file), `import cycle: ${[...path, file].join(' → ')}`)
      if (done.has(file)) return
      for (const to of importsOf(file)) if (/\.tsx?$/.test(to)) visit(to, [...path, file])
      done.add(file)
    }
    for (const file of files) visit(file, [])
  })

  it('form no cycle between the folders of the pages', () =>
    assertNoCycle('lib/web', (file) => dirname(file)))

  it('form no cycle between the folders of the command line, and the files beside them', () =>
    assertNoCycle('bin', (file) => file.split('/').slice(0, 2).join('/')))

  it('of storage, search and integrity from outside are their public modules', () => {
    const closed = ['lib/storage', 'lib/search', 'lib/integrity']
    const wrong = files.flatMap((file) =>
      importsOf(file)
        .filter((to) => closed.some((layer) => layerOf(to) === layer && layerOf(file) !== layer))
        .filter((to) => to !== `${layerOf(to)}/index.ts`)
        .map((to) => `${file} imports ${to}`),
    )
    assert.deepEqual(wrong, [])
  })

  it('of a driver are the public module of the storage layer and other drivers, nothing else', () => {
    const wrong = filesIn('drivers').flatMap((file) =>
      importsOf(file).filter((to) => to !== 'lib/storage/index.ts' && !to.startsWith('drivers/')),
    )
    assert.deepEqual(wrong, [])
  })

  it('of the HTTP layer name neither accounts nor repositories', () => {
    const allowed = [
      'lib/caches.ts',
      'lib/client-budget.ts',
      'lib/clients.ts',
      'lib/clock.ts',
      'lib/disk.ts',
      'lib/errors.ts',
      'lib/scopes.ts',
      'lib/storage/index.ts',
    ]
    for (const file of filesIn('lib/http'))
      assert.ok(
        importsOf(file).every((to) => to.startsWith('lib/http/') || allowed.includes(to)),
        file,
      )
  })
})

describe('The HTTP layer', () => {
  it('gets what the parts of paths mean from the layers above', () => {
    for (const file of filesIn('lib/http')) {
      const code = sourceOf(file).replace(/\/\*[\s\S]*?\*\/|^\s*\/\/.*$/gm, '')
      assert.doesNotMatch(code, /\{\(?(?:owner|org|user|repo)/, file)
    }
  })
})

describe('The source', () => {
  it('has no collections of unrelated helpers', () => {
    for (const file of files) assert.doesNotMatch(file, /helper|util|common(?!mark)|manager/i)
  })

  it('names one version', () => {
    const { version } = JSON.parse(sourceOf('package.json')) as { version: string }
    assert.equal(VERSION, version)
  })

  it('exports only files that exist', () => {
    const { exports } = JSON.parse(sourceOf('package.json')) as {
      exports: Record<string, { default: string }>
    }
    for (const { default: built } of Object.values(exports)) {
      const source = built.replace('./dist/', '').replace(/\.js$/, '.ts')
      assert.ok(sourceOf(source).length > 0, source)
    }
  })
})
