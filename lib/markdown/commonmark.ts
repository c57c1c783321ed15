import { HtmlRenderer, Node, Parser } from 'commonmark'
import { escaped } from './escaped.ts'
import { linksAsWritten } from './links.ts'
import { leadingTo, NO_FOLLOW, sanitize } from './sanitize.ts'

/**
 * CommonMark as safe HTML. Where a text has no HTML of its own and leads nowhere but to ordinary addresses, all tags are
 * the renderer's, and there is nothing to take out of them: the sanitiser, which takes several times as long as the rest,
 * is for all others.
 */
export const renderCommonMark = (text: string): string => {
  const tree = new Parser().parse(text)
  const links = harmlessLinksIn(tree)
  if (links === undefined) return sanitize(new HtmlRenderer().render(tree), linksAsWritten)
  for (const link of links) if (link.destination !== '') write(link)
  return new HtmlRenderer().render(tree)
}

/** What has no colon has no scheme. Narrower than what the sanitiser allows: whatever looks odd is left to it. */
const ADDRESSES: Readonly<Record<string, RegExp>> = {
  link: /^(?:(?:https?:\/\/|mailto:)[^\0- ]*|[^:\0- ]*)$/i,
  image: /^(?:https?:\/\/[^\0- ]*|[^:\0- ]*)$/i,
}

/** The links, but for those within the words for an image, where none is shown; undefined for a text that may do harm. */
const harmlessLinksIn = (tree: Node): Node[] | undefined => {
  const links: Node[] = []
  let images = 0
  const walker = tree.walker()
  for (let step = walker.next(); step !== null; step = walker.next()) {
    const { entering, node } = step
    if (node.type === 'html_inline' || node.type === 'html_block') return undefined
    if (node.type === 'image') images += entering ? 1 : -1
    if (!entering) continue
    if (ADDRESSES[node.type]?.test(node.destination ?? '') === false) return undefined
    if (node.type === 'link' && images === 0) links.push(node)
  }
  return links
}

/** A link as the sanitiser writes one. */
const write = (link: Node): void => {
  const written = new Node('custom_inline')
  const href = leadingTo(link.destination ?? '', linksAsWritten)
  const title = link.title ? ` title="${escaped(link.title)}"` : ''
  written.onEnter = `<a href="${escaped(href)}"${title} rel="${NO_FOLLOW}">`
  written.onExit = '</a>'
  link.insertBefore(written)
  while (link.firstChild !== null) written.appendChild(link.firstChild)
  link.unlink()
}
