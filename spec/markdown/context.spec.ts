import assert from 'node:assert/strict'
import { after, describe, it } from 'node:test'
import { Markdown } from '../../lib/markdown/index.ts'

const markdown = new Markdown({ deadline: 60_000 })
after(() => markdown.close())

const baseUrl = 'http://allot.test'
const at = `${baseUrl}/alice/demo`
const COMMIT = 'abcdef0123'.repeat(4)

/** All accounts but `nobody` exist. */
const knownNames = async (names: string[]) => names.filter((name) => name !== 'nobody')

const CASES: [text: string, mode: string, context: string, wiki: boolean, expected: string | RegExp][] = [
  ['[a](b.md)', 'gfm', '/alice/demo', false, `href="${at}/b.md"`],
  ['[a](b.md)', 'gfm', 'alice/demo/', false, `href="${at}/b.md"`],
  ['[a](b.md)', 'gfm', at, false, `href="${at}/b.md"`],
  ['[a](./c/../b.md)', 'comment', '/alice/demo', false, `href="${at}/b.md"`],
  ['![a](b.png)', 'gfm', '/alice/demo', false, `src="${at}/b.png"`],
  ['[a](page)', 'gfm', '/alice/demo', true, `href="${at}/wiki/page"`],
  ['[a](page)', 'wiki', '/alice/demo', false, `href="${at}/wiki/page"`],
  ['![a](b.png)', 'wiki', '/alice/demo', false, `src="${at}/wiki/raw/b.png"`],
  ['[a](http://x.test/y)', 'gfm', '/alice/demo', false, 'href="http://x.test/y"'],
  ['[a](#part)', 'gfm', '/alice/demo', false, 'href="#user-content-part"'],
  ['[a](mailto:a@b.test)', 'gfm', '/alice/demo', false, 'href="mailto:a@b.test"'],
  ['[a](b.md)', 'markdown', '/alice/demo', false, 'href="/alice/demo/b.md"'],
  ['![a](b.md)', 'markdown', '/alice/demo', false, 'src="/alice/demo/b.md"'],
  ['[a](b.md)', 'markdown', 'alice/demo', true, 'href="alice/demo/b.md"'],
  ['[a](b.md)', 'markdown', at, false, `href="${at}/b.md"`],
  ['[a](/b)', 'markdown', '/alice/demo', false, 'href="/b"'],
  ['[a](b.md)', 'markdown', '../..', false, 'href="b.md"'],
  ['[a](b.md)', 'markdown', 'javascript:x', false, '<p dir="auto">a</p>'],
  ['[a](b.md)', 'markdown', './javascript:x', false, '<p dir="auto">a</p>'],
  ['[a](b.md)', 'gfm', 'javascript:x', false, '<p dir="auto">a</p>'],
  ['[a](b.md)', 'markdown', '', false, 'href="b.md"'],
  ['[a](b.md)', 'gfm', '', false, 'href="b.md"'],
  ['hello @bob, bye', 'gfm', '', false, `<a href="${baseUrl}/bob" class="mention" rel="nofollow">@bob</a>,`],
  ['hello @bob.', 'comment', '', false, `>@bob</a>.`],
  ['@bob', 'markdown', '/alice/demo', false, '<p dir="auto">@bob</p>'],
  ['`@bob #1`', 'gfm', '/alice/demo', false, '<code>@bob #1</code>'],
  ['[@bob](x)', 'gfm', '/alice/demo', false, />@bob<\/a><\/p>/],
  ['me@bob', 'gfm', '/alice/demo', false, '<p dir="auto">me@bob</p>'],
  [
    'see #12',
    'comment',
    '/alice/demo',
    false,
    `<a href="${at}/issues/12" class="ref-issue" rel="nofollow">#12</a>`,
  ],
  ['see #12', 'gfm', '/alice/demo', false, '<p dir="auto">see #12</p>'],
  ['see #12', 'comment', '/alice', false, '<p dir="auto">see #12</p>'],
  ['see #12', 'comment', '/alice/demo/src/branch/main', false, `href="${at}/issues/12"`],
  ['see #12', 'gfm', '/alice/demo', true, `href="${at}/issues/12"`],
  [
    '@nobody @bob',
    'gfm',
    '',
    false,
    `@nobody <a href="${baseUrl}/bob" class="mention" rel="nofollow">@bob</a>`,
  ],
  [
    'acme/proj#1',
    'gfm',
    '',
    false,
    `<a href="${baseUrl}/acme/proj/issues/1" class="ref-issue" rel="nofollow">acme/proj#1</a>`,
  ],
  [
    'acme/proj#1b a/b/c#1 `a/b#1`',
    'gfm',
    '',
    false,
    '<p dir="auto">acme/proj#1b a/b/c#1 <code>a/b#1</code></p>',
  ],
  [
    `alice/demo@${COMMIT} alice/demo@${COMMIT.slice(0, 39)}`,
    'gfm',
    '',
    false,
    `<a href="${at}/commit/${COMMIT}" rel="nofollow">alice/demo@${COMMIT}</a> alice/demo@${COMMIT.slice(0, 39)}`,
  ],
  ['see #12', 'comment', '', false, '<p dir="auto">see #12</p>'],
  ['a#12 #12b', 'comment', '/alice/demo', false, '<p dir="auto">a#12 #12b</p>'],
  ['see #12', 'markdown', '/alice/demo', false, '<p dir="auto">see #12</p>'],
  ['see `x` #12.', 'comment', '/alice/demo', false, `${at}/issues/12`],
  ['# @bob\n\n|#12|\n|-|\n|- @bob|', 'wiki', '/alice/demo', false, /(?:>@bob<\/a>(?:.|\n)*){2}/],
  ['- see #12', 'comment', '/alice/demo', false, `${at}/issues/12`],
  [
    'write to me@bob.test',
    'gfm',
    '/alice/demo',
    false,
    '<a href="mailto:me@bob.test" rel="nofollow">me@bob.test</a>',
  ],
  ['http://x.test/@bob#12', 'gfm', '/alice/demo', false, '<a href="http://x.test/@bob#12" rel="nofollow">'],
  ['\\@bob', 'gfm', '/alice/demo', false, '<p dir="auto">@bob</p>'],
  [`@${'b'.repeat(41)}`, 'gfm', '', false, `<p dir="auto">@${'b'.repeat(41)}</p>`],
  ['<code>@bob *#12*</code>', 'gfm', '/alice/demo', false, '<code>@bob <em>#12</em></code>'],
  ['<a href="x">@bob **#12**</a>', 'gfm', '/alice/demo', false, '>@bob <strong>#12</strong></a>'],
  ['<pre>\n@bob\n</pre>', 'gfm', '/alice/demo', false, '<pre>\n@bob\n</pre>'],
  ['<code>x</code> @bob', 'gfm', '', false, '>@bob</a>'],
  ['<a href="b.md">a</a>', 'gfm', '/alice/demo', false, `href="${at}/b.md"`],
  ['<img src="b.png">', 'wiki', '/alice/demo', false, `src="${at}/wiki/raw/b.png"`],
  ['<img src="b.png">', 'markdown', '/alice/demo', false, 'src="b.png"'],
  ['[a](b)', 'gfm', '/alice/demo?x=1#y', false, `href="${at}/b"`],
  ['[a](b)', 'gfm', `/${'a'.repeat(3000)}`, false, 'href="b"'],
  ['[a](b) #12', 'gfm', `${'/'.repeat(500_000)}x`, false, 'href="b"'],
  ['a\nb', 'comment', '', false, /a<br ?\/?>\s*b/],
  ['a\nb', 'gfm', '', false, '<p dir="auto">a\nb</p>'],
]

const shortened = (context: string) =>
  context.length > 100 ? `of ${context.length} characters` : JSON.stringify(context)

describe('The context of a text determines the targets of links and references:', () => {
  for (const [text, mode, context, wiki, expected] of CASES)
    it(`${JSON.stringify(text)} in mode ${mode} with context ${shortened(context)}${wiki ? ' and wiki' : ''}`, async () => {
      const html = await markdown.render('host', { text, mode, context, wiki, baseUrl, knownNames })
      if (typeof expected === 'string') assert.ok(html.includes(expected), html)
      else assert.match(html, expected)
    })
})
