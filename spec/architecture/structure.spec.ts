import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { dirname } from 'node:path'
import { describe, it } from 'node:test'
import { filesIn, inRoot, sourceOf } from './source.ts'

const sources = ['lib', 'drivers', 'bin'].flatMap(filesIn)
const everything = [...sources, ...['spec', 'examples'].flatMap(filesIn)]

const MAX_LINES = 300
const MAX_FILES = 25

/** Words of metaphors that were replaced by the terms of the field; an identifier must not bring them back. */
const REPLACED =
  'errand sweeper shelf shelves tally crossings containers survey landing landings grams spread recollection fate gate patience asking questions farewell probes spots stairs house deed judge chance law fleet lent keeper colder'.split(
    ' ',
  )

/** The words of the identifiers in a file, in lower case; comments and texts do not count. */
const wordsOf = (source: string): Set<string> => {
  const code = source
    .replace(/\/\*[\s\S]*?\*\/|\/\/[^\n]*/g, ' ')
    .replace(/'(?:[^'\\\n]|\\.)*'|"(?:[^"\\\n]|\\.)*"|`(?:[^`\\]|\\.)*`/g, ' ')
  const identifiers = code.match(/[A-Za-z_$][\w$]*/g) ?? []
  return new Set(identifiers.flatMap((name) => name.split(/(?=[A-Z])|_/).map((word) => word.toLowerCase())))
}

describe('The source files', () => {
  it(`have at most ${MAX_LINES} lines, unless they are generated`, () => {
    const written = sources.filter((file) => file !== 'lib/options/types.ts')
    const long = written.filter((file) => sourceOf(file).trimEnd().split('\n').length > MAX_LINES)
    assert.deepEqual(long, [])
  })

  it(`are at most ${MAX_FILES} in a folder`, () => {
    const counts = new Map<string, number>()
    for (const file of sources) counts.set(dirname(file), (counts.get(dirname(file)) ?? 0) + 1)
    assert.deepEqual(
      [...counts].filter(([, count]) => count > MAX_FILES),
      [],
    )
  })

  it('have no identifier with a word that was replaced', () => {
    const found = sources.flatMap((file) => {
      const words = wordsOf(sourceOf(file))
      return REPLACED.filter((word) => words.has(word)).map((word) => `${file}: ${word}`)
    })
    assert.deepEqual(found, [])
  })

  it('mention only files that exist', () => {
    const wrong = everything.flatMap((file) =>
      [...sourceOf(file).matchAll(/(?<![\w./-])(?:lib|bin|drivers|spec|docs)\/[\w./-]+\.(?:tsx?|md)\b/g)]
        .filter(([mentioned]) => !existsSync(inRoot(mentioned)))
        .map(([mentioned]) => `${file} mentions ${mentioned}`),
    )
    assert.deepEqual(wrong, [])
  })
})
