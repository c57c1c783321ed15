import sanitizeHtml from 'sanitize-html'

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
    abbr: ['title'],
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
  nonTextTags: [
    'script',
    'style',
    'textarea',
    'option',
    'noscript',
    'template',
    'title',
    'iframe',
    'object',
    'svg',
    'math',
  ],
  transformTags: {
    a: (tagName, attribs) => ({
      tagName,
      attribs: { ...attribs, ...(attribs.href ? { rel: 'nofollow' } : {}) },
    }),
    '*': (tagName, attribs) => ({ tagName, attribs: withSafeId(attribs) }),
  },
  // Only the checkboxes of task lists, which nobody can press.
  exclusiveFilter: ({ tag, attribs }) => tag === 'input' && attribs.type !== 'checkbox',
}

const PREFIX = 'user-content-'

/** An id of the text's own must not pass for one of the page that it is shown on. */
const withSafeId = (attribs: sanitizeHtml.Attributes): sanitizeHtml.Attributes => {
  const { id } = attribs
  return id === undefined || id.startsWith(PREFIX) ? attribs : { ...attribs, id: `${PREFIX}${id}` }
}

/** "sanitised, so that nothing which can run a script comes out" */
export const sanitize = (html: string): string =>
  sanitizeHtml(html, options).replace(/<input (?![^>]*\bdisabled\b)/g, '<input disabled="" ')
