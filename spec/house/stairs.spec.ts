import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'
import { describe, it } from 'node:test'
import { fileURLToPath } from 'node:url'
import { VERSION } from '../../lib/version.ts'

const root = fileURLToPath(new URL('../../', import.meta.url))

/** The floors, the lowest first; what stands together on one may not import its neighbour unless it says so. */
const FLOORS: Record<string, { floor: number; beside?: string[] }> = {
  'lib/errors.ts': { floor: 0 },
  'lib/caches.ts': { floor: 0 },
  'lib/version.ts': { floor: 0 },
  'lib/integers.ts': { floor: 0 },
  'lib/low-priority.ts': { floor: 0 },
  'lib/client-budget.ts': { floor: 0, beside: ['lib/errors.ts'] },
  'lib/storage': { floor: 1 },
  'lib/workers': { floor: 1 },
  drivers: { floor: 2 },
  'lib/records': { floor: 2 },
  'lib/quota': { floor: 3 },
  'lib/markdown': { floor: 3 },
  'lib/keys': { floor: 3 },
  'lib/git': { floor: 3 },
  'lib/files': { floor: 3 },
  'lib/hosting': { floor: 3, beside: ['lib/quota', 'lib/keys', 'lib/files'] },
  'lib/http': { floor: 4 },
  'lib/moving': { floor: 4 },
  'lib/resources': { floor: 5 },
  'lib/routes': { floor: 5, beside: ['lib/resources'] },
  'lib/option-types.ts': { floor: 5 },
  'lib/options.ts': { floor: 6 },
  'lib/page': { floor: 6, beside: ['lib/options.ts'] },
  'lib/host.ts': { floor: 6 },
  'lib/verify.ts': { floor: 6 },
  'lib/connections.ts': { floor: 6 },
  'lib/server.ts': { floor: 7 },
  'lib/disk.ts': { floor: 7 },
  'lib/allot.ts': { floor: 7, beside: ['lib/disk.ts'] },
  'lib/import.ts': { floor: 7 },
  'lib/index.ts': { floor: 8 },
  bin: { floor: 9 },
  examples: { floor: 9 },
}

const filesIn = (folder: string): string[] =>
  readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
    .filter((file) => /\.tsx?$/.test(file))
    .map((file) => join(folder, file))

const files = ['lib', 'drivers', 'bin', 'examples'].flatMap(filesIn)

const importsOf = (file: string): string[] =>
  [...readFileSync(join(root, file), 'utf8').matchAll(/(?:from|import\(|import) ?'(\.[^']+)'/g)].map(
    ([, path]) => relative(root, resolve(root, dirname(file), path!)),
  )

const roomOf = (file: string): string => {
  const room = Object.keys(FLOORS).find((one) => file === one || file.startsWith(`${one}/`))
  assert.ok(room, `${file} stands on no floor: give it one in this spec and in the plan`)
  return room
}

const mayImport = (from: string, to: string): boolean => {
  const [one, other] = [FLOORS[from]!, FLOORS[to]!]
  return from === to || other.floor < one.floor || one.beside?.includes(to) === true
}

describe('Imports go down the stairs', () => {
  it('in every file, and the files are there', () => {
    assert.ok(files.length > 80)
    const wrong = files.flatMap((file) =>
      importsOf(file)
        .filter((to) => !mayImport(roomOf(file), roomOf(to)))
        .map((to) => `${file} imports ${to}`),
    )
    assert.deepEqual(wrong, [])
  })

  it('and a driver imports the storage floor and its own library, nothing else', () => {
    const wrong = filesIn('drivers').flatMap((file) =>
      importsOf(file).filter((to) => !to.startsWith('lib/storage/') && !to.startsWith('drivers/')),
    )
    assert.deepEqual(wrong, [])
  })

  it('and serving knows no user and no repository', () => {
    for (const file of filesIn('lib/http'))
      assert.ok(
        importsOf(file).every(
          (to) => to.startsWith('lib/http/') || to === 'lib/errors.ts' || to === 'lib/integers.ts',
        ),
        file,
      )
  })
})

describe('The house', () => {
  it('has no drawers, and no giants', () => {
    for (const file of files) {
      assert.doesNotMatch(file, /helper|util|common(?!mark)|manager/i)
      const { length } = readFileSync(join(root, file), 'utf8').split('\n')
      // Lists of declarations are as long as the API and its records are.
      const isList = file.startsWith('lib/routes/') || file === 'lib/records/schema.ts'
      assert.ok(length < 260 || isList, `${file} has ${length} lines`)
    }
  })

  it('says one version', () => {
    const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { version: string }
    assert.equal(VERSION, version)
  })

  it('exports only files that are there', () => {
    const { exports } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
      exports: Record<string, { default: string }>
    }
    for (const { default: built } of Object.values(exports)) {
      const source = built.replace('./dist/', '').replace(/\.js$/, '.ts')
      assert.ok(readFileSync(join(root, source), 'utf8').length > 0, source)
    }
  })
})
