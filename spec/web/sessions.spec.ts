import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { memory } from '../../drivers/memory/index.ts'
import { StorageError } from '../../lib/storage/index.ts'
import { browserNameOf } from '../../lib/web/parts/browser-name.ts'
import { passwordLinkPath } from '../../lib/web/parts/password-link.ts'
import { withFaults } from '../driver-spec/fault-injection.ts'
import { type PageClient, type PageResponse, type PageServer, startPages, words } from './browser.ts'
import { PASSWORD } from './fixture.ts'

const CHOSEN = 'another long one'

/** Headers `User-Agent` as the browsers send them, without their versions of the engine. */
const AGENTS: readonly (readonly [header: string | undefined, name: string | undefined])[] = [
  ['Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0', 'Firefox on Linux'],
  ['Mozilla/5.0 (Android 14; Mobile; rv:128.0) Gecko/128.0 Firefox/128.0', 'Firefox on Android'],
  [
    'Mozilla/5.0 (iPhone; CPU iPhone OS 17_5 like Mac OS X) AppleWebKit/605 FxiOS/127 Mobile Safari/605',
    'Firefox on iOS',
  ],
  ['Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537 Chrome/126.0 Safari/537', 'Chrome on Windows'],
  ['Mozilla/5.0 (X11; CrOS x86_64 14541) AppleWebKit/537 Chrome/126.0 Safari/537', 'Chrome on ChromeOS'],
  ['Mozilla/5.0 (Windows NT 10.0) AppleWebKit/537 Chrome/126.0 Safari/537 Edg/126.0', 'Edge on Windows'],
  [
    'Mozilla/5.0 (Macintosh; Intel Mac OS X 14) AppleWebKit/537 Chrome/126.0 Safari/537 OPR/112',
    'Opera on macOS',
  ],
  [
    'Mozilla/5.0 (Linux; Android 14) AppleWebKit/537 SamsungBrowser/25 Chrome/121 Safari/537',
    'Samsung Internet on Android',
  ],
  ['Mozilla/5.0 (Macintosh; Intel Mac OS X 14_5) AppleWebKit/605 Version/17.5 Safari/605', 'Safari on macOS'],
  [
    'Mozilla/5.0 (iPad; CPU OS 17_5 like Mac OS X) AppleWebKit/605 Version/17.5 Mobile/15E Safari/604',
    'Safari on iPadOS',
  ],
  ['Mozilla/5.0 (X11; FreeBSD amd64) Something/1', 'A browser on FreeBSD'],
  ['curl/8.5.0', 'curl'],
  ['Links (2.29; Linux 6.8; GNU C 13)', 'Links on Linux'],
  ['node', 'node'],
  ['Mozilla/5.0', undefined],
  ['<script>alert(1)</script>', undefined],
  ['', undefined],
  [undefined, undefined],
  [`${'x'.repeat(41)}/1`, undefined],
]

/** The list of sessions as text, without the buttons. */
const listIn = (html: string): string =>
  words(html.replace(/^.*id="sessions"/s, '').replace(/<button.*?<\/button>/gs, ''))

const signIn = async (allot: PageServer, headers: Record<string, string>): Promise<PageClient> => {
  const browser = allot.browser()
  await browser.get('/-/sign-in')
  const { status } = await browser.post('/-/sign-in', { name: 'ann', secret: PASSWORD }, headers)
  assert.equal(status, 303)
  return browser
}

describe('The session of a browser', () => {
  it('is named by the browser and its system', () => {
    for (const [header, name] of AGENTS) assert.equal(browserNameOf(header), name, header)
  })

  it('is named by the beginning of a header of any length', () => {
    assert.equal(browserNameOf(`${'Version/ '.repeat(10_000)}Firefox/128`), 'Version')
  })

  it('was last used when it was, also after the clock is set back', async (t) => {
    t.mock.timers.enable({ apis: ['Date'], now: Date.UTC(2026, 0, 1, 9) })
    const allot = await startPages()
    await allot.person('ann', { password: PASSWORD })
    const browser = await signIn(allot, {})
    for (const hour of [13, 11]) {
      t.mock.timers.setTime(Date.UTC(2026, 0, 1, hour, 30))
      await browser.get('/-/account')
      await allot.allot.hosting.sessionUses.flush()
      const lastUse = `last used on 2026-01-01 about ${hour}:00 UTC`
      assert.ok(listIn((await browser.get('/-/account')).text).includes(lastUse), lastUse)
    }
  })

  it('is listed with the browser, the address behind trusted proxies and the last use, and none of that is logged', async (t) => {
    t.mock.timers.enable({ apis: ['Date'], now: Date.UTC(2026, 0, 1, 12) })
    const logged: unknown[] = []
    const keep = (...line: unknown[]) => void logged.push(line)
    const allot = await startPages({ trustedProxies: 1, log: { error: keep, info: keep } })
    await allot.person('ann', { password: PASSWORD })
    const from = (agent: string, address: string) => ({
      'user-agent': agent,
      'x-forwarded-for': `192.0.2.9, ${address}`,
    })
    const first = await signIn(allot, from('Mozilla/5.0 (X11; Linux x86_64) Firefox/128.0', '203.0.113.7'))
    t.mock.timers.tick(60_000)
    const second = await signIn(allot, from('<b>', '2001:db8:1:2:3:4:5:6'))
    t.mock.timers.tick(59 * 60_000)
    await first.get('/-/account')
    await allot.allot.hosting.sessionUses.flush()
    const list = listIn((await second.get('/-/account')).text)
    for (const row of [
      /Unknown browser from 2001:db8:1:2::\/64 · signed in on 2026-01-01 12:01 UTC with the password This session/,
      /Firefox on Linux from 203\.0\.113\.7 · signed in on 2026-01-01 12:00 UTC with the password · last used on 2026-01-01 about 13:00 UTC /,
    ])
      assert.match(list, row)
    assert.doesNotMatch(list, /192\.0\.2\.9/)
    const passwords = { currentPassword: 'wrong', newPassword: CHOSEN, repeatedPassword: CHOSEN }
    const refused = await second.post('/-/settings/password', passwords, from('curl/8', '203.0.113.8'))
    assert.equal(refused.status, 422)
    assert.doesNotMatch(JSON.stringify(logged), /203\.0\.113|2001:db8|Firefox|curl/)
  })
})

describe('A crash while a browser is given a session', () => {
  /** The ways to get one, and the password afterwards. */
  const WAYS: Readonly<
    Record<
      string,
      (allot: PageServer, browser: PageClient) => Promise<(secret: string) => Promise<PageResponse>>
    >
  > = {
    'a change of the password': async (_, browser) => {
      await browser.get('/-/settings/password')
      return (secret) =>
        browser.post('/-/settings/password', {
          ...{ currentPassword: PASSWORD, newPassword: secret, repeatedPassword: secret },
        })
    },
    'a link that sets the password': async ({ allot }, browser) => {
      const { id } = (await allot.hosting.accounts.byName('ann'))!
      const link = (await allot.hosting.passwordLinks.create(id))!
      await browser.get(passwordLinkPath(link))
      return (password) => browser.post('/-/set-password', { ...link, password })
    },
  }

  for (const [way, prepare] of Object.entries(WAYS))
    it(`leaves no session alive that ${way} was to end`, async () => {
      let commits = Number.POSITIVE_INFINITY
      const driver = withFaults(memory(), async (call) => {
        if (call === 'commit' && commits-- <= 0) throw new StorageError('failed', 'the disk is gone')
      })
      const allot = await startPages({ driver })
      const { token } = await allot.person('ann', { password: PASSWORD })
      for (let survived = 0, isDone = false; !isDone; survived++) {
        const [browser, other] = [await signIn(allot, {}), allot.browser()]
        await other.signIn('', token)
        const change = await prepare(allot, browser)
        commits = survived
        const { status } = await change(CHOSEN)
        commits = Number.POSITIVE_INFINITY
        isDone = status === 303
        const isChanged = (await allot.browser().signIn('ann', CHOSEN)).status === 303
        const isAlive = (await other.get('/-/account')).status === 200
        assert.deepEqual([isChanged, isAlive], [isDone, !isDone], `after ${survived} commits`)
      }
    })

  it('leaves one session of a browser that signs in again', async () => {
    let commits = Number.POSITIVE_INFINITY
    const driver = withFaults(memory(), async (call) => {
      if (call === 'commit' && commits-- <= 0) throw new StorageError('failed', 'the disk is gone')
    })
    const allot = await startPages({ driver })
    await allot.person('ann', { password: PASSWORD })
    const browser = await signIn(allot, {})
    await browser.get('/-/account')
    for (let survived = 0, isDone = false; !isDone; survived++) {
      commits = survived
      const { status } = await browser.post('/-/sign-in', { name: 'ann', secret: PASSWORD })
      commits = Number.POSITIVE_INFINITY
      isDone = status === 303
      assert.match(words((await browser.get('/-/account')).text), /1 session /, `after ${survived} commits`)
    }
  })
})
