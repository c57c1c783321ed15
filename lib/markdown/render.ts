import { AllotError } from '../errors.ts'
import { renderCommonMark } from './commonmark.ts'
import { renderGfm } from './gfm.ts'
import { isExtended, linksOf, type MarkdownInput, plainLinks } from './links.ts'
import { sanitize } from './sanitize.ts'

/** CommonMark §2.3: U+0000 must be replaced, in every mode. */
const withoutNul = (text: string): string => text.replaceAll('\0', '\ufffd')

/** Characters of HTML that an answer may have: the thread that serves requests has to copy them. */
const LONGEST_HTML = 8 * 1_048_576

/**
 * Text to safe HTML, in the thread that calls it and without a bound in time.
 * @throws AllotError invalid for a text that is nested too deeply to be followed.
 */
export const render = (given: MarkdownInput): string => {
  const input = { ...given, text: withoutNul(given.text) }
  try {
    const html = rendered(input)
    if (html.length > LONGEST_HTML) throw new AllotError('invalid', 'Text: its HTML would be too large')
    return html
  } catch (cause) {
    // The parsers follow nesting on the stack, which ends in a RangeError.
    if (cause instanceof RangeError)
      throw new AllotError('invalid', 'Text: it is nested too deeply', { cause })
    throw cause
  }
}

const rendered = (input: MarkdownInput): string => {
  if (!isExtended(input.mode)) return renderCommonMark(input.text, plainLinks(input))
  const links = linksOf(input)
  return sanitize(renderGfm(input, links), links)
}
