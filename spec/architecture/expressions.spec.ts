import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { isLong } from '../support/long.ts'
import { filesIn, sourceOf } from './source.ts'

/** A regular expression in the source. */
const LITERAL =
  /(?<=(?:[=([{,:?!&|;\n]|=>|\breturn)\s*)\/(?![*/])((?:\\.|\[(?:\\.|[^\]\\\n])*\]|[^/\\[\n])+)\/([dgimsuvy]*)/g

interface Found {
  readonly at: string
  readonly expression: RegExp
}

const literalsIn = (file: string): Found[] =>
  [...sourceOf(file).matchAll(LITERAL)].flatMap(([whole, source, flags]) => {
    try {
      return [{ at: `${whole} in ${file}`, expression: new RegExp(source!, flags) }]
    } catch {
      // A division, or part of a text.
      return []
    }
  })

const literals = ['lib', 'drivers', 'bin'].flatMap(filesIn).flatMap(literalsIn)

/**
 * Repetitions within repetitions that are safe: a character separates the rounds of the outer one, which the
 * inner one does not match.
 */
const SEPARATED = [
  String.raw`^version https:\/\/git-lfs\.github\.com\/spec\/v1\n(?:ext-[^\n]*\n)*oid sha256:([0-9a-f]{64})\nsize (\d{1,15})(?:\n|$)`,
  String.raw`^(?:\/(?!\.\.?(?:\/|$))[\w.~%@+-]+)+$`,
  String.raw`^(?:\/(?!\.\.?(?:\/|$))[\w.~%@+!'()*-]+)+$`,
  String.raw`^(?:\/(?!\.\.?(?:\/|$))[\w.-]+)+$`,
  String.raw`\ngpgsig (?:[^\n]*)(?:\n [^\n]*)*`,
  String.raw`(?<![\w:]):([\w+-]{1,60}):|\p{Regional_Indicator}{2}|\p{Extended_Pictographic}[\ufe0f\u{1f3fb}-\u{1f3ff}]*(?:\u200d\p{Extended_Pictographic}[\ufe0f\u{1f3fb}-\u{1f3ff}]*)*`,
  String.raw`^(?:(?:https?|ssh|git):\/\/[^/]|(?:[\w.+-]+@[\w.-]+|[\w-]+(?:\.[\w-]+)+):(?!\/\/)|\.{1,2}\/)[^\s\p{Cc}]*$`,
]

const TOKEN = /\\.|\[(?:\\.|[^\]\\])*\]|./gs

/** How deep repetitions without a limit are nested. */
const depthOf = (source: string): number => {
  // For each open group the depth of what it has so far.
  const groups = [0]
  for (const { 0: token, index } of source.matchAll(TOKEN)) {
    const isRepeated = /^(?:[*+]|\{\d+,\})/.test(source.slice(index + token.length))
    if (token === '(') groups.push(0)
    else {
      const depth = (token === ')' ? groups.pop()! : 0) + (isRepeated ? 1 : 0)
      groups.push(Math.max(groups.pop()!, depth))
    }
  }
  return groups[0]!
}

/** Characters of which long texts are made, besides those that the expression names. */
const ALWAYS = [' ', '\t', '\n', 'a', '0', '-', '\0']
const ENDS = ['', '!', '\0', '\n']

/** Long texts that are likely to make the expression begin, and not to match in the end. */
function* textsFor({ source }: RegExp, length: number): Generator<string> {
  const named = source.replace(/\\[bBdDsSwWnrt]/g, '').replace(/\\/g, '')
  for (const character of new Set([...ALWAYS, ...named]))
    for (const end of ENDS) yield character.repeat(length) + end
}

/** Of some runs the shortest, since other processes only lengthen them. */
const millisecondsOf = (expression: RegExp, text: string, runs: number): number =>
  Math.min(
    ...Array.from({ length: runs }, () => {
      const started = performance.now()
      text.replace(expression, '')
      return performance.now() - started
    }),
  )

const LENGTH = 12_000
/** Milliseconds; quicker texts are not measured again. */
const SUSPICIOUS = 10

const growthOf = (expression: RegExp, text: (length: number) => string): number =>
  millisecondsOf(expression, text(4 * LENGTH), 10) / millisecondsOf(expression, text(LENGTH), 10)

describe('A regular expression of the source', () => {
  it('has no repetition within a repetition, unless a character separates the rounds', () => {
    assert.ok(literals.length > 250, `only ${literals.length} are found`)
    const nested = literals.filter(
      ({ expression: { source } }) => depthOf(source) > 1 && !SEPARATED.includes(source),
    )
    assert.deepEqual(
      nested.map(({ at }) => at),
      [],
    )
  })

  if (isLong)
    it('takes time that grows no faster than a long text of repeated characters', () => {
      for (const { at, expression } of literals)
        for (const text of textsFor(expression, LENGTH)) {
          if (millisecondsOf(expression, text, 3) < SUSPICIOUS) continue
          const [character, end] = [text[0]!, text.slice(LENGTH)]
          const growth = growthOf(expression, (length) => character.repeat(length) + end)
          const what = `${at} takes ${growth} times as long for four times as many of`
          assert.ok(growth < 10, `${what} ${JSON.stringify(character)}`)
        }
    })
})
