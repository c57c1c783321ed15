import assert from 'node:assert/strict'
import { before, describe, it } from 'node:test'
import express from 'express'
import type { Browser, Page } from 'playwright-core'
import { routes } from '../../lib/api/index.ts'
import { launchChromium, PATIENT_MS, withoutChromium } from '../support/chromium.ts'
import { type Mount, start, type TestServer } from '../support/test-server.ts'

/** The entry of an operation in the sidebar. */
const entry = (page: Page, operation: string) => page.locator(`[id="link-${operation}"]`)

const NAME = 'Acme & <b>Code</b>'

describe('/api/swagger in a real browser', { skip: withoutChromium }, () => {
  let allot: TestServer
  let browser: Browser
  let page: Page
  const [errors, foreignRequests]: [string[], string[]] = [[], []]

  before(async () => {
    const mount: Mount = (handler) => express().use('/code', handler)
    allot = await start({ webhooks: true, pages: { name: NAME } }, { mount, prefix: '/code' })
    browser = await launchChromium()
    page = await browser.newPage()
    page.setDefaultTimeout(PATIENT_MS)
    page.on('console', (message) => void (message.type() === 'error' && errors.push(message.text())))
    page.on('pageerror', (error) => void errors.push(String(error)))
    page.on('request', (request) => {
      const url = request.url()
      if (!url.startsWith(allot.base) && !/^(?:data|blob):/.test(url)) foreignRequests.push(url)
    })
    await page.goto(`${allot.base}/api/swagger`)
    await entry(page, 'get-/user').waitFor()
  })

  it('lists every operation by its path', async () => {
    const entries = await page.locator('.nav-bar-path').allTextContents()
    const listed = new Set(entries.map((text) => text.replace(/\s/g, '')))
    const missing = routes.filter(({ method, path }) => !listed.has(method.toLowerCase() + path))
    assert.deepEqual(missing, [])
  })

  it('sends the request of an operation with the token of the reader, below the prefix of the host and the base path', async () => {
    await page.locator('#link-auth').click()
    const token = page.locator('tr', { hasText: 'access token' })
    await token.locator('input').fill(allot.root.token)
    await token.getByText('Set').click()
    await entry(page, 'get-/user').click()
    const answered = page.waitForResponse(`${allot.api}/user`)
    await page.getByRole('button', { name: 'Execute' }).click()
    assert.equal((await answered).status(), 200)
    await page.getByText('"root"').first().waitFor()
  })

  it("has the host's name of the service in its title and its heading", async () => {
    assert.equal(await page.title(), `API reference · ${NAME}`)
    await page.goto(`${allot.base}/api/swagger`)
    assert.ok((await page.locator('#api-title').innerText()).startsWith(NAME))
  })

  it('is dark for a reader who prefers dark pages, and light for others', async () => {
    for (const colorScheme of ['light', 'dark'] as const) {
      await page.emulateMedia({ colorScheme })
      const colors = await page.locator('openapi-explorer').evaluate((viewer) => {
        const { backgroundColor, color } = getComputedStyle(viewer)
        return [backgroundColor, color]
      })
      const areDark = colors.map((color) => color.match(/\d+/g)!.every((part) => Number(part) < 128))
      assert.deepEqual(areDark, colorScheme === 'dark' ? [true, false] : [false, true], `${colors}`)
    }
  })

  it('has no errors, and sends no requests to other servers', () => {
    assert.deepEqual(foreignRequests, [])
    assert.deepEqual(errors, [])
  })
})
