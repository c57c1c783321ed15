import sanitizeHtml from 'sanitize-html'
import { ALERT_CLASSES, NO_OPENER, prefixedId } from './html.ts'
import type { Links } from './links.ts'

const text = [
  'b',
  'i',
  'em',
  'strong',
  'tt',
  'code',
  'kbd',
  'samp',
  'var',
  'sub',
  'sup',
  'ins',
  'del',
  's',
  'strike',
  'q',
  'abbr',
  'cite',
  'dfn',
  'mark',
  'small',
  'time',
  'u',
  'span',
  'a',
  'img',
  'br',
  'wbr',
  'ruby',
  'rt',
  'rp',
  'bdo',
  'bdi',
]
const blocks = [
  'h1',
  'h2',
  'h3',
  'h4',
  'h5',
  'h6',
  'p',
  'div',
  'pre',
  'blockquote',
  'hr',
  'ol',
  'ul',
  'li',
  'dl',
  'dt',
  'dd',
  'details',
  'summary',
  'figure',
  'figcaption',
  'center',
  'table',
  'caption',
  'thead',
  'tbody',
  'tfoot',
  'tr',
  'td',
  'th',
]

const options: sanitizeHtml.IOptions = {
  allowedTags: [...text, ...blocks, 'input'],
  allowedAttributes: {
    '*': ['dir', 'lang', 'title', 'id', 'align'],
    a: ['href', 'rel', 'class', { name: 'target', values: ['_blank'] }],
    img: ['src', 'alt', 'width', 'height', { name: 'loading', values: ['lazy'] }],
    span: ['aria-label', 'data-alias'],
    code: ['class'],
    ol: ['start', 'reversed'],
    li: ['class', 'value'],
    td: ['colspan', 'rowspan'],
    th: ['colspan', 'rowspan', 'scope'],
    details: ['open'],
    time: ['datetime'],
    input: ['type', 'checked', 'disabled'],
  },
  // Classes that the renderers themselves give; a class of the text's own could borrow the looks of the host's page.
  allowedClasses: {
    a: ['mention', 'ref-issue'],
    blockquote: ['attention-header', ...ALERT_CLASSES],
    code: ['language-*'],
    li: ['task-list-item'],
    p: ['attention-title'],
    span: ['emoji'],
    strong: ALERT_CLASSES,
  },
  allowedSchemes: ['http', 'https', 'mailto', 'ftp', 'ftps', 'irc', 'ircs', 'xmpp', 'tel', 'ssh', 'git'],
  allowedSchemesByTag: { img: ['http', 'https'] },
  // `[here]()` is a link to the page itself.
  nonBooleanAttributes: [],
  disallowedTagsMode: 'discard',
  // Their content is no text for a reader.
  nonTextTags: [
    'script',
    'style',
    'textarea',
    'option',
    'xmp',
    'noscript',
    'template',
    'title',
    'iframe',
    'object',
    'svg',
    'math',
  ],
  exclusiveFilter: ({ tag, attribs }) => {
    // Only the checkboxes of task lists, which cannot be pressed.
    if (tag === 'input') return attribs.type !== 'checkbox'
    // A link that leads nowhere, or nowhere that is allowed, is its text.
    return tag === 'a' && attribs.href === undefined && attribs.id === undefined && 'excludeTag'
  },
}

/** What a text leads to is nothing that the host vouches for. */
export const NO_FOLLOW = 'nofollow'

type Attributes = sanitizeHtml.Attributes

const onAttributes =
  (change: (attribs: Attributes) => { [name: string]: string | undefined }): sanitizeHtml.Transformer =>
  (tagName, attribs) => {
    const changed = Object.entries({ ...attribs, ...change(attribs) })
    return {
      tagName,
      attribs: Object.fromEntries(changed.filter(([, value]) => value !== undefined)) as Attributes,
    }
  }

/** Where a link leads: one within the text follows the prefix of the id that it points to. */
export const leadingTo = (href: string, links: Links): string | undefined =>
  /^#./.test(href) ? `#${prefixedId(href.slice(1))}` : links.resolve(href, 'link')

/**
 * "sanitised, so that nothing which can run a script comes out". Links and images, those of raw HTML too, are led where
 * `links` says; what they lead to is judged afterwards. Every id begins with the prefix, every class is one of a list.
 */
export const sanitize = (html: string, links: Links): string =>
  sanitizeHtml(html, {
    ...options,
    transformTags: {
      a: onAttributes(({ href, target }) => ({
        ...(href ? { href: leadingTo(href, links), rel: target === '_blank' ? NO_OPENER : NO_FOLLOW } : {}),
        target: target === '_blank' ? target : undefined,
      })),
      img: onAttributes(({ src }) => (src ? { src: links.resolve(src, 'image') } : {})),
      input: onAttributes(() => ({ disabled: '' })),
      '*': onAttributes(({ id }) => (id === undefined ? {} : { id: prefixedId(id) })),
    },
  })
