import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { describe, it } from 'node:test'
import { chromium } from 'playwright-core'
import { start } from '../support/test-server.ts'

const executablePath = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'].find(
  existsSync,
)
const skip = executablePath === undefined && 'needs Chromium: apt-get install chromium'

/** Keeps Chromium from connecting to services of its vendor. */
const args =
  '--no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking --disable-component-update --disable-sync'.split(
    ' ',
  )

describe('/api/swagger in a real browser', () => {
  it('shows every operation without errors and without requests to other servers', { skip }, async () => {
    const allot = await start({ repositories: false })
    const browser = await chromium.launch({ executablePath: executablePath!, args })
    try {
      const page = await browser.newPage()
      const [errors, foreignRequests]: string[][] = [[], []]
      page.on('console', (message) => void (message.type() === 'error' && errors!.push(message.text())))
      page.on('pageerror', (error) => void errors!.push(String(error)))
      page.on(
        'request',
        (request) =>
          void (
            request.url().startsWith(allot.base) ||
            /^(?:data|blob):/.test(request.url()) ||
            foreignRequests!.push(request.url())
          ),
      )
      await page.goto(`${allot.base}/api/swagger`)
      for (const words of [
        'Render a markdown document as HTML',
        'Create a quota rule',
        'Why the signed-in user is, or is not, over quota for a subject',
      ])
        await page.getByText(words).first().waitFor({ timeout: 60_000 })
      assert.deepEqual(foreignRequests, [])
      assert.deepEqual(errors, [])
    } finally {
      await browser.close()
      await allot.stop()
    }
  })
})
