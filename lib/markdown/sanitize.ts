import sanitizeHtml from 'sanitize-html'
import { ALERT_CLASSES, type Links, linkTarget, NO_FOLLOW, NO_OPENER, prefixedId } from './html.ts'

const words = (text: string): string[] => text.trim().split(/\s+/)

const INLINE = words(`
  b i em strong tt code kbd samp var sub sup ins del s strike q abbr cite dfn mark small time u
  span a img br wbr ruby rt rp bdo bdi`)
const BLOCKS = words(`
  h1 h2 h3 h4 h5 h6 p div pre blockquote hr ol ul li dl dt dd details summary figure figcaption
  center table caption thead tbody tfoot tr td th`)

const options: sanitizeHtml.IOptions = {
  allowedTags: [...INLINE, ...BLOCKS, 'input'],
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
  // Only classes that the renderers write: with others, a text could imitate parts of the page.
  allowedClasses: {
    a: ['mention', 'ref-issue'],
    blockquote: ['attention-header', ...ALERT_CLASSES],
    code: ['language-*'],
    li: ['task-list-item'],
    p: ['attention-title'],
    span: ['emoji'],
    strong: ALERT_CLASSES,
  },
  allowedSchemes: words('http https mailto ftp ftps irc ircs xmpp tel ssh git'),
  allowedSchemesByTag: { img: ['http', 'https'] },
  // Keeps the empty `href` of `[here]()`, a link to the page itself.
  nonBooleanAttributes: [],
  disallowedTagsMode: 'discard',
  // Removed with their content, which is not text.
  nonTextTags: words('script style textarea option xmp noscript template title iframe object svg math'),
  exclusiveFilter: ({ tag, attribs }) => {
    // Only the checkboxes of task lists are allowed.
    if (tag === 'input') return attribs.type !== 'checkbox'
    // A link without an allowed target is replaced by its text.
    return tag === 'a' && attribs.href === undefined && attribs.id === undefined && 'excludeTag'
  },
}

type Attributes = sanitizeHtml.Attributes

/** Undefined values remove an attribute. */
const changeAttributes =
  (change: (attribs: Attributes) => { [name: string]: string | undefined }): sanitizeHtml.Transformer =>
  (tagName, attribs) => {
    const changed = Object.entries({ ...attribs, ...change(attribs) })
    return {
      tagName,
      attribs: Object.fromEntries(changed.filter(([, value]) => value !== undefined)) as Attributes,
    }
  }

/**
 * Removes everything that could run a script or imitate the page. Resolves links and images, also those of
 * raw HTML; the schemes of the results are checked afterwards.
 */
export const sanitize = (html: string, links: Links): string =>
  sanitizeHtml(html, {
    ...options,
    transformTags: {
      // An anchor of older HTML, `<a name="x">`, is a target of `#x`, too.
      a: changeAttributes(({ href, target, id, name }) => ({
        id: id || name || undefined,
        ...(href ? { href: linkTarget(href, links), rel: target === '_blank' ? NO_OPENER : NO_FOLLOW } : {}),
        target: target === '_blank' ? target : undefined,
      })),
      img: changeAttributes(({ src }) => (src ? { src: links.resolve(src, 'image') } : {})),
      input: changeAttributes(() => ({ disabled: '' })),
      '*': changeAttributes(({ id }) => (id === undefined ? {} : { id: prefixedId(id) })),
    },
  })
