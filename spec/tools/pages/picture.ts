import { mkdirSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { chromium } from 'playwright-core'
import { PASSWORD, startFixture } from '../../web/fixture.ts'

/** Takes the screenshot in docs/administration.md again: `npx tsx spec/tools/pages/picture.ts`. */
const folder = fileURLToPath(new URL('../../../docs/', import.meta.url))
const allot = await startFixture()
const browser = await chromium.launch({ executablePath: '/usr/bin/chromium', args: ['--no-sandbox'] })
try {
  const { accounts } = allot.allot.hosting
  await accounts.edit((await accounts.byName('ann'))!.id, { fullName: '' })
  const page = await browser.newPage({ viewport: { width: 800, height: 1400 } })
  await page.goto(`${allot.base}/`)
  await page.getByLabel('User name or email').fill('ann')
  await page.getByLabel('Password', { exact: true }).fill(PASSWORD)
  await page.getByRole('button', { name: 'Sign in' }).click()
  const history = (await page.getByRole('region', { name: 'History' }).boundingBox())!
  mkdirSync(folder, { recursive: true })
  const clip = { x: 0, y: 0, width: 800, height: history.y + history.height + 16 }
  await page.screenshot({ path: `${folder}storage.png`, clip })
} finally {
  await browser.close()
  await allot.stop()
}
