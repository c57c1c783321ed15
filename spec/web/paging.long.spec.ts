import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { PageClient, PageServer } from './browser.ts'
import { PASSWORD, startFixture } from './fixture.ts'
import { PAGES } from './page-list.ts'
import { startSite } from './site.ts'
import { SITE_PAGES } from './site-pages.ts'

type Opened = Readonly<Record<string, { path: string; who?: string }>>

/** Pages with a list that is not in the lists of all pages. */
const MORE: Opened = {
  'the history of a file': { path: '/mia/atlas/commits/branch/main/README.md' },
  'what matches a search': { path: '/mia/atlas/issues?state=all&q=coast' },
}

const PAST_THE_END = /<h3>Nothing on this page<\/h3>/

/**
 * The pages whose content depends on the number of the page, and those that do not say that their list ends
 * before it.
 */
const turned = async (server: PageServer, pages: Opened) => {
  const [paged, silent]: [string[], string[]] = [[], []]
  const browsers = new Map<string | undefined, PageClient>()
  for (const [name, { path, who }] of Object.entries(pages)) {
    const browser = browsers.get(who) ?? server.browser()
    if (who !== undefined && !browsers.has(who)) await browser.signIn(who, PASSWORD)
    browsers.set(who, browser)
    const read = async (page: number) => {
      const { text } = await browser.get(`${path}${path.includes('?') ? '&' : '?'}page=${page}`)
      // The header of a page links to the page itself, and an empty list has links to its first page.
      return text.replace(/^.*<main[^>]*>/s, '').replace(/<nav class="pages".*?<\/nav>/gs, '')
    }
    const [first, far] = [await read(1), await read(100_000)]
    if (first === far) continue
    paged.push(name)
    if (!PAST_THE_END.test(far)) silent.push(name)
  }
  return { paged, silent }
}

describe('A list with pages', () => {
  it('says after its end that it ends before this page, and not that nothing exists: storage and administration', async () => {
    const server = await startFixture()
    const { accounts, tokens } = server.allot.hosting
    await tokens.create((await accounts.byName('ann'))!.id, 'backup', ['read:user'])
    await server.as(server.root, 'PATCH', '/admin/quota/rules/plenty', { limit: 2 ** 40 })
    const { paged, silent } = await turned(server, PAGES)
    assert.deepEqual(silent, [])
    assert.deepEqual(paged.sort(), [
      'a filter of the audit log',
      'a group',
      'audit log',
      'owners',
      'tokens and sessions',
      'usage',
      'usage by repository',
    ])
  })

  it('says after its end that it ends before this page, and not that nothing exists: people and repositories', async () => {
    const server = await startSite()
    const { paged, silent } = await turned(server, { ...SITE_PAGES(server), ...MORE })
    assert.deepEqual(silent, [])
    assert.deepEqual(paged.sort(), [
      ...['a folder', 'a person', 'a repository with files', 'an organization with members', 'branches'],
      ...['issues', 'own page', 'packages of a person', 'releases', 'tags', 'the history'],
      ...['the history of a branch', 'the history of a file', 'what matches a search'],
    ])
  })
})
