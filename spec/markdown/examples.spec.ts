import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { after, describe, it } from 'node:test'
import { tests } from 'commonmark-spec'
import { Markdown } from '../../lib/markdown/index.ts'
import { normalized } from './normalized.ts'

const markdown = new Markdown({ deadline: 60_000 })
after(() => markdown.close())

const baseUrl = 'http://allot.test'
const render = (text: string, mode: string) => markdown.render('host', { text, mode, baseUrl })

/** The sanitizer changes raw HTML, so the output of these examples differs. */
const hasRawHtml = ({ section, html, markdown: text }: { section: string; html: string; markdown: string }) =>
  /HTML/.test(section) || rawTags(text).some((tag) => html.includes(tag))
const rawTags = (text: string) => text.match(/<\/?[a-z][a-z0-9-]*(?:\s[^<>]*)?\/?>/gi) ?? []

const tabs = (text: string) => text.replaceAll('→', '\t')

describe('The mode `markdown` is CommonMark', () => {
  // The specification writes a tab as an arrow.
  const tabbed = tests.map((one) => ({ ...one, markdown: tabs(one.markdown), html: tabs(one.html) }))
  const examples = tabbed.filter((example) => !hasRawHtml(example))

  it('is compared with at least 560 of the examples of CommonMark 0.31.2', () => {
    assert.ok(tests.length >= 652 && examples.length >= 560, `${examples.length} of ${tests.length}`)
  })

  for (const { number, section, markdown: text, html } of examples)
    it(`renders example ${number} (${section}) as the specification does`, async () => {
      assert.equal(normalized(await render(text, 'markdown')), normalized(html))
    })
})

interface GfmExample {
  number: number
  section: string
  markdown: string
  html: string
}

describe('The mode `gfm` is GitHub Flavored Markdown', () => {
  const file = new URL('./gfm/examples.json', import.meta.url)
  const examples = JSON.parse(readFileSync(file, 'utf8')) as GfmExample[]

  /** Known differences, by the number of the example. */
  const misses = new Map([[653, 'the sanitizer removes scripts and styles instead of showing them as text']])

  it('is compared with all 24 examples of the extensions, of which 23 agree', () => {
    assert.equal(examples.length, 24)
    assert.equal(examples.length - misses.size, 23)
  })

  for (const { number, section, markdown: text, html } of examples)
    it(`renders example ${number} (${section}) ${misses.has(number) ? `with a known difference: ${misses.get(number)}` : 'as the specification does'}`, async () => {
      const same = normalized(await render(text, 'gfm')) === normalized(html)
      if (misses.has(number))
        assert.ok(!same, 'this example agrees now: remove it from the known differences')
      else assert.equal(normalized(await render(text, 'gfm')), normalized(html))
    })
})
