import assert from 'node:assert/strict'
import { after, describe, it } from 'node:test'
import fc from 'fast-check'
import { type DefaultTreeAdapterTypes, parseFragment } from 'parse5'
import { AllotError } from '../../lib/errors.ts'
import { Markdown } from '../../lib/markdown/index.ts'

const markdown = new Markdown({ deadline: 60_000 })
after(() => markdown.close())

const baseUrl = 'http://allot.test'
const MODES = ['markdown', 'gfm', 'comment', 'wiki'] as const

/** The elements and attributes of HTML, as a browser parses it, that are not allowed. */
const dangers = (html: string): string[] => [
  ...elementsOf(parseFragment(html).childNodes).flatMap(inElement),
  ...(html.includes('\0') ? ['U+0000'] : []),
]

const elementsOf = (nodes: readonly DefaultTreeAdapterTypes.ChildNode[]): DefaultTreeAdapterTypes.Element[] =>
  nodes.flatMap((node) => ('tagName' in node ? [node, ...elementsOf(node.childNodes)] : []))

const inElement = ({ tagName, namespaceURI, attrs }: DefaultTreeAdapterTypes.Element): string[] => {
  const found = attrs
    .filter((one) => !isAllowed(tagName, one))
    .map((one) => `${tagName} ${one.name}=${one.value}`)
  const known = ELEMENTS.has(tagName) && namespaceURI === 'http://www.w3.org/1999/xhtml'
  const pressed = tagName === 'input' && !(has(attrs, 'disabled') && has(attrs, 'type', 'checkbox'))
  const reaches = has(attrs, 'target', '_blank') && !has(attrs, 'rel', 'nofollow noopener')
  return [
    ...(known ? [] : [`<${tagName}>`]),
    ...(pressed ? ['an input that is not a disabled checkbox'] : []),
    ...(reaches ? ['a link that gives its target access to the page'] : []),
    ...found,
  ]
}

type Attribute = { name: string; value: string }

const has = (attrs: Attribute[], name: string, value?: string) =>
  attrs.some((one) => one.name === name && (value === undefined || one.value === value))

const ELEMENTS = new Set(
  `h1 h2 h3 h4 h5 h6 p div center pre blockquote hr ol ul li dl dt dd details summary figure figcaption table caption
  thead tbody tfoot tr td th b i u em strong tt code kbd samp var sub sup ins del s strike q abbr cite dfn mark small time
  span a img br wbr ruby rt rp bdo bdi input`.split(/\s+/),
)

/** Attributes that are harmless with any value. */
const PLAIN = new Set(
  `dir lang title align rel alt width height start reversed value colspan rowspan scope open datetime type checked
  disabled`.split(/\s+/),
)
const CLASS =
  /^(?:mention|ref-issue|task-list-item|emoji|attention-(?:header|title|note|tip|important|warning|caution)|language-\S+)$/

const isAllowed = (tagName: string, { name, value }: Attribute): boolean => {
  if (name === 'id') return value.startsWith('user-content-')
  if (name === 'class') return value === '' || value.split(' ').every((one) => CLASS.test(one))
  if (name === 'target') return tagName === 'a' && (value === '_blank' || value === '')
  if (name === 'loading') return tagName === 'img' && (value === 'lazy' || value === '')
  if (name === 'aria-label' || name === 'data-alias') return tagName === 'span'
  if (name === 'href') return tagName === 'a' && hasAllowedScheme(value, SCHEMES)
  if (name === 'src') return tagName === 'img' && hasAllowedScheme(value, /^https?$/)
  return PLAIN.has(name)
}

const SCHEMES = /^(?:https?|mailto|ftps?|ircs?|xmpp|tel|ssh|git)$/

/** Parses the address as a browser does: without control characters and white space, relative to the page. */
const hasAllowedScheme = (href: string, schemes: RegExp): boolean =>
  !URL.canParse(href, `${baseUrl}/`) || schemes.test(new URL(href, `${baseUrl}/`).protocol.slice(0, -1))

const VECTORS = [
  '<script>alert(1)</script>',
  '<ScRiPt src=//evil.test/x.js></sCrIpT>',
  '<script\n>alert(1)</script\n>',
  '<scr<script>ipt>alert(1)</scr</script>ipt>',
  '<<script>alert(1)//<</script>',
  '<img src=x onerror=alert(1)>',
  '<img src="x" onerror = "alert(1)">',
  '<img/src=x/onerror=alert(1)>',
  '<img src=`x` onerror=`alert(1)`>',
  '<img """><script>alert(1)</script>">',
  '<img src="javascript:alert(1)">',
  '<img src="data:image/svg+xml;base64,PHN2Zz48L3N2Zz4=">',
  '<img srcset="javascript:alert(1) 1x">',
  '<a href="javascript:alert(1)">x</a>',
  '<a href="JaVaScRiPt:alert(1)">x</a>',
  '<a href=" javascript:alert(1)">x</a>',
  '<a href="java\tscript:alert(1)">x</a>',
  '<a href="java&#10;script:alert(1)">x</a>',
  '<a href="&#106;&#97;&#118;&#97;&#115;&#99;&#114;&#105;&#112;&#116;&#58;alert(1)">x</a>',
  '<a href="&#x6A&#x61&#x76&#x61&#x73&#x63&#x72&#x69&#x70&#x74&#x3A&#x61lert(1)">x</a>',
  '<a href="javascript&colon;alert(1)">x</a>',
  '<a href="\u0001javascript:alert(1)">x</a>',
  '<a href="vbscript:msgbox(1)">x</a>',
  '<a href="data:text/html;base64,PHNjcmlwdD5hbGVydCgxKTwvc2NyaXB0Pg==">x</a>',
  '<a href="file:///etc/passwd">x</a>',
  '[x](javascript:alert(1))',
  '[x](JAVASCRIPT:alert(1))',
  '[x](<javascript:alert(1)>)',
  '[x](java&#9;script:alert(1))',
  '[x](&#106;avascript:alert(1))',
  '[x](javascript&colon;alert(1))',
  '[x](vbscript:msgbox)',
  '[x](data:text/html,<script>alert(1)</script>)',
  '![x](javascript:alert(1))',
  '![x](data:image/svg+xml,<svg/onload=alert(1)>)',
  '[x]: javascript:alert(1)\n\n[x]',
  '<javascript:alert(1)>',
  '<data:text/html,x>',
  '[a](http://ok.test "\\" onmouseover=alert(1) x=\\"")',
  '![a\\" onerror=alert(1) x=\\"](http://ok.test/x.png)',
  '<iframe src="javascript:alert(1)"></iframe>',
  '<iframe srcdoc="<script>alert(1)</script>"></iframe>',
  '<object data="javascript:alert(1)"></object>',
  '<embed src="javascript:alert(1)">',
  '<form action="javascript:alert(1)"><button>x</button></form>',
  '<button formaction="javascript:alert(1)">x</button>',
  '<input type="image" src="javascript:alert(1)">',
  '<input type="text" autofocus onfocus=alert(1)>',
  '<svg onload=alert(1)>',
  '<svg><script>alert(1)</script></svg>',
  '<svg><a xlink:href="javascript:alert(1)"><text>x</text></a></svg>',
  '<math><mtext><table><mglyph><style><img src=x onerror=alert(1)>',
  '<math href="javascript:alert(1)">x</math>',
  '<meta http-equiv="refresh" content="0;url=javascript:alert(1)">',
  '<base href="javascript:alert(1)//">',
  '<link rel="stylesheet" href="javascript:alert(1)">',
  '<style>@import "javascript:alert(1)";</style>',
  '<div style="background:url(javascript:alert(1))">x</div>',
  '<p style="width:expression(alert(1))">x</p>',
  '<table background="javascript:alert(1)"><tr><td>x</td></tr></table>',
  '<details open ontoggle=alert(1)>x</details>',
  '<video><source onerror=alert(1)></video>',
  '<audio src=x onerror=alert(1)>',
  '<body onload=alert(1)>',
  '<marquee onstart=alert(1)>x</marquee>',
  '<template><script>alert(1)</script></template>',
  '<noscript><p title="</noscript><img src=x onerror=alert(1)>">',
  '<p id="getElementById">x</p><a id="forms">y</a>',
  '<textarea><img src=x onerror=alert(1)></textarea>',
  '<input type=checkbox title=disabled onclick=alert(1)>',
  '<input type=checkbox>',
  '<title>&lt;img src=x onerror=alert(1)&gt;</title>',
  '<xmp><script>alert(1)</script></xmp>',
  '<noembed><img src=x onerror=alert(1)></noembed>',
  '<plaintext><script>alert(1)</script>',
  '<listing>&lt;img src=x onerror=alert(1)&gt;</listing>',
  '<select><style></select><img src=x onerror=alert(1)></style>',
  '[x](//javascript:alert(1))',
  '[x](\x01javascript:alert(1))',
  '<img src="file:///etc/passwd">',
  '<!--><img src=x onerror=alert(1)>-->',
  '<![CDATA[<script>alert(1)</script>]]>',
  '<?xml version="1.0"?><script>alert(1)</script>',
  '```"><script>alert(1)</script>\nx\n```',
  '``` x" onmouseover="alert(1)\nx\n```',
  '|<script>alert(1)</script>|b|\n|-|-|\n|<img src=x onerror=alert(1)>|2|',
  '@"><script>alert(1)</script> #1"><img src=x onerror=alert(1)>',
  'a[^1] [^1][^x]\n\n[^1]: <script>alert(1)</script> [b](javascript:alert(1))\n[^x]: "onclick="alert(1)',
  'a[^"><script>alert(1)</script>]\n\n[^"><script>alert(1)</script>]: b',
  '> [!NOTE]\n> <script>alert(1)</script>',
  '> [!"onclick="alert(1)]\n> a',
  '# "><script>alert(1)</script>',
  '# a\n# a\n# a-1\n# user content a\n<b id="a">x</b>',
  ':smile: :"onclick="x: \u{1f600} :__proto__: :constructor:',
  'x"/y"#1 a/b@0123456789012345678901234567890123456789"onclick="x a/b#1"><script>alert(1)</script>',
  '<a target="_blank" href="/x">x</a> <a target="top" rel="opener" href="/x">x</a> <img loading="eager" src="/x">',
  '<span class="emoji evil" aria-label="x" data-alias="y" data-x="z" style="x">x</span>',
  '<blockquote class="attention-header evil">x</blockquote>',
  'www.x.test/"onmouseover="alert(1)',
  'http://x.test/<script>alert(1)</script>',
  'a\0b &#0; `\0` <b title="\0">\0</b> [\0](\0) # \0',
]

const CONTEXTS = [
  '/a/b',
  'a/b',
  'http://other.test/a/b',
  'javascript:alert(1)',
  './javascript:alert(1)//',
  'x/../javascript:alert(1)/..',
  'data:text/html,',
  '"><script>alert(1)</script>',
  '//x" onclick="y',
  '../..',
  '?x#y',
  '\\\\x.test',
  'http:x',
]

describe('Rendered Markdown contains no script', () => {
  for (const mode of MODES)
    it(`for each of ${VECTORS.length} known attacks, in the mode ${mode}`, async () => {
      for (const text of VECTORS) {
        const html = await markdown.render('host', { text, mode, context: '/alice/demo', baseUrl })
        assert.deepEqual(dangers(html), [], `${text}\n→ ${html}`)
      }
    })

  it('for a hostile context', async () => {
    for (const context of [
      'javascript:alert(1)',
      'data:text/html,',
      '"><script>alert(1)</script>',
      '//x" onclick="y',
    ]) {
      const html = await markdown.render('host', {
        text: '[a](b) #1 @x ![i](j)',
        mode: 'gfm',
        context,
        baseUrl,
      })
      assert.deepEqual(dangers(html), [], `${context}\n→ ${html}`)
    }
  })

  it('for any text of parts of Markdown and HTML', async () => {
    const piece = fc.constantFrom(
      ...VECTORS,
      '<',
      '>',
      '"',
      "'",
      '`',
      '[',
      '](',
      ')',
      '\n',
      '\n\n',
      '> ',
      '- ',
      '&',
      '&#',
      ';',
      '|',
      '~~',
      'a',
      '\\',
      '[^a]',
      '\n\n[^a]: ',
      '![',
      '> [!TIP]\n',
      '# ',
      ':tada:',
      'a/b#1',
    )
    const text = fc.array(piece, { maxLength: 12 }).map((pieces) => pieces.join(''))
    await fc.assert(
      fc.asyncProperty(
        text,
        fc.constantFrom(...MODES),
        fc.constantFrom(...CONTEXTS),
        async (given, mode, context) => {
          const html = await markdown
            .render('host', { text: given, mode, context, baseUrl, knownNames: async (names) => names })
            .catch(refusal)
          assert.deepEqual(dangers(html), [])
        },
      ),
      { numRuns: 300 },
    )
  })
})

/** A text may be refused as invalid; other errors are failures. */
const refusal = (error: unknown): string => {
  assert.ok(error instanceof AllotError && error.code === 'invalid', String(error))
  return ''
}
