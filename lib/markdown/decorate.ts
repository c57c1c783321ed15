import type { Token, Tokens } from 'marked'
import { type Alert, alertOf } from './alerts.ts'
import type { References } from './links.ts'
import { cutReferences } from './references.ts'

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
