import assert from 'node:assert/strict'
import { after, describe, it } from 'node:test'
import fc from 'fast-check'
import { createHeadingIds } from '../../lib/markdown/html.ts'
import { Markdown } from '../../lib/markdown/index.ts'
import { isLong } from '../support/long.ts'

const markdown = new Markdown({ deadline: 60_000 })
after(() => markdown.close())

const render = (text: string, mode: string) =>
  markdown.render('host', { text, mode, baseUrl: 'http://allot.test' })

const note = (kind: string, title: string, rest = '') =>
  `<blockquote class="attention-header attention-${kind}">\n<p class="attention-title" dir="auto"><strong class="attention-${kind}">${title}</strong></p>\n${rest}</blockquote>\n`

const noted = (text: string) =>
  `<p dir="auto">a<sup id="user-content-fnref:1"><a href="#user-content-fn:1" rel="nofollow">1</a></sup></p>\n<div>\n<hr />\n<ol dir="auto">\n<li id="user-content-fn:1">\n<p dir="auto">${text} <a href="#user-content-fnref:1" rel="nofollow">↩︎</a></p>\n</li>\n</ol>\n</div>\n`

/** Rendered alike in both modes. */
const EVERYWHERE: [title: string, text: string, html: string][] = [
  ['a heading has an id', '## H2 *em*', '<h2 id="user-content-h2-em" dir="auto">H2 <em>em</em></h2>\n'],
  [
    'an id has letters of every script',
    '# Über 日本!',
    '<h1 id="user-content-über-日本" dir="auto">Über 日本!</h1>\n',
  ],
  ['an underlined heading has an id', 'a\nb\n---', '<h2 id="user-content-b" dir="auto">a\nb</h2>\n'],
  ['a heading without words has an id', '# !', '<h1 id="user-content-heading" dir="auto">!</h1>\n'],
  [
    'a link points to the id of a heading',
    '[y](#h2)\n\n## h2',
    '<p dir="auto"><a href="#user-content-h2" rel="nofollow">y</a></p>\n<h2 id="user-content-h2" dir="auto">h2</h2>\n',
  ],
  [
    'a heading in a quoted list has an id',
    '> 1. # a',
    '<blockquote>\n<ol dir="auto">\n<li><h1 id="user-content-a" dir="auto">a</h1>\n</li>\n</ol>\n</blockquote>\n',
  ],
  [
    'equal headings have different ids',
    '# a\n# a\n# a-1\n# a',
    ['a', 'a-1', 'a-1-1', 'a-2']
      .map((id) => `<h1 id="user-content-${id}" dir="auto">${id.startsWith('a-1-') ? 'a-1' : 'a'}</h1>\n`)
      .join(''),
  ],
  ['U+0000 becomes U+FFFD', 'a\0b `\0`', '<p dir="auto">a\ufffdb <code>\ufffd</code></p>\n'],
  ['a quote is an alert', '> [!NOTE]\n> a', note('note', 'Note', '<p dir="auto">a</p>\n')],
  [
    'an alert may be written in any case',
    '> [!wArning]  \n> a',
    note('warning', 'Warning', '<p dir="auto">a</p>\n'),
  ],
  ['an alert may have several paragraphs', '> [!TIP]\n>\n> a', note('tip', 'Tip', '<p dir="auto">a</p>\n')],
  ['an alert may be empty', '> [!CAUTION]', note('caution', 'Caution')],
  [
    'another word does not make an alert',
    '> [!HM]\n> a',
    '<blockquote>\n<p dir="auto">[!HM]\na</p>\n</blockquote>\n',
  ],
  [
    'text after the word prevents an alert',
    '> [!NOTE] a',
    '<blockquote>\n<p dir="auto">[!NOTE] a</p>\n</blockquote>\n',
  ],
  [
    'an anchor with a name is a target of links, as one with an id',
    '[x](#a%20b) <a name="a b" href="y"></a><a name="c"></a><a id="d" name="e"></a>',
    '<p dir="auto"><a href="#user-content-a%20b" rel="nofollow">x</a> <a href="y" id="user-content-a b" rel="nofollow"></a><a id="user-content-c"></a><a id="user-content-d"></a></p>\n',
  ],
  [
    'a link with a forbidden target is replaced by its text',
    '[*a*](javascript:x)',
    '<p dir="auto"><em>a</em></p>\n',
  ],
]

const emoji = (label: string, alias: string, character: string) =>
  `<span class="emoji" aria-label="${label}" data-alias="${alias}">${character}</span>`

const GFM: [title: string, text: string, html: string][] = [
  ['a footnote is listed at the end, with a link back', 'a[^1]\n\n[^1]: b', noted('b')],
  ['a footnote that is not defined is text', 'a[^1]', '<p dir="auto">a[^1]</p>\n'],
  ['a footnote without a reference is not shown', 'a\n\n[^1]: b', '<p dir="auto">a</p>\n'],
  ['the first of two definitions of a footnote counts', 'a[^1]\n\n[^1]: b\n[^1]: c', noted('b')],
  ['a label is case-insensitive', 'a[^A]\n\n[^a]: b', noted('b')],
  ['a footnote may have several lines', 'a[^1]\n\n[^1]: b\nc', noted('b\nc')],
  ['a definition may precede the reference', '[^1]: b\n\na[^1]', noted('b')],
  ['a reference in code is text', '`[^1]`\n\n[^1]: b', '<p dir="auto"><code>[^1]</code></p>\n'],
  [
    'the name of an emoji becomes the emoji',
    ':+1: :nosuch:',
    `<p dir="auto">${emoji('thumbs up', '+1', '👍')} :nosuch:</p>\n`,
  ],
  [
    'an emoji gets its name as a label',
    '😀',
    `<p dir="auto">${emoji('grinning face', 'grinning', '😀')}</p>\n`,
  ],
  [
    'the name of an emoji in code or in a word is text',
    '`:+1:` a:1:b',
    '<p dir="auto"><code>:+1:</code> a:1:b</p>\n',
  ],
]

describe('The additions to CommonMark', () => {
  for (const mode of ['markdown', 'gfm'])
    for (const [title, text, html] of EVERYWHERE)
      it(`${title}, in the mode ${mode}`, async () => {
        // The two libraries write line ends at different places.
        assert.equal((await render(text, mode)).replaceAll('<li>\n<h', '<li><h'), html)
      })

  for (const [title, text, html] of GFM)
    it(`${title}, in the mode gfm`, async () => assert.equal(await render(text, 'gfm'), html))

  it('leave a footnote of the mode markdown to CommonMark, which has none', async () => {
    assert.equal(
      await render('a[^1]\n\n[^1]: b', 'markdown'),
      '<p dir="auto">a<a href="b" rel="nofollow">^1</a></p>\n',
    )
  })

  it('number footnotes by their first references, with an id for each reference, in the mode gfm', async () => {
    const html = await render('[^b] [^a] [^b]\n\n[^a]: of a\n[^b]: of *b* [^a]\n\nend', 'gfm')
    const ids = [...html.matchAll(/ id="user-content-([^"]*)"/g)].map(([, id]) => id)
    const references = ['fnref:1', 'fnref:2', 'fnref:1:2', 'fn:1', 'fnref:2:2', 'fn:2']
    assert.deepEqual(ids, references)
    assert.match(html, /end<\/p>\n<div>/)
    assert.match(html, /of a <a href="#user-content-fnref:2" rel="nofollow">↩︎<\/a> <a /)
  })

  it('allow several paragraphs in a footnote, in the mode gfm', async () => {
    const html = await render('[^b] [^a] [^b]\n\n[^a]: of a\n[^b]: of b [^a]\n\n    more\n\nend', 'gfm')
    const ids = [...html.matchAll(/ id="user-content-([^"]*)"/g)].map(([, id]) => id)
    const references = ['fnref:1', 'fnref:2', 'fnref:1:2', 'fn:1', 'fnref:2:2', 'fn:2']
    assert.deepEqual(ids, references)
    assert.match(html, /end<\/p>\n<div>/)
    assert.match(html, /more <a href="#user-content-fnref:1" rel="nofollow">↩︎<\/a> <a /)
  })
})

describe('Ids of headings', () => {
  it('are distinct for any headings', () => {
    const heading = fc.oneof(fc.constantFrom('a', 'a-1', 'a 1', 'A', 'user content a', '!', ''), fc.string())
    fc.assert(
      fc.property(fc.array(heading), (headings) => {
        const idOf = createHeadingIds()
        const ids = headings.map(idOf)
        assert.equal(new Set(ids).size, ids.length)
        for (const id of ids) assert.match(id, /^user-content-[\p{L}\p{N}_-]+$/u)
      }),
    )
  })

  it('take linear time for 100,000 equal headings', () => {
    const millisecondsOf = (headings: number): number => {
      const idOf = createHeadingIds()
      const begun = performance.now()
      for (let count = 0; count < headings; count++) idOf('x')
      assert.equal(idOf('x'), `user-content-x-${headings}`)
      return performance.now() - begun
    }
    const one = millisecondsOf(100_000)
    if (isLong) assert.ok(millisecondsOf(400_000) / one < 10)
  })
})
