import { AllotError } from '../errors.ts'
import { renderCommonMark } from './commonmark.ts'
import { renderGfm } from './gfm.ts'
import { isExtended, type MarkdownInput, plainLinks, referencesOf } from './html.ts'
import { sanitize } from './sanitize.ts'

/** Characters. The serving thread has to copy the HTML. */
const MAX_HTML_LENGTH = 8 * 1_048_576

/**
 * Renders a text to safe HTML. Blocks the calling thread for an unbounded time; called in the worker.
 * @throws AllotError invalid when the HTML is too large, or the text is nested too deeply
 */
export const render = (input: MarkdownInput): string => {
  try {
    const html = renderMode(input)
    if (html.length > MAX_HTML_LENGTH) throw new AllotError('invalid', 'Text: its HTML would be too large')
    return html
  } catch (cause) {
    // The parsers are recursive: deep nesting exceeds the stack.
    if (cause instanceof RangeError)
      throw new AllotError('invalid', 'Text: it is nested too deeply', { cause })
    throw cause
  }
}

const renderMode = (given: MarkdownInput): string => {
  // CommonMark §2.3: U+0000 must be replaced.
  const input = { ...given, text: given.text.replaceAll('\0', '\ufffd') }
  if (!isExtended(input.mode)) return renderCommonMark(input.text, plainLinks(input))
  const references = referencesOf(input)
  return sanitize(renderGfm(input, references), references)
}
