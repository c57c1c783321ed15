import assert from 'node:assert/strict'
import { before, describe, it } from 'node:test'
import type { Browser, BrowserContext, Page } from 'playwright-core'
import { pageRoutes } from '../../lib/web/page-routes.ts'
import { launchChromium, PATIENT_MS, withoutChromium } from '../support/chromium.ts'
import { isLong, sampleOf } from '../support/long.ts'
import { madeBefore } from '../support/test-server.ts'
import { violationsOn } from './axe.ts'
import { looseDaysOn, misfitsOn } from './fit.ts'
import { PASSWORD, startFixture } from './fixture.ts'
import { PAGES } from './page-list.ts'
import { SITE_PAGES } from './site-pages.ts'
import { NARROWEST } from './walk.ts'

const PHONE = { width: 360, height: 740 }
const DESK = { width: 1100, height: 800 }

/** Pages that answer with a redirection or a file. */
const NO_DOCUMENTS = /^\/-\/storage$|\.csv$|\/download$|^\/-\/attachments\/|\/\{file\}$|\/raw\/\{rest\}$/

const matcherOf = (path: string): RegExp =>
  new RegExp(`^${path.replaceAll('.', '\\.').replaceAll(/\{\w+\}/g, '.+')}(?:\\?|$)`)

describe('The lists of pages', () => {
  it('have every page, so that all are checked in a browser', () => {
    const site = SITE_PAGES({ commits: { main: 'main' } as never })
    const listed = [...Object.values(PAGES), ...Object.values(site)].map(({ path }) => path)
    const missing = pageRoutes
      .filter(({ method, path }) => method === 'GET' && !NO_DOCUMENTS.test(path))
      .filter(({ path }) => !listed.some((one) => matcherOf(path).test(one)))
    assert.deepEqual(
      missing.map(({ path }) => path),
      [],
      'add them to page-list.ts or site-pages.ts',
    )
  })
})

/** One page of each kind: figures, a chart, a list with forms, a form. */
const CHECKED = sampleOf(PAGES, ['own storage', 'history', 'owners', 'a rule'])

describe('The pages in a real browser', { skip: withoutChromium }, () => {
  let browser: Browser
  const allot = madeBefore(() => startFixture())
  before(async () => {
    browser = await launchChromium()
  })

  /** Opens a page, signed in through the form; collects errors of the page and requests to other servers. */
  const enter = async (
    viewport: typeof PHONE,
    who?: string,
  ): Promise<{ page: Page; context: BrowserContext; problems: string[] }> => {
    const context = await browser.newContext({ viewport })
    context.setDefaultTimeout(PATIENT_MS)
    const page = await context.newPage()
    const problems: string[] = []
    page.on('console', (message) => {
      // Chromium logs every 404 and 403; the specs ask for some on purpose.
      if (message.type() === 'error' && !/status of 40[34]/.test(message.text()))
        problems.push(message.text())
    })
    page.on('pageerror', (error) => void problems.push(String(error)))
    page.on('dialog', (dialog) => {
      problems.push(`a dialog: ${dialog.message()}`)
      void dialog.dismiss()
    })
    page.on('request', (request) => {
      if (!request.url().startsWith(allot.base)) problems.push(`requested ${request.url()}`)
    })
    if (who !== undefined) await signIn(page, who)
    return { page, context, problems }
  }

  const signIn = async (page: Page, who: string) => {
    await page.goto(`${allot.base}/`)
    await page.getByLabel('User name or email').fill(who)
    await page.getByLabel('Password', { exact: true }).fill(PASSWORD)
    await page.getByRole('button', { name: 'Sign in' }).click()
    await page.getByRole('heading', { level: 1, name: `Storage of ${who}` }).waitFor()
  }

  /**
   * The document and its colors are the same on both screens, so only the layout is checked on the second.
   */
  const check = async (page: Page, name: string, path: string) => {
    await page.setViewportSize(NARROWEST)
    await page.goto(allot.base + path)
    assert.deepEqual(await violationsOn(page), [], name)
    assert.deepEqual([await misfitsOn(page), await looseDaysOn(page)], [[], []], `${name} on a phone`)
    await page.setViewportSize(DESK)
    assert.deepEqual(await misfitsOn(page), [], `${name} on a desk`)
    // With the first press, the browser shows where the focus is.
    await page.keyboard.press('Tab')
    assert.deepEqual(await page.evaluate(MISSED_BY_TAB), [], name)
  }

  it('fit a phone and a desk, log no error, pass axe-core light and dark, and can be used by Tab, with a visible focus', async () => {
    const open = await enter(PHONE)
    await check(open.page, 'sign-in', '/')
    await open.context.close()
    for (const who of new Set(Object.values(CHECKED).map(({ who }) => who))) {
      const { page, context, problems } = await enter(PHONE, who)
      for (const [name, { path }] of Object.entries(CHECKED).filter(([, page]) => page.who === who))
        await check(page, name, path)
      assert.deepEqual(problems, [])
      await context.close()
    }
  })

  it('fit a phone and pass axe-core where they ask before something is deleted, and where subjects are unfolded', async () => {
    const { page, context, problems } = await enter(PHONE, 'root')
    const checkShown = async (name: string) => {
      assert.deepEqual(await violationsOn(page), [], name)
      assert.deepEqual(await misfitsOn(page), [], name)
    }
    const asking = [
      ['/-/storage/ann/repositories', 'Delete selected…'],
      ['/-/admin/group?name=free', 'Delete group…'],
      ['/-/admin/rule?name=total', 'Delete rule…'],
      ['/-/admin/account?name=ben', 'Delete user…'],
    ] as const
    for (const [path, button] of isLong ? asking : asking.slice(0, 1)) {
      await page.goto(allot.base + path)
      if (path.endsWith('repositories')) await page.getByLabel('Select all').check()
      await page.getByRole('button', { name: button }).click()
      await page.getByRole('heading', { level: 1, name: /^Delete .*\?$/ }).waitFor()
      await checkShown(path)
    }
    await page.goto(`${allot.base}/-/admin/rule?name=total`)
    await page.getByText('Subjects: Total').click()
    await checkShown('the subjects of a rule')
    const box = (subject: string) => page.locator(`input[value="${subject}"]`)
    assert.ok(await box('size:git:lfs').isChecked())
    await box('size:git:lfs').uncheck()
    for (const subject of ['size:all', 'size:git:all']) assert.ok(!(await box(subject).isChecked()), subject)
    await page.getByText('Subjects: Repositories and Assets').waitFor()
    await box('size:git:all').check()
    assert.ok(await box('size:git:lfs').isChecked())
    await page.getByText('Subjects: Git data and LFS and Assets').waitFor()
    assert.deepEqual(problems, [])
    await context.close()
  })

  it('lead to the content by the first Tab', async () => {
    const { page, context } = await enter(PHONE, 'ann')
    await page.goto(`${allot.base}/`)
    await page.keyboard.press('Tab')
    assert.equal(await page.evaluate('document.activeElement.textContent.trim()'), 'Skip to content')
    await page.keyboard.press('Enter')
    assert.equal(await page.evaluate('document.activeElement.id'), 'content')
    await context.close()
  })

  it('shows the values of a chart on hover and with the arrow keys, and what a selection sums up to', async () => {
    const { page, context, problems } = await enter(DESK, 'ann')
    await page.goto(`${allot.base}/-/storage/ann/history?days=30`)
    const value = page.locator('[data-chart-value]')
    const summary = await value.textContent()
    await page.locator('svg.chart').focus()
    await page.keyboard.press('End')
    assert.match((await value.textContent())!, /^\d{4}-\d\d-\d\d: 173\sMiB$/)
    const last = await value.textContent()
    await page.keyboard.press('ArrowLeft')
    assert.notEqual(await value.textContent(), last)
    await page.keyboard.press('Escape')
    assert.equal(await value.textContent(), summary)
    await page.locator('.hit').first().hover()
    assert.match((await value.textContent())!, /^\d{4}-\d\d-\d\d: /)
    await page.goto(`${allot.base}/-/storage/ann/repositories`)
    await page.getByLabel('Select all').check()
    await page.getByText('6 selected, 164 MiB').waitFor()
    assert.equal(await page.getByRole('button', { name: 'Delete selected' }).isDisabled(), false)
    await page.getByLabel('Select all').uncheck()
    assert.equal(await page.getByRole('button', { name: 'Delete selected' }).isDisabled(), true)
    assert.deepEqual(problems, [])
    await context.close()
  })

  it('disable what needs a selection while nothing is selected, but only with a script', async () => {
    const { page, context } = await enter(DESK, 'root')
    await page.goto(`${allot.base}/-/admin/owners`)
    const buttons = page.locator('table ~ .assign button')
    const disabled = () =>
      buttons.evaluateAll((all) => all.map((one) => (one as { disabled?: boolean }).disabled))
    assert.deepEqual(await disabled(), [true, true])
    await page.getByLabel('Select ann').check()
    assert.deepEqual(await disabled(), [false, false])
    assert.deepEqual(await misfitsOn(page), [])
    await page.getByLabel('Select ann').uncheck()
    assert.deepEqual(await disabled(), [true, true])
    await context.close()
    const plain = await browser.newContext({ javaScriptEnabled: false })
    plain.setDefaultTimeout(PATIENT_MS)
    const without = await plain.newPage()
    await signIn(without, 'ann')
    await without.goto(`${allot.base}/-/storage/ann/repositories`)
    await without.getByRole('button', { name: 'Delete selected' }).click()
    await without.getByText('Nothing was selected.').waitFor()
    await plain.close()
  })

  /**
   * Visible controls that the keyboard does not reach, since they take no focus or are out of the order of
   * the page, or whose focus is not seen.
   */
  const MISSED_BY_TAB = `[...document.querySelectorAll('a[href], button, input:not([type=hidden]), select, textarea, summary')]
    .filter((one) => one.checkVisibility() && !one.disabled)
    .filter((one) => {
      one.focus()
      return document.activeElement !== one || one.tabIndex !== 0 || getComputedStyle(one).outlineStyle === 'none'
    })
    .map((one) => one.outerHTML)`
})
