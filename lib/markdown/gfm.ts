import { Marked, type TokenizerAndRendererExtension } from 'marked'
import { escaped } from './escaped.ts'
import type { MarkdownInput } from './input.ts'
import type { Links } from './links.ts'
import { linkReferences } from './references.ts'

/** GitHub Flavored Markdown: tables, task lists, strikethrough and autolinks; `@names` and `#numbers` as links. */
export const renderGfm = (input: MarkdownInput, links: Links): string => {
  const marked = new Marked({ gfm: true, breaks: input.mode === 'comment', async: false })
  marked.use({ extensions: [reference], renderer: { html: ({ text }) => shownAsText(text) } })
  const tokens = marked.lexer(input.text)
  linkReferences(tokens, links)
  return marked.parser(tokens)
}

/** How a link made by `linkReferences` is written. */
const reference: TokenizerAndRendererExtension = {
  name: 'reference',
  renderer: ({ raw, href, kind }) => `<a href="${escaped(String(href))}" class="${kind}">${escaped(raw)}</a>`,
}

/**
 * "Disallowed Raw HTML": a tag after which a browser reads everything as text is shown as it was written, so that
 * whoever forgets to quote `<title>` does not lose the rest. Scripts and styles are left for the sanitiser to take out.
 */
const shownAsText = (html: string): string =>
  html.replace(/<(?=\/?(?:title|textarea|xmp|noembed|noframes|plaintext)\b)/gi, '&lt;')
