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

/**
 * A row of a table in docs/architecture.md that follows a request: the functions, and the file that they are
 * in.
 */
interface TraceRow {
  readonly functions: readonly string[]
  readonly file: string | undefined
}

/** The tables that follow a request, each with the sentence before it that counts. */
const traces = sourceOf('docs/architecture.md')
  .split('### ')
  .slice(1)
  .map((section) => ({
    count: /(\d+) functions in (\d+) files(?:\. 1 to (\d) as above)?/.exec(section),
    rows: [...section.matchAll(/^\| [\d, ]+ \| ([^|]+) \| ([^|]+) \|/gm)].map(
      ([, functions, file]): TraceRow => ({
        functions: [...functions!.matchAll(/`([^`]+)`/g)].map(([, name]) => name!),
        file: /^`([^`]+)`$/.exec(file!)?.[1],
      }),
    ),
  }))

const declares = (source: string, name: string): boolean => {
  const [owner, member] = name.split('.') as [string, string?]
  if (member === undefined)
    return new RegExp(`(?:const |function |^ *(?:async )?)${owner}\\b`, 'm').test(source)
  return new RegExp(`class ${owner}\\b[^]*\\n  (?:[a-z]+ )*${member}\\b`).test(source)
}

describe('The tables of docs/architecture.md that follow a request', () => {
  it('name functions of the file that they name', () => {
    const wrong = traces.flatMap(({ rows }) =>
      rows.flatMap(({ functions, file }) =>
        functions
          .filter((name) => file !== undefined && !declares(sourceOf(file), name))
          .map((name) => `${name} in ${file}`),
      ),
    )
    assert.deepEqual(wrong, [])
  })

  it('count their functions and files', () => {
    const fileOf = new Map(
      traces[0]!.rows.flatMap(({ functions, file }) => functions.map((name) => [name, file])),
    )
    for (const { count, rows } of traces) {
      const all = [...traces[0]!.rows.slice(0, Number(count?.[3] ?? 0)), ...rows]
      const files = new Set(
        all.flatMap(({ functions, file }) => file ?? functions.map((name) => fileOf.get(name))),
      )
      const functions = all.flatMap((row) => row.functions)
      assert.deepEqual(count?.slice(1, 3).map(Number), [functions.length, files.size])
    }
    assert.equal(traces.length, 3)
  })
})
