import { mkdirSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { chromium } from 'playwright-core'
import { PASSWORD, startFixture } from './fixture.ts'

/** Takes the screenshot in docs/administration.md again: `npx tsx spec/web/picture.ts`. */
const folder = fileURLToPath(new URL('../../docs/', import.meta.url))
const allot = await startFixture()
const browser = await chromium.launch({ executablePath: '/usr/bin/chromium', args: ['--no-sandbox'] })
try {
  const { accounts } = allot.allot.hosting
  await accounts.edit((await accounts.byName('ann'))!.id, { fullName: '' })
  const page = await browser.newPage({ viewport: { width: 800, height: 690 } })
  await page.goto(`${allot.base}/`)
  await page.getByLabel('User name or email').fill('ann')
  await page.getByLabel('Password or access token').fill(PASSWORD)
  await page.getByRole('button', { name: 'Sign in' }).click()
  await page.getByRole('heading', { name: 'History' }).waitFor()
  mkdirSync(folder, { recursive: true })
  await page.screenshot({ path: `${folder}storage.png` })
} finally {
  await browser.close()
  await allot.stop()
}
