import assert from 'node:assert/strict'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { type IncomingMessage, request } from 'node:http'
import { join } from 'node:path'
import { buffer } from 'node:stream/consumers'
import { describe, it } from 'node:test'
import { gunzipSync } from 'node:zlib'
import { readConfig } from '../../bin/config/config.ts'
import { memory } from '../../drivers/memory/index.ts'
import { createAllot } from '../../lib/index.ts'
import { readDocument } from '../readme/documents.ts'
import { temporaryDirectory } from '../support/folder.ts'
import type { Mount } from '../support/test-server.ts'
import { startPages } from './browser.ts'
import { MARKUP } from './fixture.ts'

/** The header of a page; no other part of it shows the brand. */
const headerOf = (html: string): string => /<header>.*<\/header>/s.exec(html)![0]

const PAGES = ['/-/sign-in', '/', '/-/admin', '/-/storage/nobody']

describe('The brand of the host', () => {
  it('is on every page: the name, and a link back with its text', async () => {
    const allot = await startPages({
      pages: { name: 'Example Code', backUrl: 'https://example.org/home?a=1&b=2', backText: 'To Example' },
    })
    const root = await allot.signedIn('', allot.root.token)
    for (const [path, browser] of PAGES.map(
      (path) => [path, path === '/-/sign-in' ? allot.browser() : root] as const,
    )) {
      const { text } = await browser.get(path)
      assert.match(text, /<title>[^<]+ · Example Code<\/title>/, path)
      assert.match(headerOf(text), /<a class="brand" href="\/"><bdi>Example Code<\/bdi><\/a>/, path)
      assert.match(
        headerOf(text),
        /<a href="https:\/\/example\.org\/home\?a=1&amp;b=2"><bdi>To Example<\/bdi><\/a>/,
        path,
      )
      assert.doesNotMatch(text, /Allot/)
    }
  })

  it('is Allot without a logo and without a link back when the host names none', async () => {
    const allot = await startPages()
    const { text, headers } = await allot.browser().get('/-/sign-in')
    assert.match(text, /<title>Sign in · Allot<\/title>.*<link rel="icon" href="\/-\/icon\.svg"/s)
    assert.match(headerOf(text), /^<header><a class="brand" href="\/"><bdi>Allot<\/bdi><\/a><\/header>$/)
    assert.match(headers.get('content-security-policy')!, /; img-src 'self';/)
  })

  it('has a logo in place of the name and as the icon, with the name as its alternative text', async () => {
    const allot = await startPages({ pages: { name: 'Example', logo: '/brand/logo.svg' } })
    const { text, headers } = await allot.browser().get('/-/sign-in')
    assert.match(
      headerOf(text),
      /<a class="brand" href="\/"><img src="\/brand\/logo\.svg" alt="Example"\/?><\/a>/,
    )
    assert.match(text, /<link rel="icon" href="\/brand\/logo\.svg"/)
    assert.match(headers.get('content-security-policy')!, /; img-src 'self';/)
  })

  it('allows images of the origin of the logo, and of no other origin, on pages and files', async () => {
    const allot = await startPages({ pages: { logo: 'https://CDN.example.org:8443/a/logo.svg?v=1' } })
    for (const path of ['/-/sign-in', '/-/style.css', '/-/storage/x'])
      assert.equal(
        (await allot.browser().get(path)).headers.get('content-security-policy'),
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' https://cdn.example.org:8443; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
        path,
      )
  })

  it('has its pictures of accounts in the API and on the pages, which allow images of their origin', async () => {
    const avatarUrl = 'https://People.example.org:8443/{username}/{username}.png?s=1'
    const allot = await startPages({ avatarUrl })
    await allot.person('Ann.B')
    await allot.as(allot.root, 'POST', '/orgs', { username: 'acme' })
    const urlOf = async (path: string) => (await allot.as(allot.root, 'GET', path)).body.avatar_url
    const [ann, acme] = ['Ann.B', 'acme'].map((name) => avatarUrl.replaceAll('{username}', name))
    assert.deepEqual([await urlOf('/users/Ann.B'), await urlOf('/orgs/acme')], [ann, acme])
    const { text, headers } = await allot.browser().get('/Ann.B')
    assert.ok(text.includes(`<img class="avatar large" src="${ann}" alt loading="lazy"`), text)
    assert.match(
      headers.get('content-security-policy')!,
      /; img-src 'self' https:\/\/people\.example\.org:8443;/,
    )
  })

  it('is escaped', async () => {
    const allot = await startPages({
      pages: { name: MARKUP, backUrl: `/"><script>`, backText: MARKUP, logo: `/"onerror="alert(1)` },
    })
    const { text } = await allot.browser().get('/-/sign-in')
    assert.doesNotMatch(text, /<script>|<img src=x|"onerror=|<\/td/)
    assert.match(headerOf(text), /<img src="\/&quot;onerror=&quot;alert\(1\)" alt="&lt;img src=x /)
    assert.match(headerOf(text), /<bdi>&lt;img src=x .*<\/bdi>/)
  })

  it('has a style sheet and a script that are compressed for clients that accept it', async () => {
    const { base } = await startPages()
    for (const path of ['/-/style.css', '/-/script.js']) {
      const ask = async (encoding: string, tag = '') => {
        const req = request(base + path, { headers: { 'Accept-Encoding': encoding, 'If-None-Match': tag } })
        const [res] = (await once(req.end(), 'response')) as [IncomingMessage]
        return { status: res.statusCode, headers: res.headers, body: await buffer(res) }
      }
      const plain = await ask('identity')
      for (const encoding of ['', 'br', 'gzip;q=0', 'br, gzip; q=0.0'])
        assert.deepEqual((await ask(encoding)).body, plain.body, encoding)
      for (const encoding of ['gzip', 'br;q=1, GZIP ; q=0.5', 'deflate,gzip;q=1.0,*;q=0.5']) {
        const { headers, body } = await ask(encoding)
        assert.deepEqual([headers['content-encoding'], headers.vary], ['gzip', 'Accept-Encoding'], encoding)
        assert.deepEqual(gunzipSync(body), plain.body)
        assert.ok(body.length < plain.body.length / 2)
        assert.notEqual(headers.etag, plain.headers.etag)
        assert.equal((await ask(encoding, headers.etag)).status, 304)
      }
    }
  })

  it('has a style sheet that keeps what the host has set in Vary', async () => {
    const mount: Mount =
      (_, { pages }) =>
      (req, res) => {
        res.setHeader('Vary', 'Cookie')
        pages(req, res)
      }
    const { headers } = await (await startPages({}, { mount })).browser().get('/-/style.css')
    assert.equal(headers.get('vary'), 'Cookie, Accept-Encoding')
  })

  it('has its CSS at the end of the style sheet, with another ETag', async () => {
    const plain = await startPages()
    const before = await plain.browser().get('/-/style.css')
    const css = '\n:root { --link: #7a1fa2; }\n.brand::after { content: "</style>ä"; }\n'
    const allot = await startPages({ pages: { css } })
    const { text, headers } = await allot.browser().get('/-/style.css')
    assert.equal(text, before.text + css)
    assert.equal(headers.get('content-type'), 'text/css;charset=utf-8')
    assert.notEqual(headers.get('etag'), before.headers.get('etag'))
  })

  it('can set the CSS variables that the documentation lists, each with its default in both modes', async () => {
    const plain = await startPages()
    const { text } = await plain.browser().get('/-/style.css')
    const [, light, dark] =
      /^:root \{([^}]*)\}\n@media \(prefers-color-scheme: dark\) \{ :root \{([^}]*)\}/m.exec(text)!
    const values = (rules: string) =>
      [...rules.matchAll(/(--[\w-]+): ([^;]+);/g)].map(([, name, value]) => [name, value])
    const rows = [
      ...readDocument('docs/configuration.md').matchAll(
        /^\| `(--[\w-]+)` \| `([^`]+)` \| (?:`([^`]+)`)? \|/gm,
      ),
    ]
    assert.deepEqual(
      [...rows.map(([, name, value]) => [name, value]), ['--mark', 'url("icon.svg")']],
      values(light!),
    )
    assert.deepEqual(
      rows.flatMap(([, name, , value]) => (value === undefined ? [] : [[name, value]])),
      values(dark!),
    )
  })
})

const IMAGE = 'expected a path such as /logo.svg, or a URL that begins with https:// and a host'
const BACK = 'expected a path such as /home, or a URL that begins with https:// or http:// and a host'
const LINE = 'expected text of one line'

/** Options that are refused, each with the sentence that says why. */
const BAD: readonly [option: string, values: readonly unknown[], message: string][] = [
  ['name', ['', '  ', 'two\nlines', 'a\u0000', 'a\u2028b'], LINE],
  ['name', ['x'.repeat(101)], 'expected at most 100 characters'],
  ['name', [7], 'expected a string, received the number 7'],
  ['backText', ['', '\t'], LINE],
  [
    'logo',
    [
      '',
      'logo.svg',
      '//cdn.example.org/logo.svg',
      'http://cdn.example.org/logo.svg',
      'data:image/svg+xml,<svg/>',
      'javascript:alert(1)',
      '/a b',
      '/\\cdn.example.org',
      "https://cdn.example.org;script-src 'unsafe-inline'",
      'https://cdn.example.org;script-src/logo.svg',
      'https://*/logo.svg',
      'https://user:secret@cdn.example.org/logo.svg',
      'https://',
      '/logo\n.svg',
    ],
    IMAGE,
  ],
  ['logo', [`/${'x'.repeat(2000)}`], 'expected at most 2000 characters'],
  [
    'backUrl',
    ['', 'home', '//example.org', 'javascript:alert(1)', 'data:text/html,x', 'mailto:a@b', 'http://a b'],
    BACK,
  ],
  ['css', [7], 'expected a string, received the number 7'],
  ['css', ['x'.repeat(65_537)], 'expected at most 65536 characters'],
]

describe('An option of the brand', () => {
  for (const [option, values, message] of BAD)
    it(`is refused: ${option} = ${values.map((value) => JSON.stringify(value).slice(0, 60)).join(', ')}`, async () => {
      for (const value of values)
        await assert.rejects(
          createAllot({ driver: memory(), repositories: false, pages: { [option]: value } }),
          { code: 'invalid', message: `pages.${option}: ${message}` },
          JSON.stringify(value),
        )
    })

  it('in the configuration file has the same checks, and its key in messages', () => {
    const file = join(temporaryDirectory(), 'allot.toml')
    const read = (text: string) => {
      writeFileSync(file, text)
      return readConfig(file).pages
    }
    const { name, backUrl, css } = read(`[pages]
name = "Example"
back_url = "/home"
css = """
:root { --link: #300; }
"""
`)
    assert.deepEqual([name, backUrl, css], ['Example', '/home', ':root { --link: #300; }\n'])
    assert.throws(() => read('[pages]\nback_url = "home"\ncss = 7\n'), {
      message: `${file}:\n  pages.back_url: ${BACK}\n  pages.css: expected a string, received the number 7`,
    })
  })
})
