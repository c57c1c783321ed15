import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { describe, it } from 'node:test'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('../../', import.meta.url))

/** Imports at run time, without those of types. */
const IMPORTS =
  /(?:^|\n)(?:import|export)(?! type)[^'"\n;]*?(?:\{[^}]*\}[^'"\n]*?)?from ?'([^']+)'|(?:import\(|import )'([^']+)'/g

const importsOf = (file: string): string[] =>
  [...readFileSync(file, 'utf8').matchAll(IMPORTS)].map(([, from, alone]) => (from ?? alone)!)

/** Every module that a file imports, also indirectly and dynamically. */
const loadedWith = (entry: string): Set<string> => {
  const loaded = new Set<string>()
  const visit = (file: string): void => {
    if (loaded.has(file)) return
    loaded.add(file)
    for (const name of importsOf(file))
      if (name.startsWith('.')) visit(resolve(dirname(file), name))
      else loaded.add(name)
  }
  visit(resolve(root, entry))
  return loaded
}

const PARSERS = ['marked', 'commonmark', 'sanitize-html', 'gemoji']

describe('The parsers of markdown', () => {
  it('are imported by the worker', () => {
    const loaded = loadedWith('lib/markdown/worker.ts')
    for (const name of PARSERS) assert.ok(loaded.has(name), name)
  })

  for (const entry of ['lib/index.ts', 'bin/allot.ts'])
    it(`are not imported by the serving thread: ${entry}`, () => {
      const loaded = loadedWith(entry)
      assert.ok(loaded.size > 100 && loaded.has(resolve(root, 'lib/markdown/index.ts')))
      assert.deepEqual(
        PARSERS.filter((name) => loaded.has(name)),
        [],
      )
    })
})

describe('The parsers of keys', () => {
  const KEY_PARSERS = ['openpgp', 'sshpk']

  it('are imported by their worker, and not by the serving thread', () => {
    const [worker, server] = [loadedWith('lib/keys/worker.ts'), loadedWith('lib/index.ts')]
    assert.ok(server.has(resolve(root, 'lib/keys/reader.ts')))
    for (const name of KEY_PARSERS)
      assert.deepEqual([worker.has(name), server.has(name)], [true, false], name)
  })
})
