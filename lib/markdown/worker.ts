import { AllotError } from '../errors.ts'
import { lowerOwnPriority, serveTasks } from '../workers.ts'
import { isExtended, type MarkdownInput, plainLinks, referencesOf } from './html.ts'

lowerOwnPriority()
// Imported afterwards: loading the parsers takes time, too.
const { renderCommonMark } = await import('./commonmark.ts')
const { renderGfm } = await import('./gfm.ts')
const { sanitize } = await import('./sanitize.ts')

/** Characters. The serving thread has to copy the HTML. */
const MAX_HTML_LENGTH = 8 * 1_048_576

/** Renders a text to safe HTML, which may take any time. */
const render = (given: MarkdownInput): string => {
  // CommonMark §2.3: U+0000 must be replaced.
  const input = { ...given, text: given.text.replaceAll('\0', '\ufffd') }
  if (!isExtended(input.mode)) return renderCommonMark(input.text, plainLinks(input))
  const references = referencesOf(input)
  return sanitize(renderGfm(input, references), references)
}

serveTasks<MarkdownInput, string>((input) => {
  try {
    const html = render(input)
    if (html.length > MAX_HTML_LENGTH) throw new AllotError('invalid', 'Text: its HTML would be too large')
    return html
  } catch (cause) {
    // The parsers are recursive: deep nesting exceeds the stack.
    if (cause instanceof RangeError)
      throw new AllotError('invalid', 'Text: it is nested too deeply', { cause })
    throw cause
  }
})
