import { gemoji } from 'gemoji'
import {
  Marked,
  type RendererObject,
  type Token,
  type TokenizerAndRendererExtension,
  type Tokens,
} from 'marked'
import { createGfmFootnotes } from './footnotes.ts'
import {
  type Alert,
  alertClass,
  alertOf,
  alertTitle,
  createHeadingIds,
  escapeHtml,
  imageTags,
  type MarkdownInput,
  type References,
} from './html.ts'

/**
 * GitHub Flavored Markdown with footnotes, alerts, emoji, and references such as `@name` and `owner/name#7`.
 */
export const renderGfm = (input: MarkdownInput, references: References): string => {
  const footnotes = createGfmFootnotes()
  const marked = new Marked({ gfm: true, breaks: input.mode === 'comment', async: false })
  marked.use(footnotes.extension, { extensions: [REFERENCE_HTML] }, { renderer: rendererOf(references) })
  const tokens = marked.lexer(input.text)
  const decorator = new Decorator(references)
  for (const token of tokens) decorator.decorate(token, '')
  const html = marked.parser(tokens)
  return html + footnotes.html((body) => marked.parser(body))
}

/** Writes the tokens of `splitReferences`. */
const REFERENCE_HTML: TokenizerAndRendererExtension = { name: 'referenceHtml', renderer: ({ html }) => html }

const rendererOf = (references: References): RendererObject => {
  const headingId = createHeadingIds()
  return {
    html: ({ text }) => escapeRawText(text),
    br: () => '<br>\n',
    paragraph({ tokens }) {
      return `<p dir="auto">${this.parser.parseInline(tokens)}</p>\n`
    },
    heading({ tokens, depth, text }) {
      // From the last line of a heading of several lines, as in Forgejo.
      const id = escapeHtml(headingId(text.slice(text.lastIndexOf('\n') + 1)))
      return `<h${depth} id="${id}" dir="auto">${this.parser.parseInline(tokens)}</h${depth}>\n`
    },
    list({ ordered, start, items }) {
      const name = ordered ? 'ol' : 'ul'
      const startAttribute = ordered && start !== 1 ? ` start="${start}"` : ''
      const content = items.map((item) => this.listitem(item)).join('')
      return `<${name}${startAttribute} dir="auto">\n${content}</${name}>\n`
    },
    listitem({ task, tokens }) {
      return `<li${task ? ' class="task-list-item"' : ''}>${this.parser.parse(tokens)}</li>\n`
    },
    blockquote(quote) {
      const { alert } = quote as AlertQuote
      const content = this.parser.parse(quote.tokens)
      if (alert === undefined) return `<blockquote>\n${content}</blockquote>\n`
      return `<blockquote class="${alertClass(alert)}">\n${alertTitle(alert)}\n${content}</blockquote>\n`
    },
    image(image) {
      const alt = image.tokens ? this.parser.parseInline(image.tokens, this.parser.textRenderer) : image.text
      const src = references.resolve(image.href, 'image')
      const { isOutsideLinks = false } = image as MarkedImage
      const { opening, closing } = imageTags(src, image.title ?? '', !isOutsideLinks)
      return opening + escapeHtml(alt) + closing
    },
  }
}

/**
 * After these tags a browser reads everything as text ("Disallowed Raw HTML" of GFM). Escaping them keeps an
 * unquoted `<title>` from hiding the rest of the text. Scripts and styles are removed by the sanitizer.
 */
const escapeRawText = (html: string): string =>
  html.replace(/<(?=\/?(?:title|textarea|xmp|noembed|noframes|plaintext)\b)/gi, '&lt;')

/** Members that {@link Decorator} adds to tokens. */
type AlertQuote = Tokens.Blockquote & { alert?: Alert }
type MarkedImage = Token & { isOutsideLinks?: boolean }

/**
 * Adds to tokens, in place, what marked does not parse: references and emoji become HTML, block quotes become
 * alerts, and images outside links are marked. Texts in code, in links and in certain raw HTML elements are
 * not searched. Raw HTML is followed in document order, because an element may begin in one token and end in
 * another.
 */
class Decorator {
  readonly #references: References
  readonly #openElements = new Map<string, number>()

  constructor(references: References) {
    this.#references = references
  }

  /** @returns the tokens to put in place of the token */
  decorate(token: Token, before: string): Token | Token[] {
    if (token.type === 'html') countElements(token.raw, this.#openElements)
    if (token.type === 'image' && !this.#openElements.has('a')) (token as MarkedImage).isOutsideLinks = true
    if (token.type === 'blockquote') markAlert(token as AlertQuote)
    if (isPlainText(token))
      return this.#openElements.size > 0 ? token : splitReferences(token, before, this.#references)
    if (token.type !== 'link' && token.type !== 'image')
      for (const part of partsOf(token)) part.tokens = this.#decorateSiblings(part.tokens ?? [])
    return token
  }

  #decorateSiblings(siblings: readonly Token[]): Token[] {
    let before = ''
    return siblings.flatMap((token) => {
      const previous = before
      before = token.raw
      return this.decorate(token, previous)
    })
  }
}

/** The parts of a token that contain tokens: itself, the items of a list, the cells of a table. */
const partsOf = (token: Token): { tokens?: Token[] | undefined }[] => {
  if (token.type === 'list') return (token as Tokens.List).items
  if (token.type === 'table')
    return [...(token as Tokens.Table).header, ...(token as Tokens.Table).rows.flat()]
  return 'tokens' in token ? [token] : []
}

const isPlainText = (token: Token): token is Tokens.Text =>
  token.type === 'text' && (token as Tokens.Text).tokens === undefined

/** Removes the first line of a block quote that is an alert. */
const markAlert = (quote: AlertQuote): void => {
  const [paragraph] = quote.tokens
  const [first, second] = paragraph?.type === 'paragraph' ? (paragraph.tokens ?? []) : []
  if (first === undefined || !isPlainText(first)) return
  // The line ends with the text or a hard break; another token would continue it.
  const isWholeLine = second === undefined || second.type === 'br' || first.text.includes('\n')
  const found = isWholeLine ? alertOf(first.text) : undefined
  if (found === undefined) return
  quote.alert = found.alert
  const rest = (paragraph as Tokens.Paragraph).tokens.slice(1)
  const text = first.text.slice(found.length)
  if (text !== '') rest.unshift({ ...first, raw: text, text })
  else if (rest[0]?.type === 'br') rest.shift()
  if (rest.length === 0) quote.tokens.shift()
  else (paragraph as Tokens.Paragraph).tokens = rest
}

/** Raw HTML elements in which references are only text. */
const WITHOUT_REFERENCES = /^<(\/?)(a|code|pre|kbd|samp|tt|var)$/i

/** Updates the counts of open elements by the tags of raw HTML. */
const countElements = (html: string, openElements: Map<string, number>) => {
  for (const tag of html.match(/<\/?[a-z][^\s/>]*/gi) ?? []) {
    const [, slash, tagName] = WITHOUT_REFERENCES.exec(tag) ?? []
    const name = tagName?.toLowerCase()
    if (name === undefined) continue
    const count = (openElements.get(name) ?? 0) + (slash === '' ? 1 : -1)
    // An end tag without its start tag has no effect.
    if (count > 0) openElements.set(name, count)
    else openElements.delete(name)
  }
}

/**
 * `@name`, `#7`, `owner/name#7`, or `owner/name@` with the full id of a commit; not within a word, an address
 * or an entity.
 */
const REFERENCE =
  /(?<![\w/.@#&-])(?:@([A-Za-z0-9](?:[A-Za-z0-9._-]{0,38}[A-Za-z0-9])?)(?![A-Za-z0-9])|#(\d{1,15})(?![\w-])|([\w.-]{1,100})\/([\w.-]{1,100})(?:#(\d{1,15})|@([0-9a-f]{40}))(?![\w-]))/g

/** A token of HTML that replaces a part of a text. */
interface HtmlToken extends Tokens.Generic {
  type: 'referenceHtml'
  html: string
}

/** The end of a text after which no reference may follow. */
const CONTINUED = /[\w/.@#&-]$/

/**
 * Replaces the references and emoji in a text by HTML.
 * @param before source of what precedes the text
 */
const splitReferences = (token: Tokens.Text, before: string, references: References): Token[] =>
  split(token, REFERENCE, (match) =>
    match.index === 0 && CONTINUED.test(before) ? undefined : referenceHtml(match, references),
  ).flatMap((part) => (part.type === 'text' ? split(part as Tokens.Text, EMOJI, emojiHtml) : part))

const split = (
  token: Tokens.Text,
  pattern: RegExp,
  htmlOf: (match: RegExpExecArray) => string | undefined,
): Token[] => {
  const parts: Token[] = []
  let end = 0
  for (const match of token.text.matchAll(pattern)) {
    const html = htmlOf(match)
    if (html === undefined) continue
    const replacement: HtmlToken = { type: 'referenceHtml', raw: match[0], html }
    parts.push(partOf(token, end, match.index), replacement)
    end = match.index + match[0].length
  }
  return end === 0 ? [token] : [...parts, partOf(token, end)]
}

const partOf = (token: Tokens.Text, start: number, end?: number): Tokens.Text => {
  const text = token.text.slice(start, end)
  return { ...token, raw: text, text }
}

const referenceHtml = (match: RegExpExecArray, references: References): string | undefined => {
  const [raw, name, number, owner = '', repository = '', issue, commit] = match
  const link = (href: string | undefined, className?: string) =>
    href && `<a href="${escapeHtml(href)}"${className ? ` class="${className}"` : ''}>${escapeHtml(raw)}</a>`
  if (name !== undefined) return link(references.mention(name), 'mention')
  if (number !== undefined) return link(references.issue(number), 'ref-issue')
  if (issue !== undefined)
    return link(references.inRepository(owner, repository, `issues/${issue}`), 'ref-issue')
  return link(references.inRepository(owner, repository, `commit/${commit}`))
}

type Emoji = (typeof gemoji)[number]

const byName = new Map(gemoji.flatMap((emoji) => emoji.names.map((name): [string, Emoji] => [name, emoji])))
const byCharacter = new Map(gemoji.map((emoji): [string, Emoji] => [emoji.emoji, emoji]))

/** `:smile:`, or a character: pictographs, also joined or with a skin tone, and flags. */
const EMOJI =
  /(?<![\w:]):([\w+-]{1,60}):|\p{Regional_Indicator}{2}|\p{Extended_Pictographic}[\ufe0f\u{1f3fb}-\u{1f3ff}]*(?:\u200d\p{Extended_Pictographic}[\ufe0f\u{1f3fb}-\u{1f3ff}]*)*/gu

/** Undefined for an unknown name or character. */
const emojiHtml = ([match, name]: RegExpExecArray): string | undefined => {
  const emoji = name === undefined ? byCharacter.get(match) : byName.get(name)
  return (
    emoji &&
    `<span class="emoji" aria-label="${escapeHtml(emoji.description)}" data-alias="${escapeHtml(emoji.names[0]!)}">${emoji.emoji}</span>`
  )
}
