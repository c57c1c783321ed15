/**
 * Footnotes, which marked does not support: `[^1]` links to the definition `[^1]: …`, listed at the end, and
 * back. CommonMark has none.
 */
import type { MarkedExtension, TokenizerAndRendererExtension, Tokens } from 'marked'
import { ID_PREFIX } from './html.ts'

interface Footnote {
  /** Number of the footnote from 1, in the order of the first references; 0 before its first one. */
  number: number
  references: number
  /** The content of the definition. */
  readonly tokens: Tokens.Generic[]
}

const LABEL = '\\[\\^([^\\]\\s^]{1,100})\\]'
/** Matches at the start of a line. */
const DEFINITION = new RegExp(`^${LABEL}:[ \\t]*`)
const REFERENCE = new RegExp(`^${LABEL}`)

/** Labels are case-insensitive, as those of links are. */
const keyOf = (label: string): string => label.toLowerCase()

/** The colon keeps these ids distinct from those of headings. */
const footnoteId = ({ number }: Footnote): string => `${ID_PREFIX}fn:${number}`

const referenceId = ({ number }: Footnote, reference: number): string =>
  `${ID_PREFIX}fnref:${number}${reference === 1 ? '' : `:${reference}`}`

/** Appends a footnote to `listed` at its first reference, which numbers it. */
const referenceHtml = (footnote: Footnote, listed: Footnote[]): string => {
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

/** Footnotes of one text for marked. */
export const createGfmFootnotes = () => {
  const footnotes = new Map<string, Footnote>()
  const listed: Footnote[] = []

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
      const [raw, label] = REFERENCE.exec(source) ?? []
      const footnote = label && footnotes.get(keyOf(label))
      return footnote ? { type: 'footnoteReference', raw: raw!, footnote } : undefined
    },
    renderer: ({ footnote }) => referenceHtml(footnote as Footnote, listed),
  }

  const extension: MarkedExtension = { extensions: [definition, reference] }
  return {
    extension,
    /** The list at the end. It grows while it is rendered when a footnote refers to others. */
    html(render: (tokens: Tokens.Generic[]) => string): string {
      let items = ''
      for (const footnote of listed) items += itemHtml(footnote, render(footnote.tokens))
      return items === '' ? '' : `<div>\n<hr />\n<ol dir="auto">\n${items}</ol>\n</div>\n`
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
