import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { withoutChromium } from '../support/chromium.ts'
import { sampleOf } from '../support/long.ts'
import { madeBefore } from '../support/test-server.ts'
import { PASSWORD } from './fixture.ts'
import { LONG, startSite } from './site.ts'
import { SITE_PAGES } from './site-pages.ts'
import { walkInBrowser } from './walk.ts'

const site = madeBefore(() => startSite())

/** Files, code, comments, and a page of who is signed in. */
const WALKED = ['a repository with files', 'a source file', 'an issue', 'own page']

describe('The pages of people and repositories', () => {
  it('have less than 100 KB each', async () => {
    const [mia, visitor] = [site.browser(), site.browser()]
    await mia.signIn('mia', PASSWORD)
    for (const [name, { path, who }] of Object.entries(SITE_PAGES(site))) {
      const { status, text } = await (who === 'mia' ? mia : visitor).get(path, { accept: 'text/html' })
      assert.equal(status, name === 'nothing' ? 404 : 200, path)
      assert.ok(Buffer.byteLength(text) < 100_000, path)
    }
    assert.equal((await visitor.get(`/mia/${LONG}`)).status, 200)
  })

  it('fit the screen, and pass axe-core, light and dark', { skip: withoutChromium }, () =>
    walkInBrowser(site, sampleOf(SITE_PAGES(site), WALKED)),
  )
})
