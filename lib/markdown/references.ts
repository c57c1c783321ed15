import type { Token, Tokens } from 'marked'
import type { Links } from './links.ts'

/** `@name` or `#7`, not in the middle of a word, an address or an entity. */
const REFERENCE =
  /(?<![\w/.@#&-])(?:@([A-Za-z0-9](?:[A-Za-z0-9._-]{0,38}[A-Za-z0-9])?)(?![A-Za-z0-9])|#(\d{1,15})(?![\w-]))/g

/** Elements of raw HTML in which a reference is only text. */
const QUIET = /^<(\/?)(a|code|pre|kbd|samp|tt|var)$/i

/**
 * Turns the `@names` and `#numbers` of running text into links, in place. Code, links and the raw HTML elements that
 * stand for them are passed over; raw HTML is followed in the order of the document, for it may be opened in one token
 * and closed in another.
 */
export const linkReferences = (tokens: Token[], links: Links): void => {
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
    if (isPlainText(token)) return open.size > 0 ? token : split(token, before, links)
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

const split = (token: Tokens.Text, before: string, links: Links): Token[] => {
  const parts: Token[] = []
  let end = 0
  for (const found of token.text.matchAll(REFERENCE)) {
    const link = referenceTo(found, links)
    if (link === undefined || (found.index === 0 && /[\w/.@#&-]$/.test(before))) continue
    parts.push(textOf(token, end, found.index), link)
    end = found.index + found[0].length
  }
  return end === 0 ? [token] : [...parts, textOf(token, end)]
}

const textOf = (token: Tokens.Text, from: number, to?: number): Tokens.Text => {
  const text = token.text.slice(from, to)
  return { ...token, raw: text, text }
}

const referenceTo = ([raw, name, number = '']: RegExpExecArray, links: Links): Token | undefined => {
  const href = name === undefined ? links.issue(number) : links.mention(name)
  const kind = name === undefined ? 'ref-issue' : 'mention'
  return href === undefined ? undefined : { type: 'reference', raw, href, kind }
}
