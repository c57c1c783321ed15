import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { get, type IncomingMessage } from 'node:http'
import { before, describe, it } from 'node:test'
import { aCheckout, git, urlFor } from '../git/client.ts'
import { madeBefore } from '../support/test-server.ts'
import { waitFor } from '../support/wait-for.ts'
import type { PageClient } from './browser.ts'
import { MARKUP, PASSWORD } from './fixture.ts'
import { startSite } from './site.ts'

let mia: PageClient
let noa: PageClient
const visitor = () => site.browser()
const site = madeBefore(() => startSite())
before(async () => {
  ;[mia, noa] = [site.browser(), site.browser()]
  await mia.signIn('mia', PASSWORD)
  await noa.signIn('noa', PASSWORD)
})

const HTML = { accept: 'text/html' }

/** The text of the main part of a page. */
const wordsOf = (html: string): string =>
  html
    .replace(/^.*<main/s, '')
    .replace(/<wbr\/?>/g, '')
    .replace(/<[^>]*>/g, ' ')
    .replace(/\s+/g, ' ')

const shown = async (path: string, browser = visitor()): Promise<string> => {
  const { status, text } = await browser.get(path, HTML)
  assert.equal(status, 200, path)
  return wordsOf(text)
}

describe('The `html_url` and the `avatar_url` of the API', () => {
  it('lead to a page of each user, organization, repository, issue, comment, release and package', async () => {
    const urls: string[] = []
    for (const path of [
      '/users/mia',
      '/orgs/guild',
      '/repos/mia/atlas',
      '/repos/mia/atlas/issues/1',
      '/repos/mia/atlas/issues/1/comments',
      '/repos/mia/atlas/releases',
      '/packages/mia',
      '/repos/mia/atlas/contents/src',
      '/repos/mia/atlas/commits',
    ]) {
      const { text } = await site.request('GET', path)
      urls.push(...[...text.matchAll(/"(?:html_url|avatar_url)":"([^"]*)"/g)].map(([, url]) => url!))
    }
    assert.ok(urls.length > 15)
    for (const url of new Set(urls)) {
      const { status, headers } = await fetch(url, { headers: HTML })
      assert.equal(status, 200, url)
      assert.match(
        headers.get('content-type')!,
        /^(?:text\/html;charset=utf-8|image\/(?:svg\+xml|png))$/,
        url,
      )
    }
  })

  it('name an image of the account, which is made of its name and revalidated by its ETag', async () => {
    const { body } = await site.request('GET', '/users/mia')
    assert.equal(body.avatar_url, `${site.base}/avatars/mia`)
    const image = await fetch(body.avatar_url)
    assert.match(await image.text(), /^<svg [^>]*>.*>M<\/text><\/svg>$/)
    assert.match(image.headers.get('content-security-policy')!, /sandbox/)
    const held = { 'if-none-match': image.headers.get('etag')! }
    assert.equal((await fetch(body.avatar_url, { headers: held })).status, 304)
    for (const name of ['%3Csvg%3E', '-', 'a'.repeat(41)])
      assert.equal((await fetch(`${site.base}/avatars/${name}`)).status, 404, name)
    const nobody = await fetch(`${site.base}/avatars/nobody`)
    assert.equal(nobody.status, 200, 'it does not tell who exists')
  })
})

describe('The page of a person or an organization', () => {
  it('shows who it is, and the repositories and members that the viewer may know of', async () => {
    const page = await shown('/mia')
    assert.match(page, /מיה הרצליה mia .* atlas An atlas of small places/)
    assert.match(page, /About Draws maps\. .* חיפה example\.org\/maps Since \d{4}-\d\d-\d\d $/)
    assert.doesNotMatch(page, /diary|Storage/)
    assert.match(
      await shown('/mia', mia),
      /View storage .* diary private .* Organizations 1 organization G guild/,
    )
    assert.match(await shown('/guild'), /Guild of mapmakers guild · organization .* No repositories/)
    assert.match(await shown('/guild', mia), /plans private .* Members 1 member .* mia/)
  })

  it('shows its packages, and the files of each version', async () => {
    assert.match(await shown('/mia/-/packages'), /1 version .*atlas-tools 1\.0\.0 generic 63 B in 1 file/)
    const path = '/mia/-/packages/generic/atlas-tools/1.0.0'
    const hash = createHash('sha256').update(MARKUP).digest('hex')
    assert.match(await shown(path), new RegExp(`tools\\.tar\\.gz SHA-256 ${hash} 63 B`))
    const file = await visitor().get(`${path}/tools.tar.gz`)
    assert.deepEqual(
      [file.text, file.headers.get('content-type'), file.headers.get('content-disposition')!.split(';')[0]],
      [MARKUP, 'application/octet-stream', 'attachment'],
    )
  })
})

describe('The page of a repository', () => {
  it('shows its description, its addresses, its files, its README and its size', async () => {
    const page = await shown('/mia/atlas')
    assert.match(page, /branch main .* Ada · Draw finer lines · \d{4}-\d\d-\d\d/)
    assert.match(
      page,
      /guide .*?folder places .*?folder src .*?folder \.gitmodules .*?74 B README\.md .*? blank .*?0 B/,
    )
    assert.match(page, /draw .*?link lib @ 1234567890 .*?submodule/)
    assert.match(page, /README\.md Atlas A small atlas, drawn by a program \. .* North harbor 1,204/)
    const { repositories } = site.allot.hosting
    const { size } = (await repositories.find(null, 'mia', 'atlas'))!
    const { text } = await visitor().get('/mia/atlas')
    const addresses = [...text.matchAll(/<code data-copy>(.*?)<\/code>/g)].map(([, url]) =>
      url!.replaceAll('<wbr/>', ''),
    )
    assert.deepEqual(addresses, [`${site.base}/mia/atlas.git`, 'ssh://git@127.0.0.1:2222/mia/atlas.git'])
    assert.match(text, new RegExp(`<data value="${size}" title="${size.toLocaleString('en')} bytes">`))
  })

  it('names the last commit of each entry of a folder, as soon as it is found', async () => {
    const last = (name: string, subject: string) =>
      new RegExp(` ${name} ${subject}( &lt;img)?[^.]* \\d{4}-\\d\\d-\\d\\d `)
    for (const [path, name, subject] of [
      ['/mia/atlas', 'guide', 'Draw finer lines'],
      ['/mia/atlas', 'places', 'Draw the first places'],
      ['/mia/atlas/src/branch/main/src', 'draw\\.ts', 'Draw finer lines'],
      ['/mia/atlas/src/branch/main/src', 'long\\.js', 'Draw the first places'],
      ['/mia/atlas/src/tag/v1.0/src', 'draw\\.ts', 'Draw the first places'],
      ['/mia/atlas/src/branch/main/places?page=3', 'place-229\\.json', 'Draw the first places'],
    ] as const)
      await waitFor(async () => last(name, subject).test(await shown(path)))
    const { text } = await visitor().get('/mia/atlas')
    assert.match(text, new RegExp(`href="/mia/atlas/commit/${site.commits.main}">`))
  })

  it('loads no picture of another server, and pictures of the README from its files', async () => {
    const { text } = await visitor().get('/mia/atlas')
    assert.match(text, /<img src="\/mia\/atlas\/raw\/branch\/main\/guide\/logo\.png" alt="The logo"/)
    assert.match(
      text,
      /<a href="https:\/\/example\.org\/badge\.png"[^>]*><span class="blocked">Elsewhere<\/span><\/a>/,
    )
    assert.match(text, /href="\/mia\/atlas\/src\/branch\/main\/src\/draw\.ts"/)
    assert.match(text, /<a href="\/noa" class="mention"/)
    assert.doesNotMatch(text, /<script>|onerror/)
  })

  it('shows the text of a picture that browsers would not show, with a link to it and never two', async () => {
    await site.as(site.mia, 'POST', '/user/repos', { name: 'pictures', auto_init: true })
    const text = [
      '![A drawing](drawing.svg)',
      '[![Linked](https://example.org/a.png)](https://example.org/b)',
      '![](https://example.org/c.png)',
      '![Kept](x.png)',
    ].join('\n\n')
    const content = Buffer.from(text).toString('base64')
    const { body } = await site.as(site.mia, 'GET', '/repos/mia/pictures/contents/README.md')
    const { sha } = body
    const path = '/repos/mia/pictures/contents/README.md'
    assert.equal((await site.as(site.mia, 'PUT', path, { content, sha, message: 'Edit' })).status, 200)
    const { text: html } = await visitor().get('/mia/pictures')
    const [, prose] = /<div class="prose"[^>]*>(.*?)<\/div>/s.exec(html)!
    const src = '/mia/pictures/src/branch/main'
    const linked = [...prose!.matchAll(/<a [^>]*href="([^"]*)"[^>]*>((?:(?!<a ).)*?)<\/a>/gs)]
    assert.deepEqual(
      linked.map(([, to, inner]) => [to!.replace(src, ''), inner!.replace(/<[^>]*>/g, '')]),
      [
        ['/drawing.svg', 'A drawing'],
        ['https://example.org/b', 'Linked'],
        ['https://example.org/c.png', 'Picture of example.org'],
        ['/x.png', ''],
      ],
    )
    assert.equal(prose!.match(/class="blocked"/g)!.length, 3)
    assert.equal(prose!.match(/<img /g)!.length, 1)
    await site.as(site.mia, 'DELETE', '/repos/mia/pictures')
  })

  it('shows how to push to an empty one', async () => {
    assert.match(
      await shown('/mia/empty'),
      /Nothing has been pushed yet .* git init -b main .* git remote add origin http:\S+\/mia\/empty\.git git push -u origin main/,
    )
  })

  it('leads on from a former name', async () => {
    await site.as(site.mia, 'POST', '/user/repos', { name: 'before' })
    await site.as(site.mia, 'PATCH', '/repos/mia/before', { name: 'after' })
    const { status, headers } = await visitor().get('/mia/before/issues?state=all')
    assert.deepEqual([status, headers.get('location')], [301, `${site.base}/mia/after/issues?state=all`])
    await site.as(site.mia, 'DELETE', '/repos/mia/after')
    const { accounts } = site.allot.hosting
    const { id } = await accounts.createUser({ name: 'before' })
    await accounts.rename(id, 'after')
    const page = await visitor().get('/before')
    assert.deepEqual([page.status, page.headers.get('location')], [301, `${site.base}/after`])
    await accounts.remove(id)
  })
})

describe('The files of a repository on its pages', () => {
  it('are colored by their language, and numbered', async () => {
    const { text } = await visitor().get('/mia/atlas/src/branch/main/src/draw.ts')
    assert.match(text, /<li id="L1"><i class="k">import<\/i> \{ readFile \} <i class="k">from<\/i>/)
    assert.match(text, /<li id="L5"> {2}<i class="c">\/\/ &lt;img src=x onerror/)
    assert.match(text, /9 lines.*· .*<data value="527"/)
  })

  it('begin at the side where their language is written from, but source code at the left', async () => {
    for (const [path, direction] of [
      [`guide/${encodeURIComponent('مقدمة.txt')}`, 'auto'],
      ['src/draw.ts', 'ltr'],
    ]) {
      const { text } = await visitor().get(`/mia/atlas/src/branch/main/${path}`)
      assert.match(text, new RegExp(`<ol class="source" start="1" dir="${direction}"`), path)
    }
  })

  for (const [what, path, words] of [
    ['of a branch whose name has a slash', 'branch/feature/rivers/README.md', /Atlas/],
    ['of a tag', 'tag/v1.0/src/draw.ts', /y \/ scale\)\.toFixed\( 2 \)/],
    [
      'of a tag, at the address that the API gives',
      'branch/v1.0/src/draw.ts',
      /y \/ scale\)\.toFixed\( 2 \)/,
    ],
    ['that is markdown', 'branch/main/guide/install.md', /Source History Download Install Run npm install/],
    ['that is markdown, as source', 'branch/main/guide/install.md?source=1', /Preview History .* # Install/],
    ['that is not text', 'branch/main/data.bin', /2\.93 KiB History Download The file is not text\. $/],
    ['that is empty', 'branch/main/blank', /The file is empty\./],
    ['that Git LFS keeps', 'branch/main/map.psd', /kept by Git LFS and has 4\.77 MiB\./],
    ['that is a symbolic link', 'branch/main/draw', /A symbolic link to src\/draw\.ts \./],
    [
      'that is a submodule',
      'branch/main/lib',
      /Submodule History Another repository, code\.example\.org\/mia\/lib\.git , at commit (?:1234567890){4} /,
    ],
    ['with one long line', 'branch/main/src/one-line.js', /const all = \[0, 0, .* …/],
    [
      'in a folder with many',
      'branch/main/places?page=3',
      /place-200\.json .* Page 3 of 3 · 230 entries First Previous $/,
    ],
  ] as const)
    it(`are shown: one ${what}`, async () => {
      assert.match(await shown(`/mia/atlas/src/${path}`), words)
    })

  it('have the links to other parts above a long list or file, too', async () => {
    for (const path of ['places?page=2', 'src/long.js?from=100']) {
      const { text } = await visitor().get(`/mia/atlas/src/branch/main/${path}`)
      const parts = [
        ...text.matchAll(
          /<nav class="pages" aria-label="([^"]*)">(.*?)<\/nav>|<(?:ol|ul) class="(?:source|plain entries)"/gs,
        ),
      ]
      assert.deepEqual(
        parts.map(([, label]) => label),
        ['Pages of the list, above it', undefined, 'Pages of the list'],
      )
      assert.equal(parts[0]![2], parts[2]![2])
    }
  })

  it('are shown in parts when they are long', async () => {
    const part = async (query = '') => {
      const { text } = await visitor().get(`/mia/atlas/src/branch/main/src/long.js${query}`)
      const [from, to] = /Lines ([\d,]+) to ([\d,]+) of 9,000/
        .exec(text)!
        .slice(1)
        .map((number) => Number(number.replace(',', ''))) as [number, number]
      const startOf = (link: string) => Number(new RegExp(`from=(\\d+)"[^>]*>${link}<`).exec(text)![1])
      return { words: wordsOf(text), from, to, startOf }
    }
    const first = await part()
    assert.match(first.words, /of 9,000 Next Last $/)
    const second = await part(`?from=${first.to + 1}`)
    assert.match(second.words, /of 9,000 First Previous Next Last $/)
    assert.match(second.words, new RegExp(`const value${first.to} = `))
    assert.deepEqual([second.from, second.startOf('Previous')], [first.to + 1, 1])
    const last = await part(`?from=${first.startOf('Last')}`)
    assert.match(last.words, /to 9,000 of 9,000 First Previous $/)
    assert.equal((await part(`?from=${last.startOf('Previous')}`)).to, last.from - 1)
  })

  it('are downloaded as bytes that no browser takes for a page', async () => {
    for (const [path, type] of [
      ['src/page.html', 'text/plain;charset=utf-8'],
      ['guide/drawing.svg', 'text/plain;charset=utf-8'],
      ['data.bin', 'application/octet-stream'],
      ['guide/logo.png', 'image/png'],
    ] as const) {
      const { status, headers } = await visitor().get(`/mia/atlas/raw/branch/main/${path}`)
      const [kind] = headers.get('content-disposition')!.split(';')
      assert.deepEqual([status, headers.get('content-type'), kind], [200, type, 'attachment'], path)
      assert.equal(headers.get('x-content-type-options'), 'nosniff')
      assert.match(headers.get('content-security-policy')!, /^default-src 'none'/)
    }
  })
})

describe('The history of a repository on its pages', () => {
  it('lists commits, of a file too, and shows one with what it changed', async () => {
    assert.match(
      await shown('/mia/atlas/commits'),
      /3 commits Draw finer lines Ada · .* Draw the first places/,
    )
    const ofFile = await shown('/mia/atlas/commits/branch/main/guide/logo.png')
    assert.match(ofFile, /History of guide\/logo\.png .* 1 commit Draw the first places/)
    const { text } = await visitor().get(`/mia/atlas/commit/${site.commits.main}`)
    assert.match(wordsOf(text), /2 changed files .* guide\/install\.md modified src\/draw\.ts modified/)
    assert.match(
      text,
      /<b>@@ -5,5 \+5,5 @@[^\n]*\n<\/b><span data-b="5" data-a="5"> [^\n]*\n<\/span>.*<del data-b="8">-.*toFixed\(2\).*\n<\/del><ins data-a="8">\+.*toFixed\(3\).*\n<\/ins><span data-b="9" data-a="9"> }\n/s,
    )
    assert.match(text, /<a href="#diff-1"><bdi>src\/draw\.ts<.*<section class="file" id="diff-1"/s)
    assert.match(await shown(`/mia/atlas/commit/${site.commits.first}`), /1 changed file .* added README\.md/)
  })

  it('shows the commits between two, and the files that they changed, where the URL of a push leads', async () => {
    const { first, main } = site.commits
    assert.match(
      await shown(`/mia/atlas/compare/${first}...${main}`),
      /2 commits Draw finer lines Ada · .* changed files .* guide\/install\.md added /,
    )
    assert.match(await shown(`/mia/atlas/compare/${main}...${first}`), /Commits of \w+\.\.\.\w+ No commits $/)
    assert.equal((await visitor().get(`/mia/atlas/compare/${main}...none`)).status, 404)
  })

  it('says how many commits between two it leaves out, and what it compares, also without a common commit', async () => {
    const folder = await aCheckout({ a: 'one\n' })
    for (let made = 0; made < 41; made++)
      await git(folder, 'commit', '--quiet', '--allow-empty', '-m', `Step ${made}`)
    await git(folder, 'checkout', '--quiet', '--orphan', 'a/b')
    await git(folder, 'commit', '--quiet', '-m', 'Begin again')
    await site.as(site.mia, 'POST', '/user/repos', { name: 'long', private: true })
    await git(
      folder,
      'push',
      '--quiet',
      urlFor(site, 'mia/long', site.mia),
      'main',
      'main~41:refs/heads/old',
      'a/b',
    )
    const path = '/mia/long/compare'
    const page = await shown(`${path}/old...main`, mia)
    assert.match(page, /Commits of old\.\.\.main 41 commits Step 40 .* Step 1 .* and 1 more 0 changed files/)
    assert.doesNotMatch(page, /Step 0/)
    assert.match(await shown(`${path}/main..a/b`, mia), /Commits of main\.\.a\/b 1 commit Begin again/)
    assert.equal((await noa.get(`${path}/old...main`)).status, 404)
  })

  it('leads from a long line of a commit to the whole file, before it or after it', async () => {
    const path = '/repos/mia/changes/contents/%C3%BC%20%22x%22.txt'
    const lineOf = (letter: string) => letter.repeat(2000)
    const content = (text: string) => Buffer.from(`${text}\n`).toString('base64')
    await site.as(site.mia, 'POST', '/user/repos', { name: 'changes', auto_init: true })
    const made = await site.as(site.mia, 'POST', path, { content: content(lineOf('a')), message: 'Add' })
    assert.equal(made.status, 201)
    const { sha } = made.body.content
    const { body } = await site.as(site.mia, 'PUT', path, {
      content: content(lineOf('b')),
      sha,
      message: 'Edit',
    })
    const { text } = await visitor().get(`/mia/changes/commit/${body.commit.sha}`)
    assert.match(text, /<h2 id="file-0"><a [^>]*><bdi>ü &quot;x&quot;\.txt<\/bdi>/)
    const links = [...text.matchAll(/<(ins|del) [^>]*>[-+](?:a+|b+) <a href="([^"]*)"/g)]
    assert.deepEqual(
      links.map(([, element]) => element),
      ['del', 'ins'],
    )
    for (const [index, letter] of ['a', 'b'].entries())
      assert.equal((await visitor().get(links[index]![2]!)).text, `${lineOf(letter)}\n`)
    const page = await visitor().get('/mia/atlas/src/branch/main/src/one-line.js')
    const [, raw] = /0, +<a href="([^"]*)"[^>]*>… line cut: download the file<\/a>/.exec(page.text)!
    assert.ok((await visitor().get(raw!)).text.length > 120_000)
    await site.as(site.mia, 'DELETE', '/repos/mia/changes')
  })

  it('lists branches and tags', async () => {
    assert.match(
      await shown('/mia/atlas/branches'),
      /2 branches feature\/rivers [0-9a-f]{10} .* main default/,
    )
    assert.match(await shown('/mia/atlas/tags'), /1 tag v1\.0/)
  })
})

describe('The issues and releases of a repository on its pages', () => {
  it('show issues with their comments and files', async () => {
    assert.match(
      await shown('/mia/atlas/issues'),
      /open closed all .* 1 issue The coast is missing #1 opened on/,
    )
    assert.match(await shown('/mia/atlas/issues?state=closed'), /1 issue &lt;img src=x/)
    assert.match(await shown('/mia/atlas/issues?state=all&q=coast'), /1 issue The coast/)
    const issue = await visitor().get('/mia/atlas/issues/1')
    assert.match(wordsOf(issue.text), /#1 open · 3 comments .* See the code \. screen &lt;1>\.png 63 B/)
    assert.match(issue.text, /<article id="issuecomment-1" class="card post">/)
    assert.match(issue.text, /It is <strong>drawn<\/strong> in <a href="\/mia\/atlas\/issues\/2"/)
    const [, file] = /href="(\/-\/attachments\/[\da-f-]+)"/.exec(issue.text)!
    const { text, headers } = await visitor().get(file!)
    assert.deepEqual([text, headers.get('content-type')], [MARKUP, 'image/png'])
    assert.match(headers.get('content-disposition')!, /^attachment/)
  })

  it('show releases with their files, and drafts to those who may write', async () => {
    assert.match(
      await shown('/mia/atlas/releases/tag/v1.0'),
      /The first edition v1\.0 · published on \S+ by M mia With all places of the north\. atlas-1\.0\.pdf 63 B/,
    )
    assert.doesNotMatch(await shown('/mia/atlas/releases'), /Draft/)
    assert.match(await shown('/mia/atlas/releases', mia), /Draft draft/)
    assert.equal((await noa.get('/mia/atlas/releases/tag/v2.0')).status, 404)
  })

  it('show the tag of a release without a title, which a migration can have copied', async () => {
    const { body } = await site.as(site.noa, 'POST', '/user/repos', { name: 'untitled' })
    const { hosting } = site.allot
    const texts = { tag: 'v1', target: 'main', name: '', body: '', draft: false, prerelease: false }
    const release = { ...texts, repository: body.id, author: site.noa.id, createdAt: 1, publishedAt: 1 }
    const content = hosting.migratedContent(hosting.migrationLog('https://git.example.org'))
    await content.saveRelease(release, { scope: 'noa/untitled', name: '1' })
    const path = '/noa/untitled/releases'
    const link = `<h2><a href="${path}/tag/v1"><bdi>v1</bdi></a></h2>`
    assert.ok((await visitor().get(path)).text.includes(link))
    const { text } = await visitor().get(`${path}/tag/v1`)
    assert.match(text, /<title>v1 · noa\/untitled.*<h1><bdi>v1<\/bdi><\/h1>/s)
    await site.as(site.noa, 'DELETE', '/repos/noa/untitled')
  })

  it('count releases as their list shows them to the viewer', async () => {
    for (const [browser, count] of [
      [visitor(), 1],
      [noa, 1],
      [mia, 2],
    ] as const) {
      const { text } = await browser.get('/mia/atlas/releases', HTML)
      assert.match(text, new RegExp(`Releases<span class="tag count">${count}</span>`))
      assert.equal([...text.matchAll(/<article class="card release">/g)].length, count)
    }
  })
})

describe('The pages of people and repositories', () => {
  for (const [path, to] of [
    ['/mia/', '/mia'],
    ['/mia/atlas/', '/mia/atlas'],
    ['/mia/atlas/issues/?page=2', '/mia/atlas/issues?page=2'],
    ['/-/admin/', '/-/admin'],
    ['/mia/atlas.git/', undefined],
    ['/mia/atlas.git/info/', undefined],
    ['/api/v1/nothing/', undefined],
    ['//mia/', undefined],
    ['/\\mia/', undefined],
  ] as const)
    it(to === undefined ? `do not redirect ${path}` : `redirect ${path} to ${to}`, async () => {
      const { hostname, port } = new URL(site.base)
      const [res] = await once(get({ hostname, port, path }), 'response')
      const { statusCode, headers } = (res as IncomingMessage).resume()
      assert.deepEqual([statusCode, headers.location], to === undefined ? [404, undefined] : [301, to])
    })

  it('leave git, the API and downloads alone, and send nothing but HTML where a person asks', async () => {
    const { status, headers } = await visitor().get('/mia/atlas.git/info/refs?service=git-upload-pack')
    assert.equal(status, 200)
    assert.match(headers.get('content-type')!, /git-upload-pack-advertisement/)
    assert.equal((await visitor().get('/mia/atlas/archive/main.zip')).status, 200)
    const api = await fetch(`${site.base}/mia/none/at/all`, { headers: { accept: 'application/json' } })
    assert.deepEqual([api.status, await api.text()], [404, ''])
    assert.equal((await fetch(`${site.base}/mia/atlas`, { method: 'POST' })).status, 404)
  })

  it('name who is signed in on a form that is refused, too', async () => {
    const { status, text } = await mia.post('/-/account/tokens', { name: 'x', form: 'wrong' })
    assert.equal(status, 403)
    assert.match(text, /Signed in as /)
  })
})

describe('The link to the storage of an organization', () => {
  it('is shown exactly when the session may open the page', async () => {
    const { organizations, accounts } = site.allot.hosting
    const { id } = await organizations.create(site.root.id, { name: 'crew' })
    try {
      for (const [scopes, mayOpen] of [
        [['read:organization'], true],
        [['read:admin'], true],
        [['read:repository'], false],
      ] as const) {
        const root = await site.signedIn('', await site.scoped(site.root, 'read:user', ...scopes))
        const { text } = await root.get('/crew', HTML)
        const { status } = await root.get('/-/storage/crew', HTML)
        const found = [text.includes('href="/-/storage/crew"'), status]
        assert.deepEqual(found, [mayOpen, mayOpen ? 200 : 403], scopes.join(' '))
      }
    } finally {
      await accounts.remove(id)
    }
  })
})

describe('The page of a long issue', () => {
  it('counts the bytes of its text, and not its characters, among those of the page', async () => {
    const { issues, comments } = site.allot.hosting
    const viewer = { id: site.mia.id, admin: false }
    const repository = { owner: 'mia', name: 'empty' }
    await issues.create(viewer, repository, { title: 'Long', body: '地'.repeat(9000) })
    for (let number = 0; number < 5; number++)
      await comments.create(viewer, repository, 1, 'word '.repeat(2400))
    const { text } = await visitor().get('/mia/empty/issues/1', HTML)
    assert.equal(text.match(/<article id="issuecomment-/g)?.length, 2)
    assert.match(text, /Further comments/)
  })
})
