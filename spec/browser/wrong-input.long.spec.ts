import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { after, before, beforeEach, describe, it } from 'node:test'
import type { Browser, BrowserContext, Locator, Page } from 'playwright-core'
import { memory } from '../../drivers/memory/index.ts'
import { Router } from '../../lib/http/router.ts'
import { Store } from '../../lib/records/store.ts'
import { loginRoutes, pageRoutes } from '../../lib/web/page-routes.ts'
import { gnupg } from '../keys/gnupg.ts'
import { launchChromium, PATIENT_MS, withoutChromium } from '../support/chromium.ts'
import { isLong, sampleOf } from '../support/long.ts'
import { violationsOn } from '../web/axe.ts'
import { type PageClient, type PageResponse, type PageServer, startPages, words } from '../web/browser.ts'
import { PASSWORD } from '../web/fixture.ts'
import { ELSEWHERE, type Form, formsOf, passwordNumber } from './forms.ts'
import { attribute, formsIn, type MarkedForm } from './markup.ts'

const driver = memory()
const gpg = gnupg()
let allot: PageServer
const ids = new Map<string, number>()
/** The password of pat, who changes it. */
let changed = 0
const passwordOf = (who: string) => (who === 'pat' ? passwordNumber(changed) : PASSWORD)

const FORMS = formsOf({ server: () => allot, gpg, ids, changed: () => changed })

before(async () => {
  const login = { failures: 1000, failuresFromAddress: 10_000, failuresForName: 10_000 }
  allot = await startPages({ driver, login, ssh: { port: 22 } })
  const { hosting, quota } = allot.allot
  ids.set('root', allot.root.id)
  await hosting.accounts.edit(allot.root.id, { password: PASSWORD })
  for (const who of ['ann', 'pat', 'eve'])
    ids.set(who, (await allot.person(who, { password: passwordOf(who) })).id)
  await quota.rules.create({ name: 'total', limit: 1024, subjects: ['size:all'] })
  await quota.groups.create({ name: 'free', rules: ['total'] })
})

after(() => gpg.end())

/** Everything but when sessions and tokens were last used, and the audit log, which has no refused change. */
const everything = (): Promise<string> =>
  driver.read(async (tx) => {
    const texts: string[] = []
    const whole = { start: new Uint8Array([0]), end: new Uint8Array(20).fill(255) }
    for await (const [key, value] of tx.range(whole)) {
      const name = Buffer.from(key).toString('latin1')
      if (!/session|token/.test(name)) texts.push(name, Buffer.from(value).toString('latin1'))
    }
    return texts.join('\n')
  })

const countOf = async ({ changes }: Form): Promise<number> => {
  if (changes === undefined) return 0
  return new Store(driver).read(async (tx) => {
    let count = 0
    for await (const _ of changes[0].all(tx)) count++
    return count
  })
}

/**
 * Makes what the form is about.
 * @returns the form with what was made in place of `#`
 */
const made = async (form: Form, number: number): Promise<Form> => {
  const answer = await form.make?.(number)
  const put = (text: string) => text.replace('#', typeof answer === 'string' ? answer : String(number))
  const [name, value] = form.having ?? []
  return {
    ...form,
    page: put(form.page),
    action: put(form.action),
    ...(form.tick === undefined ? {} : { tick: put(form.tick) }),
    ...(name === undefined ? {} : { having: [name, put(value!)] as const }),
  }
}

describe('The forms of the pages', () => {
  it('are all tried with what they are not for', () => {
    const routes = [...pageRoutes, ...loginRoutes].filter(({ method }) => method === 'POST')
    const router = new Router(routes)
    const tried = new Set(
      Object.values(FORMS).map(({ action }) => router.match('POST', action.replace('#', '1')).route),
    )
    const untried = routes.filter((route) => !tried.has(route)).map(({ path }) => path)
    assert.deepEqual(untried.sort(), Object.keys(ELSEWHERE).sort())
    for (const [file, call] of Object.values(ELSEWHERE))
      assert.ok(readFileSync(new URL(`../${file}`, import.meta.url), 'utf8').includes(call))
  })
})

describe('A form that gets what it is not for', () => {
  const clients = new Map<string, PageClient>()
  const clientOf = async (who: string | undefined): Promise<PageClient> => {
    const known = clients.get(who ?? '')
    if (known !== undefined) return known
    const client = allot.browser()
    if (who !== undefined) assert.equal((await client.signIn(who, passwordOf(who))).status, 303)
    clients.set(who ?? '', client)
    return client
  }

  /** The form on a page that the test means. */
  const shownIn = (html: string, form: Form, isAsked = false): MarkedForm => {
    const [wanted] = Object.keys(form.values(1))
    const found = formsIn(html, form.action).find(({ fields, tags }) => {
      if (isAsked)
        return wanted === undefined
          ? 'confirmed' in fields
          : tags.some((tag) => attribute(tag, 'name') === wanted)
      if (form.having !== undefined) return fields[form.having[0]]?.includes(form.having[1])
      return form.asks || wanted === undefined || tags.some((tag) => attribute(tag, 'name') === wanted)
    })
    assert.ok(found !== undefined, `${form.page} has the form ${form.action}`)
    if (isAsked || form.tick === undefined) return found
    const box = found.tags.find((tag) => attribute(tag, 'aria-label') === form.tick)!
    const fields = { ...found.fields, [attribute(box, 'name')!]: [attribute(box, 'value')!] }
    return { ...found, fields }
  }

  /** Opens the page of the form, and where that asks first, the page that asks. */
  const opened = async (client: PageClient, form: Form): Promise<MarkedForm> => {
    const page = await client.get(form.page)
    assert.equal(page.status, 200, form.page)
    const shown = shownIn(page.text, form)
    if (!form.asks) return shown
    const asked = await client.post(form.action, shown.fields)
    assert.equal(asked.status, 200, `${form.action} asks first`)
    return shownIn(asked.text, form, true)
  }

  const send = (client: PageClient, form: Form, fields: MarkedForm['fields']): Promise<PageResponse> =>
    client.post(form.action, fields)
  const entered = (form: Form, number: number) =>
    Object.fromEntries(Object.entries(form.values(number)).map(([name, value]) => [name, [value]]))

  /** The answer, or the page that it leads to. */
  const wordsOf = async (client: PageClient, answer: PageResponse): Promise<string> => {
    const to = answer.headers.get('location')
    return words(to === null ? answer.text : (await client.get(to)).text)
  }

  const secret = (name: string) => /password/i.test(name)
  const lines = (text: string) => text.replaceAll('\r\n', '\n').trim()

  /** Sends a value that a field refuses, without the checks of a browser. */
  const refuse = async (form: Form, shown: MarkedForm, field: string, value: string) => {
    const what = `${field} with ${JSON.stringify(value.slice(0, 20))}`
    const client = await clientOf(form.who)
    const fields = { ...shown.fields, ...entered(form, 1), [field]: [value] }
    const before = await everything()
    const { status, text } = await send(client, form, fields)
    assert.equal(await everything(), before, `${what} changes nothing`)
    assert.ok(status === 422 || status === 409, `${what} is answered ${status}`)
    assert.equal([...text.matchAll(/ role="alert"/g)].length, 1, `${what} is answered with one message`)
    const page = [...text.matchAll(/<(?:input|select|textarea)\b[^>]*>/g)].map(([tag]) => tag)
    const invalid = page.filter((tag) => / aria-invalid/.test(tag))
    const marked = invalid.map((tag) => attribute(tag, 'name'))
    for (const tag of invalid) assert.match(tag, / aria-describedby="failure\b/, what)
    if (form.action !== '/-/admin/owners' || field !== 'owner')
      assert.deepEqual([...new Set(marked)], [field], `${what} marks the field`)
    const again = form.asks
      ? shownIn(text, form, true)
      : shownIn(text, { ...form, having: undefined!, tick: undefined! })
    for (const [name, [entry = '']] of Object.entries({ ...entered(form, 1), [field]: [value] }))
      if (again.tags.some((tag) => attribute(tag, 'name') === name && !/type="checkbox"|^<select/.test(tag)))
        assert.equal(
          lines(again.fields[name]?.[0] ?? ''),
          secret(name) ? '' : lines(entry),
          `${what} keeps ${name}`,
        )
  }

  // A visitor can be signed in by a form.
  beforeEach(() => void clients.delete(''))

  for (const [name, one] of Object.entries(FORMS)) {
    it(`says what is wrong, marks the field, keeps what was entered, and changes nothing: ${name}`, async () => {
      const form = await made(one, 1)
      const shown = await opened(await clientOf(form.who), form)
      for (const [field, values] of Object.entries(form.wrong))
        for (const value of values) await refuse(form, shown, field, value)
    })

    it(`changes nothing twice when it is sent a second time from another tab: ${name}`, async () => {
      const form = await made(one, 4)
      const [client, by] = [await clientOf(form.who), form.changes?.[1] ?? 0]
      const { fields } = await opened(client, form)
      const before = await countOf(form)
      const filled = { ...fields, ...entered(form, 4) }
      const first = await send(client, form, filled)
      assert.match(await wordsOf(client, first), form.done)
      assert.equal((await countOf(form)) - before, by)
      if (form.who === 'pat') changed++
      assert.match(await wordsOf(client, await send(client, form, filled)), form.again)
      assert.equal((await countOf(form)) - before, by)
    })
  }
})

/** Forms of each person: with a page that asks first, with several fields, with one field. */
const IN_BROWSER = sampleOf(FORMS, [
  'the profile',
  'the deletion of a repository',
  'the password',
  'a group',
  'the password of such a link',
])

describe('A form in a browser', { skip: withoutChromium }, () => {
  let browser: Browser
  before(async () => {
    browser = await launchChromium()
  })

  const contextOf = async (who: string | undefined, options = {}): Promise<BrowserContext> => {
    const context = await browser.newContext(options)
    context.setDefaultTimeout(PATIENT_MS)
    if (who !== undefined) {
      const client = await allot.signedIn(who, passwordOf(who))
      const cookies = client.cookie.split('; ').map((cookie) => {
        const [name, ...value] = cookie.split('=')
        return { name: name!, value: value.join('='), url: allot.base }
      })
      await context.addCookies(cookies)
    }
    await context.newPage()
    return context
  }

  const formIn = (page: Page, form: Form, isAsked = false): Locator => {
    const forms = page.locator(`form[method=post][action="${form.action}"]`)
    const [wanted] = Object.keys(form.values(1))
    if (!isAsked && form.asks) {
      const [name, value] = form.having ?? []
      return name === undefined
        ? forms
        : forms.filter({ has: page.locator(`[name="${name}"][value="${value}"]`) })
    }
    const field = isAsked && wanted === undefined ? 'confirmed' : wanted
    return field === undefined ? forms : forms.filter({ has: page.locator(`[name="${field}"]`) })
  }
  /** @returns the form, on the page that asks where one does */
  const open = async (page: Page, form: Form): Promise<Locator> => {
    await page.goto(allot.base + form.page)
    for (const list of await page.locator('main details').all())
      await list.evaluate((one) => one.setAttribute('open', ''))
    if (form.tick !== undefined) await page.getByLabel(form.tick, { exact: true }).check()
    if (!form.asks) return formIn(page, form)
    await send(formIn(page, form))
    return formIn(page, form, true)
  }
  const enter = async (form: Locator, values: Readonly<Record<string, string>>): Promise<void> => {
    for (const [name, value] of Object.entries(values))
      await form.locator(`[name="${name}"]`).first().evaluate(ENTER, value)
  }
  const button = (form: Locator): Locator => form.locator('button[type=submit]').first()
  const send = async (form: Locator): Promise<void> => {
    await Promise.all([form.page().waitForEvent('load'), button(form).click()])
  }
  /**
   * Clicks twice before the first answer can come.
   * @returns for each click whether the script kept the form from being sent
   */
  const clickTwice = (form: Locator): Promise<boolean[]> =>
    button(form).evaluate((element) => {
      const prevented: boolean[] = []
      addEventListener('submit', (event) => prevented.push(event.defaultPrevented))
      for (let click = 0; click < 2; click++) (element as HTMLElement).click()
      return prevented
    })
  /** Sends what the form holds now as a request of its own. */
  const requestOf = async (form: Locator): Promise<() => Promise<unknown>> => {
    const fields = await button(form).evaluate((element) => {
      const { form, name, value } = element as HTMLButtonElement
      const entries = [...new FormData(form!)].map(([key, entry]) => [key, String(entry)])
      return name === '' ? entries : [...entries, [name, value]]
    })
    const action = await form.getAttribute('action')
    const headers = { origin: allot.base, 'content-type': 'application/x-www-form-urlencoded' }
    const data = new URLSearchParams(fields).toString()
    return () => form.page().request.post(`${allot.base}${action}`, { headers, data })
  }
  const mainOf = async (page: Page): Promise<string> => (await page.textContent('main')) ?? ''

  /** Sends a value that a field refuses: the message stands below the field, which has the focus. */
  const refuse = async (page: Page, form: Form, field: string, value: string) => {
    const shown = await open(page, form)
    const what = `${form.action}: ${field} with ${JSON.stringify(value.slice(0, 20))}`
    await shown.evaluate((element) => element.setAttribute('novalidate', ''))
    await enter(shown, { ...form.values(1), [field]: value })
    await send(shown)
    assert.deepEqual(await violationsOn(page), [], what)
    const messages = page.locator('main [role=alert]')
    assert.equal(await messages.count(), 1, `${what} is answered with one message`)
    const marked = page.locator('main [aria-invalid]:not([type=checkbox], [type=radio], select)')
    if ((await marked.count()) === 0) return
    assert.equal(
      await marked.evaluate((element) => element === element.ownerDocument.activeElement),
      true,
      what,
    )
    const [fieldBox, messageBox] = [(await marked.boundingBox())!, (await messages.boundingBox())!]
    const gap = messageBox.y - (fieldBox.y + fieldBox.height)
    assert.ok(gap >= 0 && gap < 40, `${what}: the message is ${gap} pixels below the field`)
  }

  for (const who of new Set(Object.values(IN_BROWSER).map((form) => form.who)))
    it(`says what is wrong below the field, with the focus on it, and passes axe-core: those of ${who ?? 'a visitor'}`, async () => {
      const context = await contextOf(who)
      const page = context.pages()[0]!
      for (const one of Object.values(IN_BROWSER).filter((form) => form.who === who)) {
        const form = await made(one, 5)
        for (const [field, [value]] of Object.entries(form.wrong)) await refuse(page, form, field, value!)
      }
      await context.close()
    })

  /** Forms on which is tried what all forms have in common. */
  const COMMON = ['the password', 'an SSH key', 'the deletion of a key']

  for (const name of isLong ? COMMON : COMMON.slice(1, 2)) {
    const [, by] = FORMS[name]!.changes ?? [undefined, 0]

    it(`changes nothing with the token of another session, or after its session has ended: ${name}`, async () => {
      const form = await made(FORMS[name]!, 6)
      const context = await contextOf(form.who)
      const page = context.pages()[0]!
      const tab = await context.newPage()
      const forms = new Map<Page, Locator>()
      for (const one of [page, tab]) {
        const shown = await open(one, form)
        await enter(shown, form.values(6))
        forms.set(one, shown)
      }
      const before = await everything()
      await page
        .locator(`form[action="${form.action}"] [name=form]`)
        .evaluateAll((all) => void all.map((one) => one.setAttribute('value', 'x'.repeat(43))))
      await send(forms.get(page)!)
      assert.match(await mainOf(page), /This form has expired/)
      await allot.allot.hosting.sessions.endAll(ids.get(form.who!)!)
      await send(forms.get(tab)!)
      assert.match(await mainOf(tab), /Your session has ended, and the form was not saved\./)
      assert.equal(await everything(), before)
      await context.close()
    })

    it(`changes nothing twice by a double click, or after Back: ${name}`, async () => {
      const form = await made(FORMS[name]!, 7)
      const context = await contextOf(form.who)
      const page = context.pages()[0]!
      const shown = await open(page, form)
      const values = form.values(7)
      await enter(shown, values)
      const before = await countOf(form)
      assert.deepEqual(await clickTwice(shown), [false, true])
      await page.locator('main', { hasText: form.done }).waitFor()
      assert.equal((await countOf(form)) - before, by)
      if (form.who === 'pat') changed++
      if (await isBack(page)) {
        await enter(shown, values)
        await send(shown)
        assert.match(await mainOf(page), form.again)
      }
      assert.equal((await countOf(form)) - before, by)
      await context.close()
    })

    it(`works without a script, and changes nothing twice when it is sent twice at once there: ${name}`, async () => {
      const form = await made(FORMS[name]!, 8)
      const context = await contextOf(form.who, { javaScriptEnabled: false })
      const page = context.pages()[0]!
      const shown = await open(page, form)
      await enter(shown, form.values(8))
      const before = await countOf(form)
      const again = await requestOf(shown)
      await Promise.all([send(shown), again()])
      assert.match(await mainOf(page), anyOf(form.done, form.again))
      assert.equal((await countOf(form)) - before, by)
      if (form.who === 'pat') changed++
      await context.close()
    })
  }
})

/** Gives a field a value, also one that its list or its box does not have, or that is too long for it. */
const ENTER = (element: unknown, value: string) => {
  const field = element as {
    tagName: string
    type: string
    value: string
    checked: boolean
    removeAttribute(name: string): void
    add(option: unknown): void
  }
  field.removeAttribute('maxlength')
  if (field.tagName === 'SELECT') {
    field.add(new Option(value, value))
  }
  if (field.type === 'checkbox') field.checked = true
  field.value = value
}

const anyOf = (...patterns: readonly RegExp[]): RegExp =>
  new RegExp(patterns.map(({ source }) => source).join('|'))

/**
 * Goes back. A page that asks first is the answer to a form, in whose place the browser asks whether to send
 * that again.
 */
const isBack = (page: Page): Promise<boolean> =>
  page.goBack().then(
    () => true,
    (error) => {
      if (!/ERR_CACHE_MISS/.test(String(error))) throw error
      return false
    },
  )
