import { Node, type Parser } from 'commonmark'
import {
  backHtml,
  DEFINITION,
  keyOf,
  LIST,
  type Note,
  noteId,
  REFERENCE,
  referenceHtml,
} from './footnotes.ts'

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
