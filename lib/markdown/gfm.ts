import { Marked, type MarkedExtension, type RendererObject, type TokenizerAndRendererExtension } from 'marked'
import { type Alert, classOfAlert, titleOfAlert } from './alerts.ts'
import { decorate } from './decorate.ts'
import { escaped } from './html.ts'
import { createGfmFootnotes } from './gfm-footnotes.ts'
import { createHeadingIds } from './ids.ts'
import { imageTags } from './images.ts'
import type { MarkdownInput } from './input.ts'
import type { References } from './links.ts'

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
