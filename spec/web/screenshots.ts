import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import type { Page } from 'playwright-core'
import { launchChromium } from '../support/chromium.ts'
import { PASSWORD, startFixture } from './fixture.ts'
import { PAGES } from './page-list.ts'
import { takeSite } from './site-screenshots.ts'

/**
 * Takes screenshots of all pages, wide and narrow, light and dark: `npx tsx spec/web/screenshots.ts FOLDER [WORD]`, where a
 * word selects the pages whose name contains it.
 */
/** Pages that ask before something is done: what a form answers, with nothing changed. */
const QUESTIONS: Readonly<
  Record<string, { who: string; path: string; press: (page: Page) => Promise<void> }>
> = {
  'asks before a token is revoked': {
    who: 'ann',
    path: '/-/account',
    press: (page) => page.getByRole('button', { name: 'Revoke' }).first().click(),
  },
  'asks before repositories are deleted': {
    who: 'ann',
    path: '/-/storage/ann/repositories',
    async press(page) {
      await page.getByLabel('Select thesis').check()
      await page.getByLabel('Select website').check()
      await page.getByRole('button', { name: 'Delete selected' }).click()
    },
  },
  'preview of a rule': {
    who: 'root',
    path: '/-/admin/rule?name=total',
    async press(page) {
      await page.getByLabel('Limit', { exact: true }).fill('100 MiB')
      await page.getByRole('button', { name: 'Preview changes' }).click()
    },
  },
  'asks before a group is deleted': {
    who: 'root',
    path: '/-/admin/group?name=free',
    press: (page) => page.getByRole('button', { name: 'Delete group' }).click(),
  },
  'asks before an account is deleted': {
    who: 'root',
    path: '/-/admin/account?name=ben',
    press: (page) => page.getByRole('button', { name: 'Delete user' }).click(),
  },
}

const [folder = 'screenshots', word = ''] = process.argv.slice(2)
mkdirSync(folder, { recursive: true })
const allot = await startFixture()
// Only requests of people leave tokens with their last use and an audit log.
const { hosting } = allot.allot
const ann = (await hosting.accounts.byName('ann'))!
const { token } = await hosting.tokens.create(ann.id, 'nightly backup', ['read:repository', 'read:user'])
await hosting.tokens.create(ann.id, 'laptop', ['all'])
hosting.tokenUses.note(token.id)
await hosting.tokenUses.flush()
const by = { id: allot.root.id, username: 'root' }
await hosting.plans.apply(
  { rules: [{ name: 'total', limit: 210 * 1024 ** 2, subjects: ['size:all'] }] },
  { by },
)
await hosting.plans.apply(
  { rules: [{ name: 'total', limit: 200 * 1024 ** 2, subjects: ['size:all'] }] },
  { by },
)
await hosting.plans.apply({ assignments: { club: ['paid'] } }, { by })
await hosting.plans.apply({ assignments: { club: [] } }, { by })
const browser = await launchChromium()
try {
  for (const width of [1280, 390])
    for (const colorScheme of ['light', 'dark'] as const)
      for (const who of new Set(Object.values(PAGES).map((page) => page.who))) {
        const chosen = Object.entries(PAGES).filter(([name, page]) => page.who === who && name.includes(word))
        const take = (page: Page, name: string) => {
          const file = `${name} ${width} ${colorScheme}.png`.replace(/[^\w.]+/g, '-')
          return page.screenshot({ path: join(folder, file), fullPage: true })
        }
        const page = await browser.newPage({ viewport: { width, height: 800 }, colorScheme })
        await page.goto(`${allot.base}/`)
        if (word === '') await take(page, 'sign in')
        await page.getByLabel('User name or email').fill(who)
        await page.getByLabel('Password or access token').fill(PASSWORD)
        await page.getByRole('button', { name: 'Sign in' }).click()
        await page.getByRole('link', { name: 'Storage', exact: true }).waitFor()
        for (const [name, { path }] of chosen) {
          await page.goto(allot.base + path)
          await take(page, name)
        }
        for (const [name, { path, press }] of Object.entries(QUESTIONS).filter(
          ([, one]) => one.who === who,
        )) {
          if (!name.includes(word)) continue
          await page.goto(allot.base + path)
          await press(page)
          await take(page, name)
        }
        await page.close()
      }
  await takeSite(browser, folder, word)
} finally {
  await browser.close()
  await allot.stop()
}
