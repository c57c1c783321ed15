import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { dirname } from 'node:path'
import { describe, it } from 'node:test'
import { filesIn, inRoot, sourceOf } from './source.ts'

const sources = ['lib', 'drivers', 'bin'].flatMap(filesIn)
const everything = [...sources, ...['spec', 'examples'].flatMap(filesIn)]

const MAX_LINES = 300
const MAX_FILES = 25

/** The width to which the formatter (biome.json) breaks code; it leaves comments as they are. */
const MAX_COLUMNS = 110

const GENERATED = ['lib/client/types.ts']

describe('The source files', () => {
  it(`have at most ${MAX_LINES} lines, unless they are generated`, () => {
    const written = sources.filter((file) => !GENERATED.includes(file))
    const long = written.filter((file) => sourceOf(file).trimEnd().split('\n').length > MAX_LINES)
    assert.deepEqual(long, [])
  })

  it('begin a line with each tag of a doc comment, since a compiler reads no other ones', () => {
    const within = everything
      .filter((file) => !GENERATED.includes(file))
      .flatMap((file) =>
        sourceOf(file)
          .split('\n')
          .filter((line) => /^ *(?:\/\*\*|\*) .*\S @(?:param|returns|throws)\b/.test(line))
          .map((line) => `${file}: ${line.trim()}`),
      )
    assert.deepEqual(within, [])
  })

  it(`have comments of at most ${MAX_COLUMNS} columns, unless they are generated`, () => {
    const wide = everything
      .filter((file) => !GENERATED.includes(file))
      .flatMap((file) =>
        sourceOf(file)
          .split('\n')
          .map((line, index) => ({ line, at: `${file}:${index + 1}` }))
          .filter(({ line }) => line.length > MAX_COLUMNS && /^ *(\/\/|\/?\*)/.test(line))
          .filter(({ line }) => !/https?:\/\//.test(line)),
      )
    assert.deepEqual(
      wide.map(({ at }) => at),
      [],
    )
  })

  it(`are at most ${MAX_FILES} in a folder`, () => {
    const counts = new Map<string, number>()
    for (const file of sources) counts.set(dirname(file), (counts.get(dirname(file)) ?? 0) + 1)
    assert.deepEqual(
      [...counts].filter(([, count]) => count > MAX_FILES),
      [],
    )
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
