import assert from 'node:assert/strict'
import type { Page } from 'playwright-core'
import { launchChromium } from '../support/chromium.ts'
import { violationsOn } from './axe.ts'
import { looseDaysOn, misfitsOn } from './fit.ts'
import { PASSWORD } from './fixture.ts'
import type { Site } from './site.ts'

/** Signs in through the form, and waits for the page after it. */
export const signInAs = async (page: Page, base: string, who: string): Promise<void> => {
  await page.goto(`${base}/-/sign-in`)
  await page.getByLabel('User name or email').fill(who)
  await page.getByLabel('Password', { exact: true }).fill(PASSWORD)
  await page.getByRole('button', { name: 'Sign in' }).click()
  await page.getByRole('link', { name: 'Storage', exact: true }).waitFor()
}

/** The narrowest screen for which WCAG 1.4.10 asks. */
export const NARROWEST = { width: 320, height: 740 }
const DESK = { width: 1280, height: 800 }

/**
 * Opens pages in one browser, on a phone and a desk, in both color schemes: everything fits, nothing violates
 * WCAG or logs an error.
 */
export const walkInBrowser = async (
  { base }: Site,
  pages: Readonly<Record<string, { path: string; who?: string }>>,
): Promise<void> => {
  const browser = await launchChromium()
  for (const who of new Set(Object.values(pages).map((page) => page.who))) {
    const context = await browser.newContext({ viewport: NARROWEST })
    const page = await context.newPage()
    const problems: string[] = []
    page.on('console', (message) => {
      // Chromium logs every 404.
      if (message.type() === 'error' && !/status of 404/.test(message.text())) problems.push(message.text())
    })
    page.on('request', (request) => {
      if (!request.url().startsWith(base)) problems.push(`requested ${request.url()}`)
    })
    page.on('dialog', (dialog) => void problems.push(`a dialog: ${dialog.message()}`))
    if (who !== undefined) await signInAs(page, base, who)
    for (const [name, { path }] of Object.entries(pages).filter(([, one]) => one.who === who)) {
      await page.setViewportSize(NARROWEST)
      await page.goto(base + path)
      assert.deepEqual(await violationsOn(page), [], name)
      assert.deepEqual([await misfitsOn(page), await looseDaysOn(page)], [[], []], name)
      await page.setViewportSize(DESK)
      assert.deepEqual(await misfitsOn(page), [], `${name} on a desk`)
      assert.deepEqual(problems, [], name)
    }
    await context.close()
  }
}
