import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { retryMeasurement } from '../support/retry.ts'
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

/** Characters of which long texts are made, besides those that the expression names. */
const ALWAYS = [' ', '\t', '\n', 'a', '0', '-', '\0']
const ENDS = ['', '!', '\0', '\n']

/** Long texts that are likely to make the expression begin, and not to match in the end. */
function* textsFor({ source }: RegExp, length: number): Generator<string> {
  const named = source.replace(/\\[bBdDsSwWnrt]/g, '').replace(/\\/g, '')
  for (const character of new Set([...ALWAYS, ...named]))
    for (const end of ENDS) yield character.repeat(length) + end
}

/** Of three runs the shortest, since other processes only lengthen them. */
const millisecondsOf = (expression: RegExp, text: string): number => {
  const runs = [1, 2, 3].map(() => {
    const started = performance.now()
    text.replace(expression, '')
    return performance.now() - started
  })
  return Math.min(...runs)
}

const LENGTH = 12_000
/** Milliseconds; quicker texts are not measured again. */
const SUSPICIOUS = 10

const growthOf = (expression: RegExp, text: (length: number) => string): number =>
  millisecondsOf(expression, text(4 * LENGTH)) / millisecondsOf(expression, text(LENGTH))

describe('A regular expression of the source', () => {
  it('takes time that grows no faster than a long text of repeated characters', async () => {
    assert.ok(literals.length > 250, `only ${literals.length} are found`)
    for (const { at, expression } of literals)
      for (const text of textsFor(expression, LENGTH)) {
        if (millisecondsOf(expression, text) < SUSPICIOUS) continue
        const [character, end] = [text[0]!, text.slice(LENGTH)]
        await retryMeasurement(async () => {
          const growth = growthOf(expression, (length) => character.repeat(length) + end)
          assert.ok(
            growth < 10,
            `${at} takes ${growth} times as long for four times as many of ${JSON.stringify(character)}`,
          )
        })
      }
  })
})
