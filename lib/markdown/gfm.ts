import { Marked, type TokenizerAndRendererExtension } from 'marked'
import type { MarkdownInput } from './input.ts'
import type { Links } from './links.ts'
import { linkReferences } from './references.ts'

/** GitHub Flavored Markdown: tables, task lists, strikethrough and autolinks; `@names` and `#numbers` as links. */
export const renderGfm = (input: MarkdownInput, links: Links): string => {
  const marked = new Marked({ gfm: true, breaks: input.mode === 'comment', async: false })
  marked.use({ extensions: [reference] })
  const tokens = marked.lexer(input.text)
  linkReferences(tokens, links)
  return marked.parser(tokens)
}

/** How a link made by `linkReferences` is written. */
const reference: TokenizerAndRendererExtension = {
  name: 'reference',
  renderer: ({ raw, href, kind }) => `<a href="${escaped(String(href))}" class="${kind}">${escaped(raw)}</a>`,
}

const escaped = (text: string): string =>
  text.replace(/&/g, '&amp;').replace(/</g, '&lt;').replace(/"/g, '&quot;')
