import { type DefaultTreeAdapterTypes, parseFragment } from 'parse5'

type Node = DefaultTreeAdapterTypes.ChildNode
type Element = DefaultTreeAdapterTypes.Element

/**
 * HTML for comparisons: parsed as a browser parses it, with sorted attributes. Removes intended differences
 * from both sides: `rel`; links with schemes that the sanitizer does not allow (CommonMark's examples have
 * some); the prefix of ids; what Forgejo adds, too (ids of headings, text directions, the class of task
 * lists, links around images, lazy loading); and white space that browsers do not show.
 */
export const normalized = (html: string): string =>
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
  if (name === 'a' && (isImageLink(node) || isForbiddenLink(node))) return inside
  const text = BLOCKS.has(name) && name !== 'pre' ? inside.trim() : inside
  const whole = `<${name}${attributes(node)}>${text}</${name}>`
  return BLOCKS.has(name) ? `\n${whole}\n` : whole
}

const attributeOf = ({ attrs }: Element, name: string) => attrs.find((one) => one.name === name)?.value

const isImageLink = (link: Element) => attributeOf(link, 'target') === '_blank'

const isForbiddenLink = (link: Element) => hasOddScheme(attributeOf(link, 'href') ?? 'nowhere:')

/** Element and attribute; `*` stands for all elements. */
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
