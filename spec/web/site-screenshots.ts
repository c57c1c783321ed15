import { join } from 'node:path'
import type { Browser } from 'playwright-core'
import { startSite } from './site.ts'
import { SITE_PAGES } from './site-pages.ts'
import { signInAs } from './walk.ts'

/** Takes screenshots of the pages of people and repositories whose name contains the word. */
export const takeSite = async (browser: Browser, folder: string, word: string): Promise<void> => {
  const site = await startSite()
  const chosen = Object.entries(SITE_PAGES(site)).filter(([name]) => name.includes(word))
  try {
    for (const who of new Set(chosen.map(([, page]) => page.who))) {
      const page = await browser.newPage()
      if (who !== undefined) await signInAs(page, site.base, who)
      for (const width of [1280, 390])
        for (const colorScheme of ['light', 'dark'] as const) {
          await page.setViewportSize({ width, height: 800 })
          await page.emulateMedia({ colorScheme })
          for (const [name, { path }] of chosen.filter(([, one]) => one.who === who)) {
            await page.goto(site.base + path)
            const file = `${name} ${width} ${colorScheme}.png`.replace(/[^\w.]+/g, '-')
            await page.screenshot({ path: join(folder, file), fullPage: true })
          }
        }
      await page.close()
    }
  } finally {
    await site.stop()
  }
}
