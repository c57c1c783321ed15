import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import type { Browser, BrowserContext, Locator, Page } from 'playwright-core'
import { memory } from '../../drivers/memory/index.ts'
import {
  accounts,
  emailAddresses,
  gpgKeys,
  groups,
  repositories,
  rules,
  sshKeys,
  tokens,
} from '../../lib/records/schema/index.ts'
import { Store } from '../../lib/records/store.ts'
import type { ReadTransaction } from '../../lib/storage/index.ts'
import { gnupg } from '../keys/gnupg.ts'
import { launchChromium, PATIENT_MS, withoutChromium } from '../support/chromium.ts'
import { generateSshKey } from '../support/keygen.ts'
import { type PageServer, startPages } from '../web/browser.ts'
import { PASSWORD } from '../web/fixture.ts'

const LONG = 'x'.repeat(5000)

/** A form, which every case below is tried on. */
interface Form {
  readonly who: 'root' | 'ann' | 'pat'
  /** Makes what the form is about. */
  make?(number: number): Promise<unknown>
  /** Opens the page of the form. */
  open(page: Page, number: number): Promise<void>
  readonly action: string
  /** What is accepted, by the names of the fields; with each number something else. */
  values(number: number): Readonly<Record<string, string>>
  /** What each field refuses. */
  readonly wrong: Readonly<Record<string, readonly string[]>>
  /** What the form changes, and by how many records. */
  readonly changes?: readonly [collection: { all(tx: ReadTransaction): AsyncIterable<unknown> }, by: 1 | -1]
  readonly done: RegExp
  /** What the page says when the same is sent a second time. */
  readonly again: RegExp
}

describe('A form that is used in a way that it is not for', { skip: withoutChromium }, () => {
  const driver = memory()
  const gpg = gnupg()
  let allot: PageServer
  let browser: Browser
  const ids = new Map<string, number>()
  /** The password of pat, who changes it. */
  let changed = 0
  const passwordOf = (who: string) => (who === 'pat' ? passwordNumber(changed) : PASSWORD)
  const passwordNumber = (number: number) => `${PASSWORD} ${number}`

  before(async () => {
    const login = { failures: 1000, failuresFromAddress: 10_000, failuresForName: 10_000 }
    allot = await startPages({ driver, login })
    const { hosting, quota } = allot.allot
    ids.set('root', allot.root.id)
    await hosting.accounts.edit(allot.root.id, { password: PASSWORD })
    for (const who of ['ann', 'pat'])
      ids.set(who, (await allot.person(who, { password: passwordOf(who) })).id)
    await quota.rules.create({ name: 'total', limit: 1024, subjects: ['size:all'] })
    await quota.groups.create({ name: 'free', rules: ['total'] })
    browser = await launchChromium()
  })
  after(async () => {
    gpg.end()
    await browser.close()
    await allot.stop()
  })

  const at = (path: string) => async (page: Page) => void (await page.goto(allot.base + path))
  /** Opens a page that asks first. @param button its name; `#` stands for the number */
  const asked = (path: string, button: string) => async (page: Page, number: number) => {
    const numbered = (text: string) => text.replace('#', String(number))
    await page.goto(allot.base + numbered(path))
    await page.getByRole('button', { name: numbered(button) }).click()
    await page.getByText('Cancel').waitFor()
  }
  const rule = { limit: 1, subjects: ['size:all' as const] }
  const annKey = (number: number) =>
    allot.allot.hosting.sshKeys.add(ids.get('ann')!, {
      title: `old-${number}`,
      key: generateSshKey('ed25519').key,
    })
  const keys = new Map<string, string>()
  /** The same key for the same number. */
  const keyOf = (name: string, make: () => string): string => {
    const known = keys.get(name) ?? make()
    keys.set(name, known)
    return known
  }

  const FORMS: Readonly<Record<string, Form>> = {
    'the profile': {
      who: 'ann',
      open: at('/-/settings'),
      action: '/-/settings',
      values: (number) => ({ fullName: `Ann ${number}`, description: '', website: '', location: 'here' }),
      wrong: { fullName: [LONG], description: [LONG], website: [LONG], location: [LONG] },
      ...{ done: /Saved\./, again: /Saved\./ },
    },
    'the password': {
      who: 'pat',
      open: at('/-/settings/password'),
      action: '/-/settings/password',
      values: () => ({
        currentPassword: passwordNumber(changed),
        newPassword: passwordNumber(changed + 1),
        repeatedPassword: passwordNumber(changed + 1),
      }),
      wrong: {
        currentPassword: ['', '   ', 'wrong', LONG],
        newPassword: ['', '   ', 'short', LONG],
        repeatedPassword: ['', '   ', LONG],
      },
      done: /The password was changed/,
      // The second tab has a form of the session that the change has ended.
      again: /Current password: (it is wrong|it was changed meanwhile)|This form has expired/,
    },
    'an email address': {
      who: 'ann',
      open: at('/-/settings/emails'),
      action: '/-/settings/emails',
      values: (number) => ({ email: `ann-${number}@example.test` }),
      wrong: { email: ['', '   ', 'no address', `${LONG}@example.test`] },
      changes: [emailAddresses, 1],
      ...{ done: /Added\./, again: /Email: .* is already used/ },
    },
    'the removal of an email address': {
      who: 'ann',
      make: (number) => allot.allot.hosting.emails.add(ids.get('ann')!, [`old-${number}@example.test`]),
      open: asked('/-/settings/emails', 'Remove old-#@'),
      action: '/-/settings/emails/remove',
      values: () => ({}),
      wrong: {},
      changes: [emailAddresses, -1],
      ...{ done: /Removed\./, again: /This address is already removed\./ },
    },
    'an SSH key': {
      who: 'ann',
      open: at('/-/settings/keys'),
      action: '/-/settings/keys/ssh',
      values: (number) => ({
        title: `key-${number}`,
        key: keyOf(`ssh ${number}`, () => generateSshKey('ed25519').key),
      }),
      wrong: { title: ['', '   ', LONG], key: ['', '   ', 'no key', LONG] },
      changes: [sshKeys, 1],
      ...{ done: /Added\./, again: /SSH public key: the key was added before/ },
    },
    'the deletion of a key': {
      who: 'ann',
      make: annKey,
      open: asked('/-/settings/keys', 'Delete old-#'),
      action: '/-/settings/keys/delete',
      values: () => ({}),
      wrong: {},
      changes: [sshKeys, -1],
      ...{ done: /Deleted\./, again: /This key is already deleted\./ },
    },
    'a GPG key': {
      who: 'ann',
      open: at('/-/settings/keys'),
      action: '/-/settings/keys/gpg',
      values: (number) => ({
        armored: keyOf(`gpg ${number}`, () => gpg.armored(gpg.generate(`Ann <ann${number}@example.test>`))),
      }),
      wrong: { armored: ['', '   ', 'no key', LONG] },
      changes: [gpgKeys, 1],
      ...{ done: /Added\./, again: /GPG public key: the key was added before/ },
    },
    'a token': {
      who: 'ann',
      open: at('/-/account'),
      action: '/-/account/tokens',
      values: (number) => ({ name: `token-${number}` }),
      wrong: { name: ['', '   ', LONG] },
      changes: [tokens, 1],
      ...{ done: /Copy it now/, again: /A token named .* already exists/ },
    },
    'the end of a token': {
      who: 'ann',
      make: (number) => allot.allot.hosting.tokens.create(ids.get('ann')!, `old-${number}`, ['read:user']),
      open: asked('/-/account', 'Revoke old-#'),
      action: '/-/account/revoke',
      values: () => ({}),
      wrong: {},
      changes: [tokens, -1],
      ...{ done: /Revoked\./, again: /This token is already revoked\./ },
    },
    'a rule': {
      who: 'root',
      open: at('/-/admin/rules'),
      action: '/-/admin/rules',
      values: (number) => ({ name: `rule-${number}`, limit: '2 GiB' }),
      wrong: { name: ['', '   ', LONG], limit: ['', '   ', 'much', '1,00 MiB', '9'.repeat(40), LONG] },
      changes: [rules, 1],
      ...{ done: /Created\./, again: /A rule named .* already exists/ },
    },
    'the limit of a rule': {
      who: 'root',
      open: at('/-/admin/rule?name=total'),
      action: '/-/admin/rule',
      values: (number) => ({ limit: `${number} MiB` }),
      wrong: { limit: ['', '   ', 'much', LONG] },
      ...{ done: /Saved\./, again: /Saved\./ },
    },
    'the deletion of a rule': {
      who: 'root',
      make: (number) => allot.allot.quota.rules.create({ name: `old-${number}`, ...rule }),
      open: asked('/-/admin/rule?name=old-#', 'Delete rule…'),
      action: '/-/admin/rule/delete',
      values: () => ({}),
      wrong: {},
      changes: [rules, -1],
      ...{ done: /Deleted\./, again: /There is no rule named old-/ },
    },
    'a group': {
      who: 'root',
      open: at('/-/admin/groups'),
      action: '/-/admin/groups',
      values: (number) => ({ name: `group-${number}` }),
      wrong: { name: ['', '   ', LONG] },
      changes: [groups, 1],
      ...{ done: /Created\./, again: /A group named .* already exists/ },
    },
    'an owner of a group': {
      who: 'root',
      open: at('/-/admin/group?name=free'),
      action: '/-/admin/group/members',
      values: (number) => ({ owner: number === 4 ? 'ann' : 'pat' }),
      wrong: { owner: ['', '   ', 'nobody', LONG] },
      ...{ done: /Added\./, again: /User or organization: .* is already assigned/ },
    },
    'a user': {
      who: 'root',
      open: at('/-/admin/accounts/new?kind=user'),
      action: '/-/admin/accounts/new',
      values: (number) => ({ name: `user-${number}`, fullName: 'A name', email: '', password: PASSWORD }),
      wrong: {
        name: ['', '   ', 'a name', LONG],
        fullName: [LONG],
        email: ['no address', `${LONG}@example.test`],
        password: ['short', LONG],
      },
      changes: [accounts, 1],
      ...{ done: /Created\./, again: /Name: .* is already taken/ },
    },
    'an organization': {
      who: 'root',
      open: at('/-/admin/accounts/new?kind=organization'),
      action: '/-/admin/accounts/new',
      values: (number) => ({ name: `org-${number}`, fullName: '', description: 'More', owner: 'ann' }),
      wrong: { name: ['', '   ', 'a name', LONG], description: [LONG], owner: ['nobody', LONG] },
      changes: [accounts, 1],
      ...{ done: /Created\./, again: /Name: .* is already taken/ },
    },
    'an account': {
      who: 'root',
      open: at('/-/admin/account?name=ann'),
      action: '/-/admin/account',
      values: (number) => ({ fullName: `Ann ${number}`, email: `first-${number}@example.test` }),
      wrong: { fullName: [LONG], email: ['no address', `${LONG}@example.test`] },
      ...{ done: /Saved\./, again: /Saved\./ },
    },
    'the deletion of an account': {
      who: 'root',
      make: (number) => allot.allot.hosting.accounts.createUser({ name: `gone-${number}` }),
      open: asked('/-/admin/account?name=gone-#', 'Delete user…'),
      action: '/-/admin/account/delete',
      values: (number) => ({ confirmation: `gone-${number}` }),
      wrong: { confirmation: ['', '   ', 'another', LONG] },
      changes: [accounts, -1],
      ...{ done: /Deleted\./, again: /There is no account named gone-/ },
    },
    'the deletion of a repository': {
      who: 'ann',
      async make(number) {
        const { hosting } = allot.allot
        const owner = (await hosting.accounts.byId(ids.get('ann')!))!
        await hosting.repositories.create(owner, owner, { name: `gone-${number}` })
      },
      async open(page, number) {
        await page.goto(`${allot.base}/-/storage/ann/repositories`)
        await page.getByLabel(`Select gone-${number}`, { exact: true }).check()
        await page.getByRole('button', { name: 'Delete selected' }).click()
        await page.getByLabel('Confirmation').waitFor()
      },
      action: '/-/storage/ann/remove',
      values: (number) => ({ confirmation: `gone-${number}` }),
      wrong: { confirmation: ['', '   ', 'another', LONG] },
      changes: [repositories, -1],
      ...{ done: /Deleted\./, again: /What was selected is already deleted/ },
    },
  }

  const contextOf = async (who: string, options = {}): Promise<BrowserContext> => {
    const context = await browser.newContext(options)
    context.setDefaultTimeout(PATIENT_MS)
    const client = allot.browser()
    await client.signIn(who, passwordOf(who))
    const cookies = client.cookie.split('; ').map((cookie) => {
      const [name, ...value] = cookie.split('=')
      return { name: name!, value: value.join('='), url: allot.base }
    })
    await context.addCookies(cookies)
    await context.newPage()
    return context
  }

  const formIn = (page: Page, { action, values }: Form): Locator => {
    const forms = page.locator(`form[action="${action}"]`)
    const [field] = Object.keys(values(1))
    return field === undefined
      ? forms.filter({ has: page.locator('[name=confirmed]') })
      : forms.filter({ has: page.locator(`[name="${field}"]`) })
  }
  const enter = async (form: Locator, values: Readonly<Record<string, string>>): Promise<void> => {
    for (const [name, value] of Object.entries(values)) await form.locator(`[name="${name}"]`).fill(value)
  }
  const button = (form: Locator): Locator => form.locator('button[type=submit]').first()
  const send = async (form: Locator): Promise<void> => {
    await Promise.all([form.page().waitForEvent('load'), button(form).click()])
  }
  /** Clicks twice before the first answer can come. @returns for each click whether the script kept the form from being sent */
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

  const countOf = async ({ changes }: Form): Promise<number> => {
    if (changes === undefined) return 0
    return new Store(driver).read(async (tx) => {
      let count = 0
      for await (const _ of changes[0].all(tx)) count++
      return count
    })
  }
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

  /** The values that a refused form shows again: never those of passwords. */
  const kept = (form: Locator, names: readonly string[]): Promise<Record<string, string>> =>
    form.evaluate(
      (element, all) =>
        Object.fromEntries(
          all.map((name) => {
            const field = (element as unknown as { elements: Record<string, { value: string }> }).elements
            return [name, field[name]!.value]
          }),
        ),
      names,
    )

  /** Sends a value that a field refuses, without the checks of the browser. */
  const refuse = async (page: Page, form: Form, number: number, field: string, value: string) => {
    const what = `${field} with ${JSON.stringify(value.slice(0, 20))}`
    const entered = { ...form.values(number), [field]: value }
    const shown = formIn(page, form)
    await shown.evaluate((element) => element.setAttribute('novalidate', ''))
    for (const name of Object.keys(entered))
      await shown.locator(`[name="${name}"]`).evaluate((element) => element.removeAttribute('maxlength'))
    await enter(shown, entered)
    const before = await everything()
    await send(shown)
    assert.equal(await everything(), before, `${what} changes nothing`)
    const messages = page.locator('main [role=alert]')
    assert.equal(await messages.count(), 1, `${what} is answered with one message`)
    const marked = page.locator('main [aria-invalid]')
    assert.equal(await marked.count(), 1, `${what} marks one field`)
    assert.equal(await marked.getAttribute('name'), field, what)
    assert.equal(await marked.evaluate((element) => element === element.ownerDocument.activeElement), true)
    const [fieldBox, messageBox] = [(await marked.boundingBox())!, (await messages.boundingBox())!]
    const gap = messageBox.y - (fieldBox.y + fieldBox.height)
    assert.ok(gap >= 0 && gap < 40, `${what}: the message is ${gap} pixels below the field`)
    const isSecret = (name: string) => /password/i.test(name)
    const expected = Object.entries(entered).map(([name, text]) => [name, isSecret(name) ? '' : text.trim()])
    const again = await kept(formIn(page, form), Object.keys(entered))
    // The lines of a text end as the browser sends them.
    const lines = (text: string) => text.replaceAll('\r\n', '\n').trim()
    assert.deepEqual(
      Object.entries(again).map(([name, text]) => [name, lines(text)]),
      expected.map(([name, text]) => [name, lines(text!)]),
      what,
    )
  }

  /** Forms on which is tried what all forms have in common. */
  const COMMON = ['the password', 'an email address', 'the removal of an email address']

  for (const [name, form] of Object.entries(FORMS)) {
    const [, by] = form.changes ?? [undefined, 0]

    it(`says what is wrong beside the field, keeps what was entered, and changes nothing: ${name}`, async () => {
      const context = await contextOf(form.who)
      const page = context.pages()[0]!
      await form.make?.(1)
      await form.open(page, 1)
      for (const [field, values] of Object.entries(form.wrong))
        for (const value of values) await refuse(page, form, 1, field, value)
      await context.close()
    })

    if (COMMON.includes(name))
      it(`changes nothing with the token of another session, or after its session has ended: ${name}`, async () => {
        const context = await contextOf(form.who)
        const page = context.pages()[0]!
        const tab = await context.newPage()
        await form.make?.(2)
        for (const one of [page, tab]) {
          await form.open(one, 2)
          await enter(formIn(one, form), form.values(2))
        }
        const before = await everything()
        await page
          .locator(`form[action="${form.action}"] [name=form]`)
          .evaluateAll((all) => void all.map((one) => one.setAttribute('value', 'x'.repeat(43))))
        await send(formIn(page, form))
        assert.match(await mainOf(page), /This form has expired/)
        await allot.allot.hosting.sessions.endAll(ids.get(form.who)!)
        await send(formIn(tab, form))
        assert.match(await mainOf(tab), /Your session has ended, and the form was not saved\./)
        assert.equal(await everything(), before)
        await context.close()
      })

    it(`changes nothing twice by a double click, after Back, or in a second tab: ${name}`, async () => {
      const context = await contextOf(form.who)
      const page = context.pages()[0]!
      const tab = await context.newPage()
      const values = form.values(4)
      await form.make?.(4)
      for (const one of [page, tab]) {
        await form.open(one, 4)
        await enter(formIn(one, form), values)
      }
      const before = await countOf(form)
      assert.deepEqual(await clickTwice(formIn(page, form)), [false, true])
      await page.locator('main', { hasText: form.done }).waitFor()
      assert.equal((await countOf(form)) - before, by)
      if (form.who === 'pat') changed++
      await send(formIn(tab, form))
      assert.match(await mainOf(tab), form.again)
      if (await isBack(page)) {
        await enter(formIn(page, form), values)
        await send(formIn(page, form))
        assert.match(await mainOf(page), form.again)
      }
      assert.equal((await countOf(form)) - before, by)
      await context.close()
    })

    if (COMMON.includes(name))
      it(`works without a script, and changes nothing twice when it is sent twice at once there: ${name}`, async () => {
        const context = await contextOf(form.who, { javaScriptEnabled: false })
        const page = context.pages()[0]!
        await form.make?.(5)
        await form.open(page, 5)
        await enter(formIn(page, form), form.values(5))
        const before = await countOf(form)
        const again = await requestOf(formIn(page, form))
        await Promise.all([send(formIn(page, form)), again()])
        assert.match(await mainOf(page), anyOf(form.done, form.again))
        assert.equal((await countOf(form)) - before, by)
        if (form.who === 'pat') changed++
        await context.close()
      })
  }
})

const anyOf = (...patterns: readonly RegExp[]): RegExp =>
  new RegExp(patterns.map(({ source }) => source).join('|'))

/** Goes back. A page that asks first is the answer to a form, in whose place the browser asks whether to send that again. */
const isBack = (page: Page): Promise<boolean> =>
  page.goBack().then(
    () => true,
    (error) => {
      if (!/ERR_CACHE_MISS/.test(String(error))) throw error
      return false
    },
  )
