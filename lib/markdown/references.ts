import { gemoji } from 'gemoji'
import type { Token, Tokens } from 'marked'
import { escaped } from './html.ts'
import type { References } from './links.ts'

/** `@name`, `#7`, `owner/name#7` or `owner/name@0123abc`, not in the middle of a word, an address or an entity. */
const REFERENCE =
  /(?<![\w/.@#&-])(?:@([A-Za-z0-9](?:[A-Za-z0-9._-]{0,38}[A-Za-z0-9])?)(?![A-Za-z0-9])|#(\d{1,15})(?![\w-])|([\w.-]{1,100})\/([\w.-]{1,100})(?:#(\d{1,15})|@([0-9a-f]{7,64}))(?![\w-]))/g

/** A piece of HTML in the place of a piece of text. */
export interface Piece extends Tokens.Generic {
  type: 'piece'
  html: string
}

/** Whether the end of what stands before forbids that a reference begins right after. */
const GLUE = /[\w/.@#&-]$/

/**
 * Cuts the references and emoji out of running text.
 *
 * @param before the source of what stands right before the text
 */
export const cutReferences = (token: Tokens.Text, before: string, references: References): Token[] =>
  cut(token, REFERENCE, (found) =>
    found.index === 0 && GLUE.test(before) ? undefined : referenceHtml(found, references),
  ).flatMap((part) => (part.type === 'text' ? cut(part as Tokens.Text, EMOJI, emojiHtml) : part))

const cut = (
  token: Tokens.Text,
  pattern: RegExp,
  htmlOf: (found: RegExpExecArray) => string | undefined,
): Token[] => {
  const parts: Token[] = []
  let end = 0
  for (const found of token.text.matchAll(pattern)) {
    const html = htmlOf(found)
    if (html === undefined) continue
    const piece: Piece = { type: 'piece', raw: found[0], html }
    parts.push(textOf(token, end, found.index), piece)
    end = found.index + found[0].length
  }
  return end === 0 ? [token] : [...parts, textOf(token, end)]
}

const textOf = (token: Tokens.Text, from: number, to?: number): Tokens.Text => {
  const text = token.text.slice(from, to)
  return { ...token, raw: text, text }
}

const referenceHtml = (found: RegExpExecArray, references: References): string | undefined => {
  const [raw, name, number, owner = '', repository = '', cross, hash] = found
  const link = (href: string | undefined, kind?: string) =>
    href && `<a href="${escaped(href)}"${kind ? ` class="${kind}"` : ''}>${escaped(raw)}</a>`
  if (name !== undefined) return link(references.mention(name), 'mention')
  if (number !== undefined) return link(references.issue(number), 'ref-issue')
  if (cross !== undefined)
    return link(references.inRepository(owner, repository, `issues/${cross}`), 'ref-issue')
  return link(references.inRepository(owner, repository, `commit/${hash}`))
}

type Emoji = (typeof gemoji)[number]

const byName = new Map(gemoji.flatMap((one) => one.names.map((name): [string, Emoji] => [name, one])))
const byCharacter = new Map(gemoji.map((one): [string, Emoji] => [one.emoji, one]))

/** `:smile:`, or an emoji as it is: pictographs, joined or with a skin tone, and flags. */
const EMOJI =
  /(?<![\w:]):([\w+-]{1,60}):|\p{Regional_Indicator}{2}|\p{Extended_Pictographic}[\ufe0f\u{1f3fb}-\u{1f3ff}]*(?:\u200d\p{Extended_Pictographic}[\ufe0f\u{1f3fb}-\u{1f3ff}]*)*/gu

/** @returns HTML of a match of `EMOJI`, undefined for a name or a character that isn't known */
const emojiHtml = ([match, name]: RegExpExecArray): string | undefined => {
  const emoji = name === undefined ? byCharacter.get(match) : byName.get(name)
  return (
    emoji &&
    `<span class="emoji" aria-label="${escaped(emoji.description)}" data-alias="${escaped(emoji.names[0]!)}">${emoji.emoji}</span>`
  )
}
