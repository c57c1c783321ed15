import assert from 'node:assert/strict'
import { existsSync, mkdirSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { type Browser, type BrowserContext, chromium, type Page } from 'playwright-core'
import type { Paged } from './browser.ts'
import { PASSWORD, startFixture } from './fixture.ts'

const executablePath = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'].find(
  existsSync,
)
const skip = executablePath === undefined && 'there is no Chromium here: apt-get install chromium'

const args =
  '--no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking --disable-component-update --disable-sync'.split(
    ' ',
  )

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')
/** Where to put pictures, to look at: ALLOT_SPEC_PICTURES=folder. */
const pictures = process.env.ALLOT_SPEC_PICTURES

const LOOKS = [
  { name: 'phone light', viewport: { width: 360, height: 740 }, colorScheme: 'light', isJudged: true },
  { name: 'phone dark', viewport: { width: 360, height: 740 }, colorScheme: 'dark', isJudged: true },
  // The same documents in the same colours: only what fits is another question.
  { name: 'desk light', viewport: { width: 1100, height: 800 }, colorScheme: 'light', isJudged: false },
] as const

const PAGES: Readonly<Record<string, { who: string; path: string }>> = {
  'one’s own storage': { who: 'ann', path: '/' },
  'an organization': { who: 'ann', path: '/-/storage/acme' },
  'a list': { who: 'ann', path: '/-/storage/ann/artifacts' },
  'a repository': { who: 'ann', path: '/-/storage/ann/repositories/website' },
  'the administration': { who: 'root', path: '/-/admin' },
  'the rules': { who: 'root', path: '/-/admin/rules' },
  'a rule': { who: 'root', path: '/-/admin/rule?name=total' },
  'the groups': { who: 'root', path: '/-/admin/groups' },
  'a group': { who: 'root', path: '/-/admin/group?name=paid' },
  'somebody else’s storage': { who: 'root', path: '/-/storage/ben' },
  'what is not there': { who: 'ann', path: '/-/storage/nobody' },
}

describe('The pages in a real browser', { skip }, () => {
  let allot: Paged
  let browser: Browser
  before(async () => {
    allot = await startFixture()
    browser = await chromium.launch({ executablePath: executablePath!, args })
  })
  after(async () => {
    await browser.close()
    await allot.stop()
  })

  /** Signs in as people do; what the browser complains of, and whom it asks besides this server, is told. */
  const enter = async (
    look: (typeof LOOKS)[number],
    who?: string,
  ): Promise<{ page: Page; context: BrowserContext; complaints: string[] }> => {
    const { viewport, colorScheme } = look
    const context = await browser.newContext({ viewport, colorScheme })
    const page = await context.newPage()
    const complaints: string[] = []
    page.on('console', (message) => {
      // That what is not there is answered so is none.
      if (message.type() === 'error' && !/status of 40[34]/.test(message.text()))
        complaints.push(message.text())
    })
    page.on('pageerror', (error) => void complaints.push(String(error)))
    page.on('dialog', (dialog) => {
      complaints.push(`a dialog: ${dialog.message()}`)
      void dialog.dismiss()
    })
    page.on('request', (request) => {
      if (!request.url().startsWith(allot.base)) complaints.push(`asked ${request.url()}`)
    })
    if (who !== undefined) await signIn(page, who)
    return { page, context, complaints }
  }

  const signIn = async (page: Page, who: string) => {
    await page.goto(`${allot.base}/`)
    await page.getByLabel('User name or email').fill(who)
    await page.getByLabel('Password or access token').fill(PASSWORD)
    await page.getByRole('button', { name: 'Sign in' }).click()
    await page.getByRole('heading', { level: 1, name: `Storage of ${who}` }).waitFor()
  }

  /** What axe-core finds wrong; it runs in a world of its own, where the policy of the page lets it. */
  const violationsOn = async (page: Page): Promise<string[]> => {
    const session = await page.context().newCDPSession(page)
    const { frameTree } = await session.send('Page.getFrameTree')
    const { executionContextId: contextId } = await session.send('Page.createIsolatedWorld', {
      frameId: frameTree.frame.id,
    })
    const expression = `${axe}; axe.run(document, { runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'] })
      .then(({ violations }) => violations.map((one) => one.id + ': ' + one.nodes.map((node) => node.html + ' ' + node.failureSummary).join('; ')))`
    const { result, exceptionDetails } = await session.send('Runtime.evaluate', {
      expression,
      contextId,
      awaitPromise: true,
      returnByValue: true,
    })
    assert.equal(exceptionDetails, undefined)
    return result.value as string[]
  }

  const picture = async (page: Page, name: string) => {
    if (pictures === undefined) return
    mkdirSync(pictures, { recursive: true })
    await page.screenshot({ path: join(pictures, `${name.replace(/\W+/g, '-')}.png`), fullPage: true })
  }

  for (const look of LOOKS)
    it(`are right for everyone, ${look.name}: nothing is cut off, nothing complains, and axe-core finds nothing`, async () => {
      const open = await enter(look)
      await open.page.goto(`${allot.base}/`)
      assert.deepEqual(await violationsOn(open.page), [], 'signing in')
      await picture(open.page, `sign-in ${look.name}`)
      await open.context.close()
      for (const who of new Set(Object.values(PAGES).map((one) => one.who))) {
        const { page, context, complaints } = await enter(look, who)
        for (const [name, { path }] of Object.entries(PAGES).filter(([, one]) => one.who === who)) {
          await page.goto(allot.base + path)
          if (look.isJudged) assert.deepEqual(await violationsOn(page), [], name)
          const width = await page.evaluate('document.documentElement.scrollWidth')
          assert.ok(Number(width) <= look.viewport.width, `${name} is ${width} wide`)
          await picture(page, `${name} ${look.name}`)
        }
        assert.deepEqual(complaints, [])
        await context.close()
      }
    })

  it('show an administrator whom a change would concern, and then change it', async () => {
    const { page, context, complaints } = await enter(LOOKS[0], 'root')
    await page.getByRole('link', { name: 'Administration' }).click()
    await page.getByRole('link', { name: 'Rules', exact: true }).click()
    await page.getByRole('link', { name: 'total' }).click()
    await page.getByLabel('Limit').fill('100 MiB')
    await page.getByRole('button', { name: 'See whom it would change' }).first().click()
    await page.getByText('1 owner would be over quota or within it otherwise than now.').waitFor()
    assert.deepEqual(await violationsOn(page), [])
    await picture(page, 'whom it would change phone light')
    await page.getByRole('button', { name: 'Do it' }).click()
    await page.getByText('Saved.').waitFor()
    assert.equal(await page.getByLabel('Limit').inputValue(), '100 MiB')
    await page.getByLabel('Limit').fill('200 MiB')
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByText('Saved.').waitFor()
    assert.deepEqual(complaints, [])
    await context.close()
  })

  it('are gone through by keyboard alone', async () => {
    const { page, context } = await enter(LOOKS[0])
    await page.goto(`${allot.base}/`)
    for (const text of ['ann', PASSWORD]) {
      await focusOn(page, 'INPUT')
      await page.keyboard.type(text)
    }
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { level: 1, name: 'Storage of ann' }).waitFor()
    await page.keyboard.press('Tab')
    assert.equal(await focused(page), 'To the content')
    await page.keyboard.press('Enter')
    assert.equal(await page.evaluate('document.activeElement.id'), 'content')
    await focusOn(page, 'A', 'acme')
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { level: 1, name: 'Storage of acme' }).waitFor()
    await focusOn(page, 'BUTTON', 'Sign out')
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { level: 1, name: 'Sign in' }).waitFor()
    await context.close()
  })

  const focused = (page: Page) => page.evaluate('document.activeElement.textContent.trim()')

  /** Presses Tab until something of that kind and text has the focus, which must be seen then. */
  const focusOn = async (page: Page, tag: string, text = '') => {
    for (let presses = 0; presses < 80; presses++) {
      await page.keyboard.press('Tab')
      const isThere = await page.evaluate(
        `document.activeElement.tagName === '${tag}' && document.activeElement.textContent.includes('${text}')`,
      )
      if (!isThere) continue
      assert.notEqual(await page.evaluate('getComputedStyle(document.activeElement).outlineStyle'), 'none')
      return
    }
    assert.fail(`no ${tag} ${text} is reached by Tab`)
  }
})
