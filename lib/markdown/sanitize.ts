import sanitizeHtml from 'sanitize-html'
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
    a: ['href', 'rel', 'class'],
    img: ['src', 'alt', 'width', 'height'],
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
  allowedClasses: { a: ['mention', 'ref-issue'], code: ['language-*'], li: ['task-list-item'] },
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
  // Only the checkboxes of task lists, which nobody can press.
  exclusiveFilter: ({ tag, attribs }) => tag === 'input' && attribs.type !== 'checkbox',
}

/** What a text leads to is nothing that the host vouches for. */
export const NO_FOLLOW = 'nofollow'

const PREFIX = 'user-content-'

/** An id of the text's own must not pass for one of the page that it is shown on; links to it follow it. */
const prefixed = (id: string): string => (id.startsWith(PREFIX) ? id : `${PREFIX}${id}`)

type Transform = (tagName: string, attribs: sanitizeHtml.Attributes) => sanitizeHtml.Tag

const onAttributes =
  (change: (attribs: sanitizeHtml.Attributes) => sanitizeHtml.Attributes): Transform =>
  (tagName, attribs) => ({ tagName, attribs: { ...attribs, ...change(attribs) } })

/** Where a link leads: one within the text follows the prefix of what it points to. */
export const leadingTo = (href: string, links: Pick<Links, 'resolve'>): string =>
  /^#./.test(href) ? `#${prefixed(href.slice(1))}` : links.resolve(href, 'link')

/**
 * "sanitised, so that nothing which can run a script comes out". Links and images, those of raw HTML too, are led where
 * `links` says; what they lead to is judged afterwards.
 */
export const sanitize = (html: string, links: Pick<Links, 'resolve'>): string =>
  sanitizeHtml(html, {
    ...options,
    transformTags: {
      a: onAttributes(({ href }) => (href ? { href: leadingTo(href, links), rel: NO_FOLLOW } : {})),
      img: onAttributes(({ src }) => (src ? { src: links.resolve(src, 'image') } : {})),
      input: onAttributes(() => ({ disabled: '' })),
      '*': onAttributes(({ id }) => (id === undefined ? {} : { id: prefixed(id) })),
    },
  })
