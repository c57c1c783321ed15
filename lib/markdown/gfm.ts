import {
  Marked,
  type MarkedExtension,
  type RendererObject,
  type Token,
  type TokenizerAndRendererExtension,
  type Tokens,
} from 'marked'
import { createGfmFootnotes } from './footnotes.ts'
import {
  type Alert,
  alertOf,
  classOfAlert,
  createHeadingIds,
  escaped,
  imageTags,
  titleOfAlert,
} from './html.ts'
import type { MarkdownInput, References } from './links.ts'
import { cutReferences } from './references.ts'

/** GitHub Flavored Markdown, with footnotes, alerts and emoji; `@names` and `owner/name#7` as links. */
export const renderGfm = (input: MarkdownInput, references: References): string => {
  const footnotes = createGfmFootnotes()
  const marked = new Marked({ gfm: true, breaks: input.mode === 'comment', async: false })
  marked.use(footnotes.extension, PIECES, { renderer: rendererOf(references) })
  const tokens = marked.lexer(input.text)
  decorate(tokens, references)
  const html = marked.parser(tokens)
  return html + footnotes.html((body) => marked.parser(body))
}

/** How the pieces that `decorate` cuts out of texts are written. */
const piece: TokenizerAndRendererExtension = { name: 'piece', renderer: ({ html }) => html }
const PIECES: MarkedExtension = { extensions: [piece] }

const rendererOf = (references: References): RendererObject => {
  const idOf = createHeadingIds()
  return {
    html: ({ text }) => shownAsText(text),
    br: () => '<br>\n',
    paragraph({ tokens }) {
      return `<p dir="auto">${this.parser.parseInline(tokens)}</p>\n`
    },
    heading({ tokens, depth, text }) {
      // Of a heading of several lines the last one, as in Forgejo.
      const id = escaped(idOf(text.slice(text.lastIndexOf('\n') + 1)))
      return `<h${depth} id="${id}" dir="auto">${this.parser.parseInline(tokens)}</h${depth}>\n`
    },
    list({ ordered, start, items }) {
      const name = ordered ? 'ol' : 'ul'
      const from = ordered && start !== 1 ? ` start="${start}"` : ''
      return `<${name}${from} dir="auto">\n${items.map((item) => this.listitem(item)).join('')}</${name}>\n`
    },
    listitem({ task, tokens }) {
      return `<li${task ? ' class="task-list-item"' : ''}>${this.parser.parse(tokens)}</li>\n`
    },
    blockquote(quote) {
      const alert = (quote as { alert?: Alert }).alert
      const [opening, title] =
        alert === undefined ? ['', ''] : [` class="${classOfAlert(alert)}"`, `${titleOfAlert(alert)}\n`]
      return `<blockquote${opening}>\n${title}${this.parser.parse(quote.tokens)}</blockquote>\n`
    },
    image(image) {
      const alt = image.tokens ? this.parser.parseInline(image.tokens, this.parser.textRenderer) : image.text
      const isInLink = (image as { alone?: true }).alone !== true
      const src = references.resolve(image.href, 'image')
      const { opening, closing } = imageTags(src, image.title ?? '', isInLink)
      return opening + escaped(alt) + closing
    },
  }
}

/**
 * "Disallowed Raw HTML": a tag after which a browser reads everything as text is shown as it was written, so that
 * whoever forgets to quote `<title>` does not lose the rest. Scripts and styles are left for the sanitiser to take out.
 */
const shownAsText = (html: string): string =>
  html.replace(/<(?=\/?(?:title|textarea|xmp|noembed|noframes|plaintext)\b)/gi, '&lt;')

/** Elements of raw HTML in which a reference is only text. */
const QUIET = /^<(\/?)(a|code|pre|kbd|samp|tt|var)$/i

/**
 * Adds to the tokens of a text, in place, what GFM's grammar does not have: references and emoji become pieces of HTML, block
 * quotes become alerts, and images outside links are marked. Code, links and the raw HTML elements that stand for them
 * are passed over; raw HTML is followed in the order of the document, for it may be opened in one token and closed in another.
 */
export const decorate = (tokens: Token[], references: References): void => {
  const open = new Map<string, number>()

  const visit = (siblings: Token[]): Token[] => {
    let before = ''
    return siblings.flatMap((token) => {
      const previous = before
      before = token.raw
      return place(token, previous)
    })
  }

  const place = (token: Token, before: string): Token | Token[] => {
    if (token.type === 'html') follow(token.raw, open)
    if (token.type === 'image' && !open.has('a')) Object.assign(token, { alone: true })
    if (token.type === 'blockquote') markAlert(token as Tokens.Blockquote)
    if (isPlainText(token)) return open.size > 0 ? token : cutReferences(token, before, references)
    if (token.type !== 'link' && token.type !== 'image')
      for (const part of partsOf(token)) part.tokens = visit(part.tokens ?? [])
    return token
  }

  for (const token of tokens) place(token, '')
}

interface Part {
  tokens?: Token[] | undefined
}

/** What of a token holds other tokens: itself, the items of a list, the cells of a table. */
const partsOf = (token: Token): Part[] => {
  if (token.type === 'list') return (token as Tokens.List).items
  if (token.type === 'table')
    return [...(token as Tokens.Table).header, ...(token as Tokens.Table).rows.flat()]
  return 'tokens' in token ? [token] : []
}

const isPlainText = (token: Token): token is Tokens.Text =>
  token.type === 'text' && (token as Tokens.Text).tokens === undefined

/** Takes the word that makes a block quote an alert off its first line. */
const markAlert = (quote: Tokens.Blockquote & { alert?: Alert }): void => {
  const [paragraph] = quote.tokens
  const [first, second] = paragraph?.type === 'paragraph' ? (paragraph.tokens ?? []) : []
  if (first === undefined || !isPlainText(first)) return
  // A hard break ends the line, other tokens go on with it.
  const found =
    second === undefined || second.type === 'br' || first.text.includes('\n')
      ? alertOf(first.text)
      : undefined
  if (found === undefined) return
  quote.alert = found.alert
  const rest = (paragraph as Tokens.Paragraph).tokens.slice(1)
  const text = first.text.slice(found.length)
  if (text !== '') rest.unshift({ ...first, raw: text, text })
  else if (rest[0]?.type === 'br') rest.shift()
  if (rest.length === 0) quote.tokens.shift()
  else (paragraph as Tokens.Paragraph).tokens = rest
}

/** Counts the quiet elements that a piece of raw HTML opens and closes. */
const follow = (html: string, open: Map<string, number>) => {
  for (const tag of html.match(/<\/?[a-z][^\s/>]*/gi) ?? []) {
    const [, closing, given] = QUIET.exec(tag) ?? []
    const name = given?.toLowerCase()
    if (name === undefined) continue
    const count = (open.get(name) ?? 0) + (closing === '' ? 1 : -1)
    // A closing tag without its opening one changes nothing.
    if (count > 0) open.set(name, count)
    else open.delete(name)
  }
}
