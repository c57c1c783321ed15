import { escaped } from './html.ts'
import { ADDRESSES } from './links.ts'
import { NO_OPENER } from './sanitize.ts'

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
