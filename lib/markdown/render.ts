import { AllotError } from '../errors.ts'
import { renderCommonMark } from './commonmark.ts'
import { renderGfm } from './gfm.ts'
import type { MarkdownInput } from './input.ts'
import { linksOf } from './links.ts'
import { sanitize } from './sanitize.ts'

const EXTENDED = new Set(['gfm', 'comment', 'wiki'])

/**
 * Text to safe HTML, in the thread that calls it and without a bound in time.
 * @throws AllotError invalid for a text that is nested too deeply to be followed.
 */
export const render = (input: MarkdownInput): string => {
  try {
    if (!EXTENDED.has(input.mode)) return renderCommonMark(input.text)
    const links = linksOf(input)
    return sanitize(renderGfm(input, links), links)
  } catch (cause) {
    // The parsers follow nesting on the stack, which ends in a RangeError.
    if (cause instanceof RangeError)
      throw new AllotError('invalid', 'Text: it is nested too deeply', { cause })
    throw cause
  }
}
