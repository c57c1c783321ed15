/** The HTML that both renderers write: escaped text, ids of headings, alerts and images. */
import { ADDRESSES } from './links.ts'

/** Escapes text for HTML, also within a quoted attribute. */
export const escapeHtml = (text: string): string =>
  text.replace(/&/g, '&amp;').replace(/</g, '&lt;').replace(/>/g, '&gt;').replace(/"/g, '&quot;')

/** Links must not endorse their target for search engines. */
export const NO_FOLLOW = 'nofollow'
/** For links that open a new window, which must not get access to the page. */
export const NO_OPENER = 'nofollow noopener'

/** Prefix of every id, so that no id of a text can collide with one of the page that shows it. */
export const ID_PREFIX = 'user-content-'

export const prefixedId = (id: string): string => (id.startsWith(ID_PREFIX) ? id : `${ID_PREFIX}${id}`)

/**
 * Makes the ids of one text's headings from their source, like Forgejo: `Über *uns*` gets `user-content-über-uns`, and a
 * second heading with the same words the suffix `-1`.
 * @returns a function whose results are distinct
 */
export const createHeadingIds = () => {
  const used = new Set<string>()
  /** The next suffix to try for an id: a thousand equal headings take a thousand tries, not a million. */
  const suffixes = new Map<string, number>()
  return (source: string): string => {
    const words = source.match(/[\p{L}\p{N}_]+/gu)?.join('-') ?? 'heading'
    const base = prefixedId(words.toLowerCase())
    let id = base
    let suffix = suffixes.get(base) ?? 1
    while (used.has(id)) id = `${base}-${suffix++}`
    suffixes.set(base, suffix)
    used.add(id)
    return id
  }
}

const ALERTS = ['note', 'tip', 'important', 'warning', 'caution'] as const
export type Alert = (typeof ALERTS)[number]

/** The first line of a block quote that is an alert: `> [!NOTE]`. */
const ALERT_LINE = /^\[!(note|tip|important|warning|caution)\][ \t]*(?:\n|$)/i

/** @returns the kind of alert that a block quote with this text is, and the length of its first line */
export const alertOf = (text: string): { alert: Alert; length: number } | undefined => {
  const [line, kind] = ALERT_LINE.exec(text) ?? []
  return line === undefined ? undefined : { alert: kind!.toLowerCase() as Alert, length: line.length }
}

export const alertClass = (alert: Alert): string => `attention-header attention-${alert}`

export const alertTitle = (alert: Alert): string => {
  const title = alert[0]!.toUpperCase() + alert.slice(1)
  return `<p class="attention-title" dir="auto"><strong class="attention-${alert}">${title}</strong></p>`
}

export const ALERT_CLASSES = ALERTS.map((alert) => `attention-${alert}`)

/**
 * The tags around the alternative text of an image. An image outside a link links to itself.
 * @param src undefined when the image must not be loaded
 */
export const imageTags = (
  src: string | undefined,
  title: string,
  isInLink: boolean,
): { opening: string; closing: string } => {
  const titleAttribute = title === '' ? '' : ` title="${escapeHtml(title)}"`
  const srcAttribute = src === undefined ? '' : `src="${escapeHtml(src)}" `
  const opening = `<img ${srcAttribute}alt="`
  const closing = `"${titleAttribute}${isInLink ? '' : ' loading="lazy"'} />`
  if (isInLink || src === undefined || !ADDRESSES.image.test(src)) return { opening, closing }
  const link = `<a href="${escapeHtml(src)}"${titleAttribute} target="_blank" rel="${NO_OPENER}">`
  return { opening: link + opening, closing: `${closing}</a>` }
}
