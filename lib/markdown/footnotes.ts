import { Node, type Parser } from 'commonmark'
import type { MarkedExtension, TokenizerAndRendererExtension, Tokens } from 'marked'
import { ID_PREFIX } from './html.ts'

/** A footnote while its text is rendered. */
export interface Note {
  /** By the first reference, from 1; 0 while there is none. */
  number: number
  references: number
}

/** What a footnote may be called. */
const LABEL = '\\[\\^([^\\]\\s^]{1,100})\\]'
/** At the start of a line. */
export const DEFINITION = new RegExp(`^${LABEL}:[ \\t]*`)
export const REFERENCE = new RegExp(LABEL, 'g')

/** Labels are compared without case, as those of links are. */
export const keyOf = (label: string): string => label.toLowerCase()

/** A colon, which no heading's id has, keeps them apart. */
export const noteId = ({ number }: Note): string => `${ID_PREFIX}fn:${number}`

const referenceId = ({ number }: Note, reference: number): string =>
  `${ID_PREFIX}fnref:${number}${reference === 1 ? '' : `:${reference}`}`

/** Numbers a note that is referred to for the first time, behind the `listed` ones. */
export const referenceHtml = <N extends Note>(note: N, listed: N[]): string => {
  if (note.number === 0) note.number = listed.push(note)
  const id = referenceId(note, ++note.references)
  return `<sup id="${id}"><a href="#${noteId(note)}" rel="nofollow">${note.number}</a></sup>`
}

/** From a note to each of its references. */
export const backHtml = (note: Note): string =>
  Array.from(
    { length: note.references },
    (_, index) => ` <a href="#${referenceId(note, index + 1)}" rel="nofollow">↩︎</a>`,
  ).join('')

export const LIST = { opening: '<div>\n<hr />\n<ol dir="auto">', closing: '</ol>\n</div>' }

interface PlainNote extends Note {
  paragraph: Node
}

/** Keeps a parser from reading the definition of a footnote as one of a link. */
export const withFootnotes = (parser: Parser): Parser => {
  const { inlineParser } = parser as unknown as {
    inlineParser: { parseReference(text: string, references: object): number }
  }
  const parseReference = inlineParser.parseReference.bind(inlineParser)
  inlineParser.parseReference = (text, references) =>
    text.startsWith('[^') ? 0 : parseReference(text, references)
  return parser
}

/** Turns the references of a text into links to its footnotes, each of which is a paragraph or a line of one. */
export const placeFootnotes = (tree: Node): void => {
  const texts = textsOf(tree)
  const notes = new Map<string, PlainNote>()
  for (let block = tree.firstChild; block !== null; ) {
    const { next } = block
    if (block.type === 'paragraph') takeDefinitions(block, notes)
    block = next
  }
  if (notes.size === 0) return
  const listed: PlainNote[] = []
  for (const text of texts) if (isBelow(text, tree)) placeReferences(text, notes, listed)
  const list = custom('custom_block', LIST.opening, LIST.closing)
  // A note may refer to others, so the list grows meanwhile.
  for (const note of listed) {
    for (const text of textsOf(note.paragraph)) placeReferences(text, notes, listed)
    const item = custom('custom_block', `<li id="${noteId(note)}">`, '</li>')
    item.appendChild(note.paragraph)
    list.appendChild(item)
  }
  for (const note of listed) note.paragraph.appendChild(custom('custom_inline', backHtml(note), ''))
  if (listed.length > 0) tree.appendChild(list)
}

const custom = (type: 'custom_block' | 'custom_inline', onEnter: string, onExit: string): Node =>
  Object.assign(new Node(type), { onEnter, onExit })

/** The texts outside links and images, in order, after joining those that stand side by side. */
const textsOf = (tree: Node): Node[] => {
  const texts: Node[] = []
  let quiet = 0
  const walker = tree.walker()
  for (let step = walker.next(); step !== null; step = walker.next()) {
    const { entering, node } = step
    if (node.type === 'link' || node.type === 'image') quiet += entering ? 1 : -1
    else if (node.type === 'text' && quiet === 0 && node.prev?.type !== 'text') texts.push(node)
  }
  for (const text of texts) join(text)
  return texts
}

const join = (text: Node): void => {
  const parts: (string | null)[] = [text.literal]
  while (text.next?.type === 'text') {
    parts.push(text.next.literal)
    text.next.unlink()
  }
  if (parts.length > 1) text.literal = parts.join('')
}

/** Moves the definitions out of a paragraph that begins with one. */
const takeDefinitions = (paragraph: Node, notes: Map<string, PlainNote>): void => {
  let note: PlainNote | undefined
  let isLineStart = true
  for (let node = paragraph.firstChild; node !== null; ) {
    const { next } = node
    const [marker, label] = (isLineStart && node.type === 'text' && DEFINITION.exec(node.literal ?? '')) || []
    if (marker !== undefined) {
      if (note?.paragraph.lastChild != null) note.paragraph.lastChild.unlink()
      note = { paragraph: new Node('paragraph'), number: 0, references: 0 }
      if (!notes.has(keyOf(label!))) notes.set(keyOf(label!), note)
      node.literal = node.literal!.slice(marker.length)
    }
    if (note === undefined) return
    isLineStart = node.type === 'softbreak' || node.type === 'linebreak'
    note.paragraph.appendChild(node)
    node = next
  }
  paragraph.unlink()
}

const isBelow = (node: Node, tree: Node): boolean => {
  let top: Node = node
  while (top.parent !== null) top = top.parent
  return top === tree
}

const placeReferences = (text: Node, notes: Map<string, PlainNote>, listed: PlainNote[]): void => {
  const literal = text.literal ?? ''
  let end = 0
  for (const found of literal.matchAll(REFERENCE)) {
    const note = notes.get(keyOf(found[1]!))
    if (note === undefined) continue
    text.insertBefore(textNode(literal.slice(end, found.index)))
    text.insertBefore(custom('custom_inline', referenceHtml(note, listed), ''))
    end = found.index + found[0].length
  }
  if (end > 0) text.literal = literal.slice(end)
}

const textNode = (literal: string): Node => Object.assign(new Node('text'), { literal })

interface GfmNote extends Note {
  /** What the definition holds. */
  tokens: Tokens.Generic[]
}

const FIRST_REFERENCE = new RegExp(`^${REFERENCE.source}`)

/** The end of a definition: a line that begins another one, or one after a blank line that is not indented. */
const endOfBody = (source: string): number => {
  let index = 0
  let wasBlank = false
  while (index < source.length) {
    const newline = source.indexOf('\n', index)
    const end = newline === -1 ? source.length : newline + 1
    const line = source.slice(index, end)
    const isBlank = line.trim() === ''
    if (index > 0 && !isBlank && (DEFINITION.test(line) || (wasBlank && !/^(?: {4}|\t)/.test(line)))) break
    wasBlank = isBlank
    index = end
  }
  return index
}

/** Footnotes of one text: `[^1]` leads to what `[^1]: …` says, which is listed at the end, and back. */
export const createGfmFootnotes = () => {
  const notes = new Map<string, GfmNote>()
  /** In the order of their first references. */
  const listed: GfmNote[] = []

  const definition: TokenizerAndRendererExtension = {
    name: 'footnoteDefinition',
    level: 'block',
    tokenizer(source) {
      const [marker, label] = DEFINITION.exec(source) ?? []
      if (marker === undefined) return undefined
      const raw = source.slice(0, endOfBody(source))
      const body = raw.slice(marker.length).replace(/^(?: {4}|\t)/gm, '')
      const tokens = this.lexer.blockTokens(body, []) as Tokens.Generic[]
      const key = keyOf(label!)
      if (!notes.has(key)) notes.set(key, { tokens, number: 0, references: 0 })
      return { type: 'footnoteDefinition', raw, tokens }
    },
    renderer: () => '',
  }

  const reference: TokenizerAndRendererExtension = {
    name: 'footnoteReference',
    level: 'inline',
    tokenizer(source) {
      const [raw, label] = FIRST_REFERENCE.exec(source) ?? []
      const note = label && notes.get(keyOf(label))
      return note ? { type: 'footnoteReference', raw: raw!, note } : undefined
    },
    renderer: ({ note }) => referenceHtml(note as GfmNote, listed),
  }

  const extension: MarkedExtension = { extensions: [definition, reference] }
  return {
    extension,
    /** The list at the end. A note may refer to others, so it grows while it is rendered. */
    html(render: (tokens: Tokens.Generic[]) => string): string {
      let items = ''
      for (const note of listed) items += itemHtml(note, render(note.tokens))
      return items === '' ? '' : `${LIST.opening}\n${items}${LIST.closing}\n`
    },
  }
}

const itemHtml = (note: Note, body: string): string => {
  const back = backHtml(note)
  const inside = body.endsWith('</p>\n') ? `${body.slice(0, -5)}${back}</p>\n` : `${body}${back}\n`
  return `<li id="${noteId(note)}">\n${inside}</li>\n`
}
