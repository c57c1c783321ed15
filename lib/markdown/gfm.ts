import { Marked, type Token, type TokenizerAndRendererExtension, type Tokens } from 'marked'
import type { MarkdownInput } from './input.ts'
import { type Links, linksOf } from './links.ts'

/** GitHub Flavored Markdown: tables, task lists, strikethrough and autolinks, with the links of the context. */
export const renderGfm = (input: MarkdownInput): string => {
  const links = linksOf(input)
  const marked = new Marked({
    gfm: true,
    breaks: input.mode === 'comment',
    async: false,
    walkTokens: (token) => resolveLinks(token, links),
  })
  marked.use({ extensions: [mentions(links), issues(links)] })
  return marked.parse(input.text) as string
}

const resolveLinks = (token: Token, links: Links) => {
  if (token.type === 'link' || token.type === 'image')
    token.href = links.resolve((token as Tokens.Link | Tokens.Image).href, token.type)
}

/** A reference in running text: `@name` or `#7`, not in the middle of a word, in code or within a link. */
const reference = (
  name: string,
  sign: string,
  pattern: RegExp,
  className: string,
  target: (word: string) => string | undefined,
): TokenizerAndRendererExtension => ({
  name,
  level: 'inline',
  start: (src) => src.indexOf(sign),
  tokenizer(src, tokens) {
    const [raw, word] = pattern.exec(src) ?? []
    if (raw === undefined || word === undefined || this.lexer.state.inLink) return undefined
    const before = (tokens as Token[]).at(-1)?.raw ?? ''
    if (/[\w/.@#&-]$/.test(before)) return undefined
    const href = target(word)
    return href === undefined ? undefined : { type: name, raw, href }
  },
  renderer: ({ raw, href }) => `<a href="${escaped(String(href))}" class="${className}">${escaped(raw)}</a>`,
})

const mentions = (links: Links) =>
  reference('mention', '@', /^@([A-Za-z0-9](?:[A-Za-z0-9._-]{0,38}[A-Za-z0-9])?)/, 'mention', links.mention)

const issues = (links: Links) => reference('issue', '#', /^#(\d{1,15})(?![\w-])/, 'ref-issue', links.issue)

const escaped = (text: string): string =>
  text.replace(/&/g, '&amp;').replace(/</g, '&lt;').replace(/"/g, '&quot;')
