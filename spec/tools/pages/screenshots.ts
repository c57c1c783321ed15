import { mkdirSync } from 'node:fs'
import { launchChromium } from '../../support/chromium.ts'
import { type PageServer, startPages } from '../../web/browser.ts'
import { PASSWORD, startFixture } from '../../web/fixture.ts'
import { PAGES } from '../../web/page-list.ts'
import { startSite } from '../../web/site.ts'
import { SITE_PAGES } from '../../web/site-pages.ts'
import { type Shot, takePages } from '../../web/take-pages.ts'

/**
 * Takes screenshots of all pages, wide and narrow, light and dark:
 * `npx tsx spec/tools/pages/screenshots.ts FOLDER [WORD]`, where a word selects
 * the pages whose name contains it.
 */
/** Pages that ask before something is done, and that refuse: what a form answers, with nothing changed. */
const ANSWERS: Readonly<Record<string, Shot>> = {
  'sign in': { path: '/' },
  'sign in refused': {
    path: '/',
    async press(page) {
      await page.getByLabel('User name or email').fill('ann')
      await page.getByLabel('Password', { exact: true }).fill('wrong')
      await page.getByRole('button', { name: 'Sign in' }).click()
    },
  },
  'sign in with a token': { path: '/', press: (page) => page.getByText('Use an access token').click() },
  'the menu of the user': {
    who: 'ann',
    path: '/-/settings',
    press: (page) => page.locator('header summary').click(),
  },
  'asks before a token is revoked': {
    who: 'ann',
    path: '/-/account',
    press: (page) => page.getByRole('button', { name: 'Revoke' }).first().click(),
  },
  'asks before repositories are deleted': {
    who: 'ann',
    path: '/-/storage/ann/repositories',
    async press(page) {
      await page.getByLabel('Select thesis').check()
      await page.getByLabel('Select website').check()
      await page.getByRole('button', { name: 'Delete selected' }).click()
    },
  },
  'nothing matches a filter': { who: 'ann', path: '/-/storage/ann/usage?q=none' },
  'preview of a rule': {
    who: 'root',
    path: '/-/admin/rule?name=total',
    async press(page) {
      await page.getByLabel('Limit', { exact: true }).fill('100 MiB')
      await page.getByRole('button', { name: 'Preview changes' }).click()
    },
  },
  'the subjects of a rule': {
    who: 'root',
    path: '/-/admin/rule?name=builds',
    press: (page) => page.getByText('Subjects: Artifacts').click(),
  },
  'a refused rule': {
    who: 'root',
    path: '/-/admin/rule?name=total',
    async press(page) {
      await page.getByLabel('Limit', { exact: true }).fill('much')
      await page.getByRole('button', { name: 'Save' }).click()
    },
  },
  'asks before a group is deleted': {
    who: 'root',
    path: '/-/admin/group?name=free',
    press: (page) => page.getByRole('button', { name: 'Delete group' }).click(),
  },
  'asks before an account is deleted': {
    who: 'root',
    path: '/-/admin/account?name=ben',
    press: (page) => page.getByRole('button', { name: 'Delete user' }).click(),
  },
}

/** Pages of an instance that nobody has used yet. */
const EMPTY_PAGES: Readonly<Record<string, Shot>> = Object.fromEntries(
  Object.entries({
    storage: '/',
    usage: '/-/storage/root/usage',
    history: '/-/storage/root/history',
    tokens: '/-/account',
    administration: '/-/admin',
    owners: '/-/admin/owners',
    rules: '/-/admin/rules',
    groups: '/-/admin/groups',
    'audit log': '/-/admin/audit',
    profile: '/root',
    packages: '/root/-/packages',
  }).map(([name, path]) => [`empty ${name}`, { who: 'root', path }]),
)

const [folder = 'screenshots', word = ''] = process.argv.slice(2)
mkdirSync(folder, { recursive: true })
const browser = await launchChromium()

const take = async (server: PageServer, shots: Readonly<Record<string, Shot>>): Promise<void> => {
  try {
    await takePages(browser, { base: server.base, folder, word }, shots)
  } finally {
    await server.stop()
  }
}

/** The fixture with tokens, of which one was used, and an audit log, which only requests of people leave. */
const startUsed = async (): Promise<PageServer> => {
  const server = await startFixture()
  const { hosting } = server.allot
  const ann = (await hosting.accounts.byName('ann'))!
  const { token } = await hosting.tokens.create(ann.id, 'nightly backup', ['read:repository', 'read:user'])
  await hosting.tokens.create(ann.id, 'laptop', ['all'])
  hosting.tokenUses.note(token.id)
  await hosting.tokenUses.flush()
  const by = { id: server.root.id, username: 'root' }
  for (const limit of [210, 200])
    await hosting.plans.apply(
      { rules: [{ name: 'total', limit: limit * 1024 ** 2, subjects: ['size:all'] }] },
      { by },
    )
  for (const groups of [['paid'], []]) await hosting.plans.apply({ assignments: { club: groups } }, { by })
  return server
}

const startEmpty = async (): Promise<PageServer> => {
  const server = await startPages()
  await server.allot.hosting.accounts.edit(server.root.id, { password: PASSWORD })
  return server
}

try {
  await take(await startUsed(), { ...ANSWERS, ...PAGES })
  await take(await startEmpty(), EMPTY_PAGES)
  const site = await startSite()
  await take(site, SITE_PAGES(site))
} finally {
  await browser.close()
}
