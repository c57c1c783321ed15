import { AllotError } from '../errors.ts'
import { lowerOwnPriority } from '../priority.ts'
import { importForTask, serveTasks } from '../workers.ts'
import { isExtended, linksAsWritten, type MarkdownInput, plainLinks, referencesOf } from './html.ts'

lowerOwnPriority()
// Imported afterwards: loading the parsers takes time, too.
const { renderCommonMark } = await import('./commonmark.ts')

const memoized = <Module>(importModule: () => Promise<Module>) => {
  let imported: Module | undefined
  return async () => (imported ??= await importForTask(importModule))
}
/** Loaded with the first text that needs them: they take two thirds of the memory of the thread. */
const extended = memoized(() => import('./gfm.ts'))
const sanitizer = memoized(() => import('./sanitize.ts'))

/** Characters. The serving thread has to copy the HTML. */
const MAX_HTML_LENGTH = 8 * 1_048_576

/** Renders a text to safe HTML, which may take any time. */
const render = async (given: MarkdownInput): Promise<string> => {
  // CommonMark §2.3: U+0000 must be replaced.
  const input = { ...given, text: given.text.replaceAll('\0', '\ufffd') }
  if (!isExtended(input.mode)) {
    const html = renderCommonMark(input.text, plainLinks(input))
    return 'safe' in html ? html.safe : (await sanitizer()).sanitize(html.unsafe, linksAsWritten)
  }
  const [{ renderGfm }, { sanitize }] = [await extended(), await sanitizer()]
  const references = referencesOf(input)
  return sanitize(renderGfm(input, references), references)
}

serveTasks<MarkdownInput, string>(async (input) => {
  try {
    const html = await render(input)
    if (html.length > MAX_HTML_LENGTH) throw new AllotError('invalid', 'Text: its HTML would be too large')
    return html
  } catch (cause) {
    // The parsers are recursive: deep nesting exceeds the stack.
    if (cause instanceof RangeError)
      throw new AllotError('invalid', 'Text: it is nested too deeply', { cause })
    throw cause
  }
})
