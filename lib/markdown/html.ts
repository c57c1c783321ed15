import { ADDRESSES } from './links.ts'

/** The `rel` of links that open a new window, which must not get access to the window with the link. */
export const NO_OPENER = 'nofollow noopener'

/** Text as it stands in HTML, also within the quotes of an attribute. */
export const escaped = (text: string): string =>
  text.replace(/&/g, '&amp;').replace(/</g, '&lt;').replace(/>/g, '&gt;').replace(/"/g, '&quot;')

/** What every id of a rendered text begins with, so that it cannot pass for one of the page that shows the text. */
export const ID_PREFIX = 'user-content-'

export const prefixedId = (id: string): string => (id.startsWith(ID_PREFIX) ? id : `${ID_PREFIX}${id}`)

/**
 * Makes the ids of one text's headings from their source, as Forgejo makes them: `Über *uns*` is `user-content-über-uns`,
 * and the second heading of the same words ends in `-1`.
 *
 * @returns a function whose results are all different
 */
export const createHeadingIds = () => {
  const taken = new Set<string>()
  /** The next number to try for an id, so that a thousand equal headings need no thousand tries each. */
  const numbers = new Map<string, number>()
  return (source: string): string => {
    const words = source.match(/[\p{L}\p{N}_]+/gu)?.join('-') ?? 'heading'
    const base = prefixedId(words.toLowerCase())
    let id = base
    let number = numbers.get(base) ?? 1
    while (taken.has(id)) id = `${base}-${number++}`
    numbers.set(base, number)
    taken.add(id)
    return id
  }
}

const ALERTS = ['note', 'tip', 'important', 'warning', 'caution'] as const
export type Alert = (typeof ALERTS)[number]

/** `> [!NOTE]`: a block quote whose first line is such a word is an alert. */
const FIRST_LINE = /^\[!(note|tip|important|warning|caution)\][ \t]*(?:\n|$)/i

/** @returns the kind of alert that a block quote beginning with this text is, and how long its first line is */
export const alertOf = (text: string): { alert: Alert; length: number } | undefined => {
  const [line, word] = FIRST_LINE.exec(text) ?? []
  return line === undefined ? undefined : { alert: word!.toLowerCase() as Alert, length: line.length }
}

export const classOfAlert = (alert: Alert): string => `attention-header attention-${alert}`

export const titleOfAlert = (alert: Alert): string =>
  `<p class="attention-title" dir="auto"><strong class="attention-${alert}">${alert[0]!.toUpperCase()}${alert.slice(1)}</strong></p>`

export const ALERT_CLASSES = ALERTS.map((alert) => `attention-${alert}`)

/**
 * What is written before and after the words for an image. Outside a link an image leads to itself.
 *
 * @param src undefined where it must not be loaded
 */
export const imageTags = (
  src: string | undefined,
  title: string,
  isInLink: boolean,
): { opening: string; closing: string } => {
  const titled = title === '' ? '' : ` title="${escaped(title)}"`
  const from = src === undefined ? '' : `src="${escaped(src)}" `
  const [opening, closing] = [`<img ${from}alt="`, `"${titled}${isInLink ? '' : ' loading="lazy"'} />`]
  if (isInLink || src === undefined || !ADDRESSES.image.test(src)) return { opening, closing }
  const link = `<a href="${escaped(src)}"${titled} target="_blank" rel="${NO_OPENER}">`
  return { opening: link + opening, closing: `${closing}</a>` }
}
