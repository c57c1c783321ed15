import { join } from 'node:path'
import type { Browser, Page } from 'playwright-core'
import { signInAs } from './walk.ts'

/** A page to take screenshots of. */
export interface Shot {
  readonly path: string
  /** The user who opens it; nobody has signed in when absent. */
  readonly who?: string
  /** Leads to what is shown, from the page at the path. */
  readonly press?: (page: Page) => Promise<void>
}

/** What to take of a server. */
interface Taken {
  readonly base: string
  readonly folder: string
  /** Takes only the pages whose name contains it. */
  readonly word: string
}

/** Takes screenshots of pages, wide and narrow, light and dark. */
export const takePages = async (
  browser: Browser,
  { base, folder, word }: Taken,
  shots: Readonly<Record<string, Shot>>,
): Promise<void> => {
  const chosen = Object.entries(shots).filter(([name]) => name.includes(word))
  for (const who of new Set(chosen.map(([, shot]) => shot.who))) {
    const page = await browser.newPage()
    if (who !== undefined) await signInAs(page, base, who)
    for (const width of [1280, 390])
      for (const colorScheme of ['light', 'dark'] as const) {
        await page.setViewportSize({ width, height: 800 })
        await page.emulateMedia({ colorScheme })
        for (const [name, { path, press }] of chosen.filter(([, shot]) => shot.who === who)) {
          await page.goto(base + path)
          await press?.(page)
          const file = `${name} ${width} ${colorScheme}.png`.replace(/[^\w.]+/g, '-')
          await page.screenshot({ path: join(folder, file), fullPage: true })
        }
      }
    await page.close()
  }
}
