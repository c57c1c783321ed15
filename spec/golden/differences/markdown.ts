import type { Difference } from './table.ts'

const of = (...ids: string[]): Difference['records'] => ({ markdown: ids.map((id) => `markdown.${id}`) })

/** The recorded modes that are plain: every word but `gfm` and `comment`, and `/markdown/raw`. */
const PLAIN = ['raw.', 'mode.markdown.', 'mode..', 'mode.nosuch.', 'mode.GFM.', 'mode.file.', 'mode.None.']
const plain = (...names: string[]) => PLAIN.flatMap((mode) => names.map((name) => `${mode}${name}`))

/** Differences of rendered markdown. */
export const markdown: readonly Difference[] = [
  {
    title:
      'The mode `markdown`, and every mode without a name, is CommonMark: a line break in a text is not a `<br>`',
    reason: 'The examples of CommonMark are passed. `gfm` and `comment` have what GitHub adds.',
    records: of(
      ...plain('para').filter((id) => !/nosuch/.test(id)),
      ...plain('heading').filter((id) => !/raw|\.markdown/.test(id)),
      ...plain('crlf').filter((id) => !/raw|file|None/.test(id)),
    ),
    lines: ['html lacks <br>', 'html adds text " "'],
  },
  {
    title: 'CommonMark has no tables',
    reason: 'They are in the modes `gfm` and `comment`.',
    records: of(...plain('table')),
    lines: ['html lacks <*', 'html lacks align="center"', 'html adds *'],
  },
  {
    title: 'CommonMark has no ~~strikethrough~~',
    reason: 'It is in the modes `gfm` and `comment`.',
    records: of(...plain('emph').filter((id) => !/raw/.test(id))),
    lines: ['html lacks <del>', 'html lacks </del>', 'html adds text "~"'],
  },
  {
    title: 'CommonMark has neither task lists nor footnotes',
    reason: 'They are in the modes `gfm` and `comment`.',
    records: of('raw.tasklist', 'mode.markdown.tasklist', 'mode..tasklist'),
    lines: ['html lacks *', 'html adds text "*"'],
  },
  {
    title: 'A checkbox is followed by a space and has no position in the source',
    reason: "The space is in GitHub's specification; the position is for scripts of Forgejo's own pages.",
    records: of('gfm.tasklist', 'mode.comment.tasklist'),
    lines: ['html lacks data-source-position="*"', 'html adds text " "'],
  },
  {
    title: 'Addresses that begin with `www.` or `ftp://` are links',
    reason: "GitHub's specification, extended autolinks.",
    records: of('gfm.autolink', 'mode.comment.autolink'),
    lines: ['html adds <a>', 'html adds href="*"', 'html adds rel="nofollow"', 'html adds </a>'],
  },
  {
    title: 'A link without an address leads to the page itself',
    reason: 'CommonMark: `[link]()` is `<a href="">link</a>`.',
    records: of(
      'gfm.link',
      'mode.comment.link',
      'mode.wiki.link',
      ...plain('link').filter((id) => !/\.markdown|GFM/.test(id)),
    ),
    lines: ['html adds <a>', 'html adds href=""', 'html adds </a>'],
  },
  {
    title: 'Without a context links stay as they are written',
    reason: 'CommonMark; the page that shows the text knows its own address.',
    records: of('raw.link', 'context', 'context#2', 'context#4', 'context#5', 'context#6'),
    lines: ['html lacks href="/*"', 'html lacks src="/*"', 'html adds href="*"', 'html adds src="i.png"'],
  },
  {
    title: "`#1` leads to the issue of the context's repository, and is text without one",
    reason: 'Forgejo leads to `/issues/1`, which is not the page of an issue.',
    records: of('mode.comment.issueref', 'context#*'),
    lines: [
      'html lacks <a>',
      'html lacks href="http://127.0.0.1:3300/issues/1"',
      'html lacks class="ref-issue"',
      'html lacks rel="nofollow"',
      'html lacks </a>',
      'html adds href="*/issues/1"',
    ],
  },
  {
    title: '`owner/name@` leads to a commit with its full id only',
    reason: 'Commits are not found by abbreviated ids. Forgejo takes 7 digits.',
    records: of('gfm.commit', 'mode.comment.commit'),
    lines: ['html lacks <a>', 'html lacks href="*"', 'html lacks rel="nofollow"', 'html lacks </a>'],
  },
  {
    title: '`!3` is text',
    reason: 'Allot has no pull requests.',
    records: of('mode.comment.issueref'),
    lines: ['html lacks href="http://127.0.0.1:3300/pulls/3"'],
  },
  {
    title: 'An image without an address is not wrapped in a link',
    reason: 'Forgejo leaves a link without an address around it.',
    records: of('*.image', 'context#*'),
    lines: ['html lacks <a>', 'html lacks target="_blank"', 'html lacks </a>'],
  },
  {
    title: '`wiki` is a mode of its own: that of documents, with links to the wiki',
    reason: 'As in Gitea. Forgejo takes it for plain text.',
    records: of('mode.wiki.*'),
    lines: ['html lacks *', 'html adds *'],
  },
  {
    title: 'Raw HTML keeps no style, class or rel of its own',
    reason: "It could borrow the looks of the host's page.",
    records: of('*.html.inline', '*.html.a'),
    lines: [
      'html lacks class="x"',
      'html lacks style="color: red"',
      'html lacks rel="y*"',
      'html adds rel="nofollow noopener"',
    ],
  },
  {
    title: 'Raw HTML has no videos and no drawings',
    reason: 'Only a short list of elements is allowed.',
    records: of('*.html.video', '*.html.svg'),
    lines: [
      'html lacks <video>',
      'html lacks controls=""',
      'html lacks src="http://x/v.mp4"',
      'html lacks </video>',
      'html lacks <svg>',
      'html lacks </svg>',
    ],
  },
  {
    title: 'An element that is not closed ends with its block',
    reason: 'Forgejo opens it again in the white space that follows.',
    records: of('gfm.html.unclosed'),
    lines: ['html lacks <b>', 'html lacks text " "', 'html lacks </b>'],
  },
  {
    title: 'Code is not colored, and has the class of its language only',
    reason: 'Allot colors files of repositories only, on its own pages.',
    records: of('*.code.*'),
    lines: [
      'html lacks class="*"',
      'html lacks <span>',
      'html lacks </span>',
      'html adds class="language-*"',
    ],
  },
  {
    title: 'An alert has no icon',
    reason: 'Drawings are not among the allowed elements.',
    records: of('raw.quote'),
    lines: ['html lacks *'],
  },
  {
    title: 'No definition lists, formulas, tables of front matter and links to wiki pages',
    reason: "They are in neither CommonMark nor GitHub's specification; Allot has no wiki.",
    records: of('*.deflist', '*.math', '*.frontmatter', 'gfm.wikilink', 'mode.comment.wikilink'),
    lines: ['html lacks *', 'html adds *'],
  },
  {
    title: 'Rendered markdown is always `text/html;charset=utf-8`',
    reason: 'One kind of answer has one type. Forgejo guesses the type from the first bytes.',
    records: of('*'),
    lines: [
      'header content-type "text/html; charset=utf-8" → "text/html;charset=utf-8"',
      'header content-type "text/plain; charset=utf-8" → "text/html;charset=utf-8"',
      'header content-type absent → "text/html;charset=utf-8"',
    ],
  },
  {
    title: '`/markdown` is open to everyone',
    reason: 'The specification names no 401.',
    records: of('raw.anon', 'anon.malformed'),
    lines: ['status 401 → 200', 'status 401 → 422'],
  },
  {
    title: 'A body that is not a JSON object, or not Unicode, is 422',
    reason: 'Every route answers so.',
    records: of('null', 'surrogate'),
    lines: ['status 200 → 422'],
  },
  {
    title:
      'A content type that the operation does not take is 415; JSON is recognized in any case, and an absent type is fine',
    reason: 'Media types have no case (RFC 9110 §8.3.1).',
    records: of('ctype*', 'raw.ctype*', 'form*', 'multipart', 'query'),
    lines: ['status 422 → 415', 'status 200 → 415', 'status 422 → 200'],
  },
  {
    title: 'OPTIONS is answered at `/markdown/raw`',
    reason: 'A preflight of a browser needs it.',
    records: of('raw.method.OPTIONS'),
    lines: ['status 405 → 204'],
  },
  {
    title: '`Allow` of `/markdown` names OPTIONS as well',
    reason: 'It is answered.',
    records: of('*method.*'),
    lines: ['header allow "POST" → "OPTIONS, POST"'],
  },
]
