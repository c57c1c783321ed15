import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { after, before, describe, it } from 'node:test'
import { promisify } from 'node:util'
import { temporaryDirectory } from '../support/folder.ts'
import type { PageClient } from './browser.ts'
import { PASSWORD } from './fixture.ts'
import { type Site, startSite } from './site.ts'

const run = promisify(execFile)

/** Pages on which there is nothing yet, with what the API lists after the command of the page. */
const EMPTY: readonly [page: string, created: string, path: string, member: string, value: string][] = [
  ['/noa', 'repository', '/users/noa/repos', 'name', 'hello'],
  ['/band', 'repository', '/orgs/band/repos', 'name', 'hello'],
  ['/noa/-/packages', 'package', '/packages/noa', 'name', 'hello'],
  ['/noa/blank/issues', 'issue', '/repos/noa/blank/issues', 'title', 'The first issue'],
  ['/noa/blank/releases', 'release', '/repos/noa/blank/releases', 'tag_name', 'v1.0.0'],
]

describe('A page on which there is nothing yet', () => {
  let site: Site
  let noa: PageClient
  before(async () => {
    site = await startSite()
    noa = site.browser()
    await noa.signIn('noa', PASSWORD)
    await site.as(site.noa, 'POST', '/orgs', { username: 'band' })
  })
  after(() => site.stop())

  const commandIn = (html: string) => {
    const [, command] = /<code data-copy>(.*?)<\/code>/s.exec(html) ?? []
    return command
      ?.replaceAll('&quot;', '"')
      .replaceAll('&lt;', '<')
      .replaceAll('&gt;', '>')
      .replaceAll('&amp;', '&')
  }

  for (const [page, created, path, member, value] of EMPTY)
    it(`has a command that creates a ${created} as it is written, with the scopes that it names: ${page}`, async () => {
      if (page.includes('blank'))
        await site.as(site.noa, 'POST', '/user/repos', { name: 'blank', auto_init: true })
      const { text } = await noa.get(page)
      const scopes = [...text.matchAll(/<code>(write:\w+)<\/code>/g)].map(([, scope]) => scope!)
      const TOKEN = await site.scoped(site.noa, ...scopes)
      const { stdout, stderr } = await run('sh', ['-ec', commandIn(text)!], {
        cwd: temporaryDirectory(),
        env: { ...process.env, TOKEN },
      })
      const { body } = await site.as(site.noa, 'GET', path)
      assert.deepEqual(
        body.map((one: Record<string, unknown>) => one[member]),
        [value],
        stdout + stderr,
      )
      assert.doesNotMatch((await noa.get(page)).text, /TOKEN is an access token/)
      if (page.includes('blank')) await site.as(site.noa, 'DELETE', '/repos/noa/blank')
      if (page === '/noa') await site.as(site.noa, 'DELETE', '/repos/noa/hello')
    })

  it('shows no command to those who cannot create anything there', async () => {
    for (const page of ['/guild', '/noa', '/noa/-/packages', '/mia/empty/releases', '/mia/empty/issues'])
      assert.doesNotMatch((await site.browser().get(page)).text, /curl|POST/, page)
    assert.doesNotMatch((await noa.get('/mia/empty/releases')).text, /curl/)
    assert.match((await noa.get('/mia/empty/issues')).text, /curl/, 'every user may open an issue')
  })

  it('tells an empty list from a filter that nothing matches', async () => {
    for (const [query, title] of [
      ['', 'No open issues'],
      ['?state=closed', 'No closed issues'],
      ['?state=all', 'No issues'],
      ['?q=coast', 'No issue matches'],
    ] as const)
      assert.match((await noa.get(`/mia/empty/issues${query}`)).text, new RegExp(`<h3>${title}</h3>`), query)
  })
})
