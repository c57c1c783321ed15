import { type DefaultTreeAdapterTypes, parseFragment } from 'parse5'

type Node = DefaultTreeAdapterTypes.ChildNode
type Element = DefaultTreeAdapterTypes.Element

/**
 * HTML in a form that can be compared: as a browser's parser reads it, with attributes in order. What differs on purpose
 * is dropped from both sides: `rel`, which the sanitiser sets; addresses with a scheme that it does not let through
 * (CommonMark's examples make up a few), whose links are their text; the prefix that keeps a text's own ids, and links to
 * them, apart from the page's; what Allot adds as a Forgejo does: ids of headings, directions, the class of task lists, the link
 * of an image to itself, and that it is loaded when it is seen; and white space that no browser shows.
 */
export const normalised = (html: string): string =>
  parseFragment(html)
    .childNodes.map((node) => shown(node, false))
    .join('')
    .replace(/ *\n\s*/g, '\n')
    .trim()

const shown = (node: Node, preformatted: boolean): string => {
  if ('tagName' in node) return element(node, preformatted)
  if (node.nodeName === '#text' && 'value' in node)
    return preformatted ? node.value : node.value.replace(/\s+/g, ' ')
  return ''
}

const BLOCKS = new Set(
  'p h1 h2 h3 h4 h5 h6 ul ol li blockquote pre table thead tbody tr th td hr div br'.split(' '),
)

const element = (node: Element, preformatted: boolean): string => {
  const name = node.tagName
  const inside = node.childNodes.map((child) => shown(child, preformatted || name === 'pre')).join('')
  if (name === 'a' && (isOfImage(node) || leadsNowhere(node))) return inside
  const text = BLOCKS.has(name) && name !== 'pre' ? inside.trim() : inside
  const whole = `<${name}${attributes(node)}>${text}</${name}>`
  return BLOCKS.has(name) ? `\n${whole}\n` : whole
}

const attributeOf = ({ attrs }: Element, name: string) => attrs.find((one) => one.name === name)?.value

const isOfImage = (link: Element) => attributeOf(link, 'target') === '_blank'

const leadsNowhere = (link: Element) => hasOddScheme(attributeOf(link, 'href') ?? 'nowhere:')

/** By element, `*` for all. */
const ADDED = new Set([
  '* rel',
  '* dir',
  'img loading',
  'li class',
  ...[1, 2, 3, 4, 5, 6].map((level) => `h${level} id`),
])

const attributes = (node: Element): string =>
  node.attrs
    .filter(({ name }) => !ADDED.has(`* ${name}`) && !ADDED.has(`${node.tagName} ${name}`))
    .filter(({ name, value }) => !(name === 'src' && hasOddScheme(value)))
    .map(({ name, value }) => ` ${name}="${name === 'href' ? value.replace('#user-content-', '#') : value}"`)
    .sort()
    .join('')

const hasOddScheme = (href: string): boolean => {
  const [, scheme] = /^([a-z][a-z0-9+.-]*):/i.exec(href) ?? []
  return scheme !== undefined && !/^(?:https?|mailto|ftps?|ircs?|xmpp|tel|ssh|git)$/i.test(scheme)
}
