/**
 * Footnotes, which neither of the parsers supports: `[^1]` links to the definition `[^1]: …`, listed at the
 * end, and back.
 */
import { Node, type Parser } from 'commonmark'
import type { MarkedExtension, TokenizerAndRendererExtension, Tokens } from 'marked'
import { ID_PREFIX } from './html.ts'

interface Footnote {
  /** Number of the footnote from 1, in the order of the first references; 0 before its first one. */
  number: number
  references: number
}

const LABEL = '\\[\\^([^\\]\\s^]{1,100})\\]'
/** Matches at the start of a line. */
const DEFINITION = new RegExp(`^${LABEL}:[ \\t]*`)
const REFERENCE = new RegExp(LABEL, 'g')
const FIRST_REFERENCE = new RegExp(`^${LABEL}`)

/** Labels are case-insensitive, as those of links are. */
const keyOf = (label: string): string => label.toLowerCase()

/** The colon keeps these ids distinct from those of headings. */
const footnoteId = ({ number }: Footnote): string => `${ID_PREFIX}fn:${number}`

const referenceId = ({ number }: Footnote, reference: number): string =>
  `${ID_PREFIX}fnref:${number}${reference === 1 ? '' : `:${reference}`}`

/** Appends a footnote to `listed` at its first reference, which numbers it. */
const referenceHtml = <N extends Footnote>(footnote: N, listed: N[]): string => {
  if (footnote.number === 0) footnote.number = listed.push(footnote)
  const id = referenceId(footnote, ++footnote.references)
  return `<sup id="${id}"><a href="#${footnoteId(footnote)}" rel="nofollow">${footnote.number}</a></sup>`
}

/** Links from a footnote to each of its references. */
const backLinks = (footnote: Footnote): string =>
  Array.from(
    { length: footnote.references },
    (_, index) => ` <a href="#${referenceId(footnote, index + 1)}" rel="nofollow">↩︎</a>`,
  ).join('')

const LIST = { opening: '<div>\n<hr />\n<ol dir="auto">', closing: '</ol>\n</div>' }

interface GfmFootnote extends Footnote {
  /** The content of the definition. */
  tokens: Tokens.Generic[]
}

/** Footnotes of one text for marked. */
export const createGfmFootnotes = () => {
  const footnotes = new Map<string, GfmFootnote>()
  const listed: GfmFootnote[] = []

  const definition: TokenizerAndRendererExtension = {
    name: 'footnoteDefinition',
    level: 'block',
    tokenizer(source) {
      const [marker, label] = DEFINITION.exec(source) ?? []
      if (marker === undefined) return undefined
      const raw = source.slice(0, endOfDefinition(source))
      const body = raw.slice(marker.length).replace(/^(?: {4}|\t)/gm, '')
      const tokens = this.lexer.blockTokens(body, []) as Tokens.Generic[]
      const key = keyOf(label!)
      if (!footnotes.has(key)) footnotes.set(key, { tokens, number: 0, references: 0 })
      return { type: 'footnoteDefinition', raw, tokens }
    },
    renderer: () => '',
  }

  const reference: TokenizerAndRendererExtension = {
    name: 'footnoteReference',
    level: 'inline',
    tokenizer(source) {
      const [raw, label] = FIRST_REFERENCE.exec(source) ?? []
      const footnote = label && footnotes.get(keyOf(label))
      return footnote ? { type: 'footnoteReference', raw: raw!, footnote } : undefined
    },
    renderer: ({ footnote }) => referenceHtml(footnote as GfmFootnote, listed),
  }

  const extension: MarkedExtension = { extensions: [definition, reference] }
  return {
    extension,
    /** The list at the end. It grows while it is rendered when a footnote refers to others. */
    html(render: (tokens: Tokens.Generic[]) => string): string {
      let items = ''
      for (const footnote of listed) items += itemHtml(footnote, render(footnote.tokens))
      return items === '' ? '' : `${LIST.opening}\n${items}${LIST.closing}\n`
    },
  }
}

/** A definition ends before the next one, and before a line after a blank line that is not indented. */
const endOfDefinition = (source: string): number => {
  let index = 0
  let isAfterBlank = false
  while (index < source.length) {
    const newline = source.indexOf('\n', index)
    const end = newline === -1 ? source.length : newline + 1
    const line = source.slice(index, end)
    const isBlank = line.trim() === ''
    const isEnd = DEFINITION.test(line) || (isAfterBlank && !/^(?: {4}|\t)/.test(line))
    if (index > 0 && !isBlank && isEnd) break
    isAfterBlank = isBlank
    index = end
  }
  return index
}

const itemHtml = (footnote: Footnote, body: string): string => {
  const back = backLinks(footnote)
  const content = body.endsWith('</p>\n') ? `${body.slice(0, -5)}${back}</p>\n` : `${body}${back}\n`
  return `<li id="${footnoteId(footnote)}">\n${content}</li>\n`
}

interface PlainFootnote extends Footnote {
  paragraph: Node
}

/** Changes a parser of commonmark: it must not read the definition of a footnote as that of a link. */
export const withFootnotes = (parser: Parser): Parser => {
  const { inlineParser } = parser as unknown as {
    inlineParser: { parseReference(text: string, references: object): number }
  }
  const parseReference = inlineParser.parseReference.bind(inlineParser)
  inlineParser.parseReference = (text, references) =>
    text.startsWith('[^') ? 0 : parseReference(text, references)
  return parser
}

/** Replaces references in a tree of commonmark by links, and moves the definitions into a list at the end. */
export const placeFootnotes = (tree: Node): void => {
  // A definition is recognized in its merged text.
  textsOf(tree)
  const footnotes = new Map<string, PlainFootnote>()
  for (let block = tree.firstChild; block !== null; ) {
    const { next } = block
    if (block.type === 'paragraph') takeDefinitions(block, footnotes)
    block = next
  }
  if (footnotes.size === 0) return
  const listed: PlainFootnote[] = []
  for (const text of textsOf(tree)) placeReferences(text, footnotes, listed)
  const list = customNode('custom_block', LIST.opening, LIST.closing)
  // The list grows meanwhile when a footnote refers to others.
  for (const footnote of listed) {
    for (const text of textsOf(footnote.paragraph)) placeReferences(text, footnotes, listed)
    const item = customNode('custom_block', `<li id="${footnoteId(footnote)}">`, '</li>')
    item.appendChild(footnote.paragraph)
    list.appendChild(item)
  }
  for (const footnote of listed)
    footnote.paragraph.appendChild(customNode('custom_inline', backLinks(footnote), ''))
  if (listed.length > 0) tree.appendChild(list)
}

const customNode = (type: 'custom_block' | 'custom_inline', onEnter: string, onExit: string): Node =>
  Object.assign(new Node(type), { onEnter, onExit })

/** The texts outside links and images, in order; merges adjacent ones. */
const textsOf = (tree: Node): Node[] => {
  const texts: Node[] = []
  let depth = 0
  const walker = tree.walker()
  for (let step = walker.next(); step !== null; step = walker.next()) {
    const { entering, node } = step
    if (node.type === 'link' || node.type === 'image') depth += entering ? 1 : -1
    else if (node.type === 'text' && depth === 0 && node.prev?.type !== 'text') texts.push(node)
  }
  for (const text of texts) mergeFollowing(text)
  return texts
}

const mergeFollowing = (text: Node): void => {
  const parts: (string | null)[] = [text.literal]
  while (text.next?.type === 'text') {
    parts.push(text.next.literal)
    text.next.unlink()
  }
  if (parts.length > 1) text.literal = parts.join('')
}

/** Removes the definitions from a paragraph that begins with one. Each line may begin another one. */
const takeDefinitions = (paragraph: Node, footnotes: Map<string, PlainFootnote>): void => {
  let footnote: PlainFootnote | undefined
  let isLineStart = true
  for (let node = paragraph.firstChild; node !== null; ) {
    const { next } = node
    const [marker, label] = (isLineStart && node.type === 'text' && DEFINITION.exec(node.literal ?? '')) || []
    if (marker !== undefined) {
      // The line break before this definition.
      footnote?.paragraph.lastChild?.unlink()
      footnote = { paragraph: new Node('paragraph'), number: 0, references: 0 }
      if (!footnotes.has(keyOf(label!))) footnotes.set(keyOf(label!), footnote)
      node.literal = node.literal!.slice(marker.length)
    }
    if (footnote === undefined) return
    isLineStart = node.type === 'softbreak' || node.type === 'linebreak'
    footnote.paragraph.appendChild(node)
    node = next
  }
  paragraph.unlink()
}

const placeReferences = (
  text: Node,
  footnotes: Map<string, PlainFootnote>,
  listed: PlainFootnote[],
): void => {
  const literal = text.literal ?? ''
  let end = 0
  for (const match of literal.matchAll(REFERENCE)) {
    const footnote = footnotes.get(keyOf(match[1]!))
    if (footnote === undefined) continue
    text.insertBefore(textNode(literal.slice(end, match.index)))
    text.insertBefore(customNode('custom_inline', referenceHtml(footnote, listed), ''))
    end = match.index + match[0].length
  }
  if (end > 0) text.literal = literal.slice(end)
}

const textNode = (literal: string): Node => Object.assign(new Node('text'), { literal })
