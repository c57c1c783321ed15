import type { MarkedExtension, TokenizerAndRendererExtension, Tokens } from 'marked'
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
