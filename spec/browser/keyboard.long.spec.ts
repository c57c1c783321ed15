import assert from 'node:assert/strict'
import { before, describe, it } from 'node:test'
import type { Browser, Page } from 'playwright-core'
import { launchChromium, PATIENT_MS, withoutChromium } from '../support/chromium.ts'
import type { PageServer } from '../web/browser.ts'
import { PASSWORD, startFixture } from '../web/fixture.ts'
import { type Site, startSite } from '../web/site.ts'

/**
 * The input of a form: text for the field with a label, `on` for a box, `open` for what is folded, the
 * beginning of an option for a list.
 */
type Entries = Readonly<Record<string, string>>

interface Step {
  /** The page, unless the form is on the page that the step before led to. */
  readonly at?: string
  readonly enter?: Entries
  /** The button that sends it. */
  readonly press: string
  /** Text of the page afterwards. */
  readonly shows: RegExp
}

/**
 * Forms with a script: boxes that tick others, rows that are selected, a button that waits for them. What all
 * forms have in common is in web/pages.long (Tab reaches each field) and in wrong-input.long (what is sent).
 */
const WALKS: Readonly<Record<string, { who: string; steps: readonly Step[] }>> = {
  'the deletion of a repository': {
    who: 'ann',
    steps: [
      {
        at: '/-/storage/ann/repositories',
        enter: { 'Select scratch': 'on' },
        press: 'Delete selected…',
        shows: /Delete the repository scratch\?/,
      },
      { enter: { 'Confirmation: type scratch': 'scratch' }, press: 'Delete and free', shows: /Deleted\./ },
    ],
  },
  'a rule, from its preview to its deletion': {
    who: 'root',
    steps: [
      {
        at: '/-/admin/rules',
        enter: { Name: 'tight', Limit: '1 MiB', Subjects: 'open', Total: 'on', LFS: 'on' },
        press: 'Preview changes',
        shows: /New rule tight: 1\sMiB for LFS/,
      },
      { press: 'Apply changes', shows: /Created\./ },
      { at: '/-/admin/rule?name=tight', enter: { Limit: '2 MiB' }, press: 'Save', shows: /Saved\./ },
      { press: 'Delete rule…', shows: /Delete the rule tight\?/ },
      { press: 'Delete the rule tight', shows: /Deleted\./ },
    ],
  },
  'the table of owners': {
    who: 'root',
    steps: [
      {
        at: '/-/admin/owners',
        enter: { 'Name contains': 'b', State: 'No limit' },
        press: 'Filter',
        shows: /1 owner/,
      },
      {
        enter: { 'Select ben': 'on', 'Selected owners': 'Add', 'Group\n': 'free' },
        press: 'Change groups',
        shows: /Saved\./,
      },
      {
        at: '/-/admin/owners',
        enter: { 'Limit shown': 'Artifacts', State: 'Over' },
        press: 'Filter',
        shows: /2 owners,/,
      },
    ],
  },
}

/** Moves on to the next thing that takes the focus; the reach of Tab is the whole page. */
const MAX_PRESSES = 120

/** The browsers of the users of one server, who sign in with the first form. */
const pages = new Map<string, Page>()
let fixture: Promise<PageServer> | undefined
const startOnce = (): Promise<PageServer> => {
  fixture ??= startFixture()
  return fixture
}

const pageOf = async (who: string): Promise<Page> => {
  const known = pages.get(who)
  if (known !== undefined) return known
  const { base } = await startOnce()
  const page = await (await (await launchChromium()).newContext()).newPage()
  page.setDefaultTimeout(PATIENT_MS)
  await page.goto(`${base}/-/sign-in`)
  const enter = { 'User name': who, Password: PASSWORD }
  await sendForm(page, { enter, press: 'Sign in', shows: new RegExp(`Storage of ${who}`) })
  pages.set(who, page)
  return page
}

describe('A form with a script', { skip: withoutChromium }, () => {
  for (const [name, { who, steps }] of Object.entries(WALKS))
    it(`can be used by keyboard alone: ${name}`, async () => {
      const page = await pageOf(who)
      const { base } = await startOnce()
      for (const step of steps) {
        if (step.at !== undefined) await page.goto(base + step.at)
        await sendForm(page, step)
      }
    })
})

describe('A list of what can be deleted', { skip: withoutChromium }, () => {
  it('can still be sent after Back, which ticks the same rows again', async () => {
    const page = await pageOf('ann')
    await page.goto(`${(await startOnce()).base}/-/storage/ann/repositories`)
    const button = page.getByRole('button', { name: 'Delete selected' })
    assert.equal(await button.isDisabled(), true)
    await page.getByLabel('Select dotfiles').check()
    await button.click()
    await page.getByLabel('Confirmation: type dotfiles').waitFor()
    await page.goBack()
    assert.equal(await page.getByLabel('Select dotfiles').isChecked(), true)
    await button.click()
    await page.getByLabel('Confirmation: type dotfiles').waitFor()
  })
})

describe('The pages of people and repositories', { skip: withoutChromium }, () => {
  let site: Site
  let browser: Browser
  let page: Page
  before(async () => {
    site = await startSite()
    browser = await launchChromium()
    const context = await browser.newContext()
    await context.grantPermissions(['clipboard-read', 'clipboard-write'])
    page = await context.newPage()
    page.setDefaultTimeout(PATIENT_MS)
  })

  /** Follows a link, or opens a list. */
  const enter = async (text: string, what: 'link' | 'list'): Promise<void> => {
    await tabTo(page, text, what)
    await page.keyboard.press('Enter')
    if (what === 'link') await page.waitForEvent('load')
  }

  it('can be used by keyboard alone: the choice of a branch', async () => {
    await page.goto(`${site.base}/mia/atlas`)
    await enter('branch main', 'list')
    await enter('feature/rivers', 'link')
    assert.equal(page.url(), `${site.base}/mia/atlas/src/branch/feature/rivers`)
  })

  it('can be used by keyboard alone: the button that copies a clone address', async () => {
    await page.goto(`${site.base}/mia/atlas`)
    await tabTo(page, 'Copy', 'button')
    await page.keyboard.press('Enter')
    await page.getByRole('button', { name: 'Copied' }).waitFor()
    assert.equal(await page.evaluate('navigator.clipboard.readText()'), `${site.base}/mia/atlas.git`)
  })

  it('can be used by keyboard alone: the search of issues, and the choice of their state', async () => {
    await page.goto(`${site.base}/mia/atlas/issues`)
    await sendForm(page, { enter: { Search: 'coast' }, press: 'Search', shows: /1 issue\s*The coast/ })
    await enter('closed', 'link')
    assert.match((await page.textContent('main'))!, /No issue matches/)
  })

  it('can be used by keyboard alone: signing in with a token, the menu of the user, and signing out', async () => {
    await page.goto(`${site.base}/-/sign-in`)
    await enter('Use an access token', 'list')
    await sendForm(page, {
      enter: { 'Access token': site.mia.token },
      press: 'Sign in with the token',
      shows: /Storage of mia/,
    })
    const menu = page.locator('header details')
    await enter('Signed in as mia', 'list')
    await page.keyboard.press('Escape')
    assert.equal(await menu.getAttribute('open'), null)
    await page.keyboard.press('Enter')
    await enter('Tokens and sessions', 'link')
    assert.equal(page.url(), `${site.base}/-/account`)
    await enter('Signed in as mia', 'list')
    await tabTo(page, 'Skip', 'link')
    assert.equal(await menu.getAttribute('open'), null, 'the menu closes when the focus leaves it')
    await enter('Signed in as mia', 'list')
    await sendForm(page, { press: 'Sign out', shows: /Sign in/ })
  })

  it('can be used by keyboard alone: signing in from a page, which leads back to it', async () => {
    await page.goto(`${site.base}/mia/atlas/issues`)
    await enter('Sign in', 'link')
    const fields = { 'User name': 'mia', Password: PASSWORD }
    await sendForm(page, { enter: fields, press: 'Sign in', shows: /The coast is missing/ })
  })

  it('show the comment of an address, also far down in a long issue', async () => {
    const { comments } = site.allot.hosting
    const viewer = { id: site.mia.id, admin: false }
    for (let number = 0; number < 60; number++)
      await comments.create(viewer, { owner: 'mia', name: 'atlas' }, 2, `Comment ${number}`)
    const { body } = await site.request('GET', '/repos/mia/atlas/issues/2/comments?page=2&limit=50')
    const [url, id] = [body.at(-1).html_url, body.at(-1).id]
    await page.goto(url)
    const comment = page.locator(`#issuecomment-${id}:target`)
    await comment.waitFor()
    assert.match((await comment.textContent())!, /Comment 59/)
    assert.match((await page.textContent('main'))!, /First comments/)
    await page.goto(`${site.base}/mia/atlas/issues/2#issuecomment-999999`)
    assert.match((await page.textContent('main'))!, /Markup|img src/, 'a deleted comment leads to its issue')
  })
})

const sendForm = async (page: Page, { enter = {}, press, shows }: Step): Promise<void> => {
  for (const [label, value] of Object.entries(enter)) {
    await tabTo(page, label.trim(), value === 'open' ? 'list' : 'field')
    if (value === 'on' || value === 'open') await page.keyboard.press('Space')
    else if ((await focused(page)).tag === 'SELECT') await page.keyboard.type(value)
    else {
      await page.keyboard.press('ControlOrMeta+A')
      await page.keyboard.type(value)
    }
  }
  await tabTo(page, press, 'button')
  await Promise.all([page.waitForEvent('load'), page.keyboard.press('Enter')])
  assert.match((await page.textContent('main'))!, shows, press)
}

interface Focused {
  readonly tag: string
  /** The label of a field, or the text of a button. */
  readonly text: string
  readonly outline: string
}

const focused = (page: Page): Promise<Focused> =>
  page.evaluate(`(() => {
    const { activeElement: one } = document
    const isField = ['INPUT', 'SELECT', 'TEXTAREA'].includes(one.tagName)
    const text = isField ? one.getAttribute('aria-label') ?? one.labels?.[0]?.textContent ?? '' : one.textContent
    return { tag: one.tagName, text: text.trim().replace(/\\s+/g, ' '), outline: getComputedStyle(one).outlineStyle }
  })()`)

/** What takes the focus, by the tags of its elements. */
const TAGS = {
  field: ['INPUT', 'SELECT', 'TEXTAREA'],
  button: ['BUTTON'],
  link: ['A'],
  list: ['SUMMARY'],
} as const

/** Presses Tab until something whose text begins so has the focus, which must be visible. */
const tabTo = async (page: Page, text: string, what: keyof typeof TAGS): Promise<void> => {
  for (let presses = 0; presses < MAX_PRESSES; presses++) {
    await page.keyboard.press('Tab')
    const one = await focused(page)
    if (!(TAGS[what] as readonly string[]).includes(one.tag) || !one.text.startsWith(text)) continue
    assert.notEqual(one.outline, 'none', text)
    return
  }
  assert.fail(`Tab does not reach a ${what} named ${text}`)
}
