import assert from 'node:assert/strict'
import { before, describe, it } from 'node:test'
import type { Browser, Page } from 'playwright-core'
import { launchChromium, PATIENT_MS, withoutChromium } from '../support/chromium.ts'
import { type PageOptions, startPages } from './browser.ts'

const LOGO =
  '<svg xmlns="http://www.w3.org/2000/svg" width="300" height="100"><rect width="300" height="100"/></svg>'

describe('The brand in a real browser', { skip: withoutChromium }, () => {
  let browser: Browser
  before(async () => {
    browser = await launchChromium()
  })

  /**
   * Opens the sign-in page, or with an administrator the administration, on a phone; answers every other host
   * with the logo.
   */
  const withPage = async (
    pages: PageOptions,
    { colorScheme, isSignedIn = false }: { colorScheme: 'light' | 'dark'; isSignedIn?: boolean },
    body: (page: Page) => Promise<void>,
  ): Promise<void> => {
    const allot = await startPages({ pages })
    const context = await browser.newContext({ colorScheme, viewport: { width: 360, height: 740 } })
    context.setDefaultTimeout(PATIENT_MS)
    await context.route(
      (url) => !url.href.startsWith(allot.base),
      (route) => route.fulfill({ contentType: 'image/svg+xml', body: LOGO }),
    )
    try {
      const page = await context.newPage()
      await page.goto(`${allot.base}/-/sign-in`)
      if (isSignedIn) {
        await page.getByText('Use an access token instead').click()
        await page.getByLabel('Access token', { exact: true }).fill(allot.root.token)
        await page.getByRole('button', { name: 'Sign in with the token' }).click()
        await page.getByRole('link', { name: 'Administration' }).waitFor()
      }
      await body(page)
    } finally {
      await context.close()
    }
  }

  const styleOf = (page: Page, selector: string, property: string) =>
    page.evaluate(`getComputedStyle(document.querySelector('${selector}')).${property}`)

  const pages: PageOptions = {
    css: `
:root { --background: #fffef0; --header: #004400; --header-text: #ffffff; --link: #7a1fa2; --radius: 11px; }
@media (prefers-color-scheme: dark) { :root { --background: #001100; --header: #002200; --link: #d9a6ff; } }
`,
  }

  for (const [colorScheme, colors] of Object.entries({
    light: ['rgb(255, 254, 240)', 'rgb(0, 68, 0)', 'rgb(122, 31, 162)'],
    dark: ['rgb(0, 17, 0)', 'rgb(0, 34, 0)', 'rgb(217, 166, 255)'],
  }))
    it(`colors the page, the header and buttons by the variables of the ${colorScheme} mode`, () =>
      withPage(pages, { colorScheme: colorScheme as 'light' | 'dark' }, async (page) => {
        assert.deepEqual(
          [
            await styleOf(page, 'body', 'backgroundColor'),
            await styleOf(page, 'header', 'backgroundColor'),
            await styleOf(page, 'button', 'backgroundColor'),
          ],
          colors,
        )
        // A variable that is set for both modes.
        assert.equal(await styleOf(page, '.brand', 'color'), 'rgb(255, 255, 255)')
        assert.equal(await styleOf(page, 'button', 'borderRadius'), '11px')
      }))

  it('loads the logo from its origin, and no image from another', () =>
    withPage(
      { name: 'Example', logo: 'https://cdn.example.org/logo.svg' },
      { colorScheme: 'light' },
      async (page) => {
        const logo = page.getByRole('img', { name: 'Example' })
        await logo.waitFor()
        assert.equal(await page.evaluate(`document.querySelector('header img').naturalWidth`), 300)
        const { width, height } = (await logo.boundingBox())!
        assert.deepEqual([Math.round(width), height], [84, 28])
        const load = (url: string) =>
          page.evaluate(
            `new Promise((resolve) => { const image = new Image(); image.onload = () => resolve('loaded'); image.onerror = () => resolve('refused'); image.src = '${url}' })`,
          )
        assert.equal(await load('https://cdn.example.org/other.svg'), 'loaded')
        assert.equal(await load('https://other.example.org/logo.svg'), 'refused')
        assert.equal(await load('https://sub.cdn.example.org/logo.svg'), 'refused')
      },
    ))

  for (const [what, name] of [
    ['long name without spaces', 'W'.repeat(100)],
    ['long name from right to left', 'مستودعات الشيفرة '.repeat(6).slice(0, 100).trim()],
    ['name that overrides the direction', '\u202eelpmaxE\u2067 (c)'],
  ] as const)
    it(`fits a phone, with every link in view: a ${what}`, () =>
      withPage(
        { name, backUrl: '/home', backText: name },
        { colorScheme: 'light', isSignedIn: true },
        async (page) => {
          assert.ok(Number(await page.evaluate('document.documentElement.scrollWidth')) <= 360)
          const parts = page.locator('header > a, header nav a, header summary')
          assert.equal(await parts.count(), 6)
          const boxes = await Promise.all(
            (await parts.all()).map(async (part) => (await part.boundingBox())!),
          )
          for (const { x, width, height } of boxes) assert.ok(x >= 0 && x + width <= 360 && height > 10)
          for (const [index, one] of boxes.entries())
            for (const other of boxes.slice(index + 1))
              assert.ok(
                one.x + one.width <= other.x + 1 ||
                  other.x + other.width <= one.x + 1 ||
                  one.y + one.height <= other.y + 1 ||
                  other.y + other.height <= one.y + 1,
                'two links do not overlap',
              )
          assert.equal(await styleOf(page, 'header .brand', 'direction'), 'ltr')
          if (what.includes('right to left'))
            assert.equal(await styleOf(page, '.brand bdi', 'direction'), 'rtl')
        },
      ))

  it('shows the name where the logo cannot be loaded', () =>
    withPage({ name: 'Example', logo: '/missing.svg' }, { colorScheme: 'light' }, async (page) => {
      assert.equal(await page.evaluate(`document.querySelector('header img').naturalWidth`), 0)
      const { width } = (await page.locator('header img').boundingBox())!
      assert.ok(width > 40, `${width}`)
    }))
})
