import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { describe, it } from 'node:test'
import { chromium } from 'playwright-core'
import { start } from '../support/test-server.ts'

const executablePath = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'].find(
  existsSync,
)
const skip = executablePath === undefined && 'there is no Chromium here: apt-get install chromium'

/** What keeps a browser from looking for anything outside of this machine. */
const args =
  '--no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking --disable-component-update --disable-sync'.split(
    ' ',
  )

describe('/api/swagger in a real browser', () => {
  it('shows every operation, breaks no policy, and asks nobody but this server', { skip }, async () => {
    const allot = await start({ repositories: false })
    const browser = await chromium.launch({ executablePath: executablePath!, args })
    try {
      const page = await browser.newPage()
      const [complaints, elsewhere]: string[][] = [[], []]
      page.on('console', (message) => void (message.type() === 'error' && complaints!.push(message.text())))
      page.on('pageerror', (error) => void complaints!.push(String(error)))
      page.on(
        'request',
        (request) =>
          void (
            request.url().startsWith(allot.base) ||
            /^(?:data|blob):/.test(request.url()) ||
            elsewhere!.push(request.url())
          ),
      )
      await page.goto(`${allot.base}/api/swagger`)
      for (const words of [
        'Render a markdown document as HTML',
        'Create a quota rule',
        'Why the signed-in user is, or is not, over quota for a subject',
      ])
        await page.getByText(words).first().waitFor({ timeout: 20_000 })
      assert.deepEqual(elsewhere, [])
      assert.deepEqual(complaints, [])
    } finally {
      await browser.close()
      await allot.stop()
    }
  })
})
