import { gemoji } from 'gemoji'
import type { Token, Tokens } from 'marked'
import { escapeHtml } from './html.ts'
import type { References } from './links.ts'

/** `@name`, `#7`, `owner/name#7` or `owner/name@0123abc`; not within a word, an address or an entity. */
const REFERENCE =
  /(?<![\w/.@#&-])(?:@([A-Za-z0-9](?:[A-Za-z0-9._-]{0,38}[A-Za-z0-9])?)(?![A-Za-z0-9])|#(\d{1,15})(?![\w-])|([\w.-]{1,100})\/([\w.-]{1,100})(?:#(\d{1,15})|@([0-9a-f]{7,64}))(?![\w-]))/g

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
export const splitReferences = (token: Tokens.Text, before: string, references: References): Token[] =>
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
