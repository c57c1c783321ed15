import type { MarkedExtension, TokenizerAndRendererExtension, Tokens } from 'marked'
import { ID_PREFIX } from './ids.ts'

interface Note {
  /** What the definition holds. */
  tokens: Tokens.Generic[]
  /** By the first reference, from 1; 0 while there is none. */
  number: number
  references: number
}

/** A colon, which no heading's id has, keeps them apart. */
const noteId = ({ number }: Note) => `${ID_PREFIX}fn:${number}`
const referenceId = ({ number }: Note, reference: number) =>
  `${ID_PREFIX}fnref:${number}${reference === 1 ? '' : `:${reference}`}`

const DEFINITION = /^\[\^([^\]\s^]{1,100})\]:[ \t]*/
const REFERENCE = /^\[\^([^\]\s^]{1,100})\]/

/** The end of a definition: a line that begins another one, or one after a blank line that is not indented. */
const endOfBody = (source: string): number => {
  let at = 0
  let wasBlank = false
  while (at < source.length) {
    const newline = source.indexOf('\n', at)
    const end = newline === -1 ? source.length : newline + 1
    const line = source.slice(at, end)
    const isBlank = line.trim() === ''
    if (at > 0 && !isBlank && (DEFINITION.test(line) || (wasBlank && !/^(?: {4}|\t)/.test(line)))) break
    wasBlank = isBlank
    at = end
  }
  return at
}

/** Footnotes of one text: `[^1]` leads to what `[^1]: …` says, which is listed at the end, and back. */
export const createFootnotes = () => {
  const notes = new Map<string, Note>()
  /** In the order of their first references. */
  const listed: Note[] = []

  const definition: TokenizerAndRendererExtension = {
    name: 'footnoteDefinition',
    level: 'block',
    tokenizer(source) {
      const [marker, label] = DEFINITION.exec(source) ?? []
      if (marker === undefined) return undefined
      const length = endOfBody(source)
      const raw = source.slice(0, length)
      const body = raw.slice(marker.length).replace(/^(?: {4}|\t)/gm, '')
      const tokens = this.lexer.blockTokens(body, []) as Tokens.Generic[]
      const key = label!.toLowerCase()
      if (!notes.has(key)) notes.set(key, { tokens, number: 0, references: 0 })
      return { type: 'footnoteDefinition', raw, tokens }
    },
    renderer: () => '',
  }

  const reference: TokenizerAndRendererExtension = {
    name: 'footnoteReference',
    level: 'inline',
    tokenizer(source) {
      const [raw, label] = REFERENCE.exec(source) ?? []
      const note = label && notes.get(label.toLowerCase())
      return note ? { type: 'footnoteReference', raw: raw!, note } : undefined
    },
    renderer({ note }) {
      if (note.number === 0) note.number = listed.push(note)
      const id = referenceId(note, ++note.references)
      return `<sup id="${id}"><a href="#${noteId(note)}">${note.number}</a></sup>`
    },
  }

  const extension: MarkedExtension = { extensions: [definition, reference] }
  return {
    extension,
    /** The list at the end. A note may refer to others, so it grows while it is rendered. */
    html(render: (tokens: Tokens.Generic[]) => string): string {
      let items = ''
      for (const note of listed) items += itemHtml(note, () => render(note.tokens))
      return items === '' ? '' : `<div>\n<hr>\n<ol dir="auto">\n${items}</ol>\n</div>\n`
    },
  }
}

const itemHtml = (note: Note, render: () => string): string => {
  const body = render()
  let back = ''
  for (let at = 1; at <= note.references; at++) back += ` <a href="#${referenceId(note, at)}">↩︎</a>`
  const inside = body.endsWith('</p>\n') ? `${body.slice(0, -5)}${back}</p>\n` : `${body}${back}\n`
  return `<li id="${noteId(note)}">\n${inside}</li>\n`
}
