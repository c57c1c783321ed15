import { gemoji } from 'gemoji'
import { escaped } from './escaped.ts'

type Emoji = (typeof gemoji)[number]

const byName = new Map(gemoji.flatMap((one) => one.names.map((name): [string, Emoji] => [name, one])))
const byCharacter = new Map(gemoji.map((one): [string, Emoji] => [one.emoji, one]))

/** `:smile:`, or an emoji as it is: pictographs, joined or with a skin tone, and flags. */
export const EMOJI =
  /(?<![\w:]):([\w+-]{1,60}):|\p{Regional_Indicator}{2}|\p{Extended_Pictographic}[\ufe0f\u{1f3fb}-\u{1f3ff}]*(?:\u200d\p{Extended_Pictographic}[\ufe0f\u{1f3fb}-\u{1f3ff}]*)*/gu

/** @returns HTML of a match of `EMOJI`, undefined for a name or a character that isn't known */
export const emojiHtml = ([match, name]: RegExpExecArray): string | undefined => {
  const emoji = name === undefined ? byCharacter.get(match) : byName.get(name)
  return (
    emoji &&
    `<span class="emoji" aria-label="${escaped(emoji.description)}" data-alias="${escaped(emoji.names[0]!)}">${emoji.emoji}</span>`
  )
}
