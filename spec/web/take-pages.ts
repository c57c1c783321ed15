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

/**
 * Takes screenshots of pages, wide and narrow, light and dark. Each variant has a browser context of its own,
 * whose color scheme is set before its first page: one that is changed while a page is still loading can
 * reach it too late.
 */
export const takePages = async (
  browser: Browser,
  { base, folder, word }: Taken,
  shots: Readonly<Record<string, Shot>>,
): Promise<void> => {
  const chosen = Object.entries(shots).filter(([name]) => name.includes(word))
  for (const who of new Set(chosen.map(([, shot]) => shot.who)))
    for (const width of [1280, 390])
      for (const colorScheme of ['light', 'dark'] as const) {
        const context = await browser.newContext({ viewport: { width, height: 800 }, colorScheme })
        const page = await context.newPage()
        if (who !== undefined) await signInAs(page, base, who)
        for (const [name, { path, press }] of chosen.filter(([, shot]) => shot.who === who)) {
          await page.goto(base + path)
          await press?.(page)
          // A form that was sent leads to another page.
          await page.waitForLoadState('networkidle')
          const file = `${name} ${width} ${colorScheme}.png`.replace(/[^\w.]+/g, '-')
          await checkColors(page, colorScheme, file)
          await page.screenshot({ path: join(folder, file), fullPage: true })
        }
        await context.close()
      }
}

/** @throws when the background is light on a dark page, or dark on a light one */
const checkColors = async (page: Page, colorScheme: 'light' | 'dark', file: string): Promise<void> => {
  const background: string = await page.evaluate('getComputedStyle(document.body).backgroundColor')
  const [red = 0, green = 0, blue = 0] = (background.match(/[\d.]+/g) ?? []).map(Number)
  const isDark = red + green + blue < 3 * 128
  if (isDark !== (colorScheme === 'dark')) throw new Error(`${file}: the background is ${background}`)
}
