import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { VERSION } from '../../lib/version.ts'
import { filesIn, importsOf, sourceOf } from './source.ts'

/** The layers, the lowest first. A folder imports from lower layers only, and from those of its own that it names. */
const LAYERS: Record<string, { rank: number; imports?: string[] }> = {
  'lib/errors.ts': { rank: 0 },
  'lib/caches.ts': { rank: 0 },
  'lib/clock.ts': { rank: 0 },
  'lib/version.ts': { rank: 0 },
  'lib/integers.ts': { rank: 0 },
  'lib/byte-sizes.ts': { rank: 0, imports: ['lib/integers.ts'] },
  'lib/disk.ts': { rank: 0 },
  'lib/optional-package.ts': { rank: 0, imports: ['lib/errors.ts'] },
  'lib/clients.ts': { rank: 0, imports: ['lib/errors.ts'] },
  'lib/storage': { rank: 1 },
  'lib/workers.ts': { rank: 1 },
  'lib/host-pages': { rank: 1 },
  drivers: { rank: 2 },
  'lib/records/schema': { rank: 2, imports: ['lib/records', 'lib/search'] },
  'lib/records': { rank: 2 },
  'lib/search': { rank: 2, imports: ['lib/records'] },
  'lib/integrity': { rank: 2, imports: ['lib/records/schema', 'lib/records', 'lib/search'] },
  'lib/audit.ts': { rank: 2, imports: ['lib/records', 'lib/records/schema'] },
  'lib/quota': { rank: 3 },
  'lib/markdown': { rank: 3 },
  'lib/keys': { rank: 3 },
  'lib/git': { rank: 3 },
  'lib/files': { rank: 3 },
  'lib/accounts': { rank: 4 },
  'lib/webhooks': { rank: 4, imports: ['lib/accounts'] },
  'lib/repositories': { rank: 5 },
  'lib/content': { rank: 6 },
  'lib/hosting.ts': { rank: 7 },
  'lib/http': { rank: 7 },
  'lib/transfer': { rank: 8 },
  'lib/api': { rank: 8 },
  'lib/web': { rank: 8 },
  'lib/options': { rank: 8 },
  'lib/options.ts': { rank: 9 },
  'lib/data-folder.ts': { rank: 9, imports: ['lib/engine.ts', 'lib/options.ts'] },
  'lib/in-process-quota.ts': { rank: 9 },
  'lib/engine.ts': { rank: 9, imports: ['lib/in-process-quota.ts', 'lib/options.ts'] },
  'lib/verify.ts': { rank: 9 },
  'lib/quota-only': { rank: 10 },
  'lib/server.ts': { rank: 10 },
  'lib/listeners.ts': { rank: 10 },
  'lib/domain.ts': { rank: 10, imports: ['lib/listeners.ts'] },
  'lib/ssh': { rank: 10 },
  'lib/allot.ts': { rank: 10, imports: ['lib/domain.ts', 'lib/listeners.ts', 'lib/ssh'] },
  'lib/client': { rank: 0 },
  'lib/index.ts': { rank: 11 },
  'lib/fastify.ts': { rank: 11 },
  bin: { rank: 12 },
  examples: { rank: 12 },
}

const files = ['lib', 'drivers', 'bin', 'examples'].flatMap(filesIn)

const layerOf = (file: string): string => {
  const layer = Object.keys(LAYERS).find((one) => file === one || file.startsWith(`${one}/`))
  assert.ok(layer, `${file} has no layer: add it to LAYERS`)
  return layer
}

const mayImport = (from: string, to: string): boolean => {
  const [one, other] = [LAYERS[from]!, LAYERS[to]!]
  return from === to || other.rank < one.rank || one.imports?.includes(to) === true
}

describe('Imports', () => {
  it('point to lower layers, in every file', () => {
    assert.ok(files.length > 80)
    const wrong = files.flatMap((file) =>
      importsOf(file)
        .filter((to) => !mayImport(layerOf(file), layerOf(to)))
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

  it('of the HTTP layer know neither users nor repositories', () => {
    const allowed = ['lib/caches.ts', 'lib/errors.ts', 'lib/integers.ts']
    for (const file of filesIn('lib/http'))
      assert.ok(
        importsOf(file).every((to) => to.startsWith('lib/http/') || allowed.includes(to)),
        file,
      )
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
