import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import * as fc from 'fast-check'
import { renderCommonMark } from '../../lib/markdown/commonmark.ts'
import { linksAsWritten } from '../../lib/markdown/html.ts'
import { sanitize } from '../../lib/markdown/sanitize.ts'
import { normalized } from './normalized.ts'

/** Parts of syntax, which are joined in any order. */
const pieces = [
  ...[
    'a',
    'word ',
    ' ',
    '\n',
    '\n\n',
    '\t',
    '    ',
    '# ',
    '> ',
    '- ',
    '1. ',
    '***',
    '`',
    '```js\n',
    '```',
    '\\',
  ],
  ...[
    '*',
    '_',
    '**',
    '[',
    ']',
    '(',
    ')',
    '![',
    '](',
    '<',
    '>',
    '"',
    "'",
    '&',
    '&quot;',
    '&#58;',
    '&Tab;',
    ':',
  ],
  ...['[a](#b)', '[a](/b "c")', '![a](b.png)', '[a](https://example.test/?a=b&c)', '<https://example.test>'],
  ...['[^a]', '\n\n[^a]: ', '\n\n[^a]: b [^b]\n[^b]: ![c [^a]](d)', '> [!TIP]\n'],
  ...['[a](mailto:b@example.test)', '[a]: ', '[a]', '<b>', '</b>', '<b onclick=x>', '<!-- ', ' -->'],
  ...['javascript:', 'JaVaScRiPt:', 'java\tscript:', 'data:text/html,', 'vbscript:', '//example.test', 'x:y'],
  ...['<script>', '</script>', '<img src=x onerror=y>', '\0', '\u00a0', '\u2028', '%0A', '\u{1f600}'],
]

/** As the worker thread does. */
const rendered = (text: string): string => {
  const html = renderCommonMark(text)
  return 'safe' in html ? html.safe : sanitize(html.unsafe, linksAsWritten)
}

const texts = fc.array(fc.oneof(fc.constantFrom(...pieces), fc.string({ maxLength: 5 })), { maxLength: 40 })

describe('CommonMark without raw HTML, which is rendered without the sanitizer,', () => {
  it('would not be changed by the sanitizer', () => {
    const property = fc.property(texts, (parts) => {
      const html = rendered(parts.join(''))
      assert.equal(normalized(html), normalized(sanitize(html, linksAsWritten)))
    })
    fc.assert(property, { numRuns: 3000 })
  })

  for (const text of [
    '[a](javascript:alert(1))',
    '[a](JaVaScRiPt&colon;alert(1))',
    '<javascript:alert(1)>',
    '![a](javascript:alert(1))',
    '![a](mailto:b@example.test)',
    '![a](data:image/svg+xml;base64,PHN2Zz4=)',
    '[a]\n\n[a]: vbscript:msgbox(1)',
    '[![a](javascript:alert(1))](/b)',
  ])
    it(`has no link or image with a forbidden address for ${JSON.stringify(text)}`, () => {
      assert.doesNotMatch(rendered(text), /(?:href|src)="[^/"]/)
    })

  it('has links with rel="nofollow"', () => {
    assert.equal(
      rendered('[*a* "b"](https://example.test/?c=1&d=2 "e < f") and [here](#there)'),
      '<p dir="auto"><a href="https://example.test/?c=1&amp;d=2" title="e &lt; f" rel="nofollow"><em>a</em> &quot;b&quot;</a> and <a href="#user-content-there" rel="nofollow">here</a></p>\n',
    )
  })

  it('has only the text of a link within the alternative text of an image', () => {
    assert.equal(
      rendered('![a [b](/c) d](e.png)'),
      '<p dir="auto"><a href="e.png" target="_blank" rel="nofollow noopener"><img src="e.png" alt="a b d" loading="lazy" /></a></p>\n',
    )
  })
})
