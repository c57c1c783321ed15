import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import type { Page } from 'playwright-core'
import { csrfToken } from '../../../lib/web/session.tsx'
import { served } from '../../bin/program.ts'
import { launchChromium, withoutChromium } from '../../support/chromium.ts'
import { generateSshKey } from '../../support/keygen.ts'
import { createPageClient } from '../../web/browser.ts'
import { processorTime } from '../bench/servers/load.ts'
import { fillLarge, LARGEST, ROOT_TOKEN, USER_TOKEN } from './large-instance.ts'

/**
 * Fills an instance, and measures each page of `allot serve` on it while a client writes: the first byte, the
 * bytes without images, and the layout shift in Chromium.
 * `npx tsx spec/tools/pages/figures.ts [--owners N] [--entries N] [--requests N] [--data DIR]`;
 * a folder of `--data` is filled once and kept. Exits with 1 when a goal is missed.
 */
const { values: flags } = parseArgs({
  options: {
    owners: { type: 'string', default: '10000' },
    entries: { type: 'string', default: '1000000' },
    days: { type: 'string', default: '30' },
    requests: { type: 'string', default: '60' },
    data: { type: 'string' },
    only: { type: 'string', default: '' },
  },
})
const shape = { owners: Number(flags.owners), entries: Number(flags.entries), days: Number(flags.days) }
const requests = Number(flags.requests)
const GOALS = { firstByteMs: 50, bytes: 100_000, shift: 0 }

const storage = `/-/storage/${LARGEST}`
/** A page, or the page that a form leads to when it asks first. */
type MeasuredPage = readonly [token: string, path: string, fields?: readonly (readonly [string, string])[]]

/** As many repositories of the largest owner as one form takes. */
const selected = Array.from(
  { length: 50 },
  (_, index) => ['item', `repositories:${20 * (index + 1)}`] as const,
)

const PAGES: readonly MeasuredPage[] = [
  ...['', '/usage', '/usage?page=20', '/usage?q=file+1', '/usage?sort=created', '/repositories'].map(
    (path) => [USER_TOKEN, `${storage}${path}`] as const,
  ),
  ...['/lfs', '/usage?remove=free+total', '/history?days=all', '/repositories/repository-20'].map(
    (path) => [USER_TOKEN, `${storage}${path}`] as const,
  ),
  [USER_TOKEN, `${storage}/remove`, selected],
  ...['', '/keys', '/keys?ssh=2', '/password'].map((path) => [USER_TOKEN, `/-/settings${path}`] as const),
  [USER_TOKEN, '/-/account'],
  [USER_TOKEN, '/-/account?page=2'],
  [ROOT_TOKEN, '/-/admin/account/delete', [['name', LARGEST]]],
  ...[
    ...[
      '',
      '?subject=&within=20',
      '?subject=size:git:lfs&within=50',
      '/owners',
      '/owners?page=20',
      '/owners?page=200',
    ],
    ...[
      '/owners?sort=growth&order=reverse',
      '/owners?sort=name',
      '/owners?q=77',
      '/owners?state=over',
      '/owners?group=small',
    ],
    ...[`/account?name=${LARGEST}`, '/accounts/new?kind=user', '/rules', '/rule?name=free+total', '/groups'],
    ...[
      '/group?name=free',
      '/group?name=free&page=100',
      '/audit',
      '/audit?page=40',
      '/audit?kind=rule&subject=free',
    ],
  ].map((path) => [ROOT_TOKEN, `/-/admin${path}`] as const),
]

const say = (text: string) => process.stderr.write(`… ${text}\n`)
/** What a form sends, with the token of the session. */
const bodyOf = (fields: NonNullable<MeasuredPage[2]>, cookie: string): string =>
  new URLSearchParams([
    ['form', csrfToken(cookie.split('=')[1]!)],
    ...fields.map(([name, value]): [string, string] => [name, value]),
  ]).toString()

const FORM = { 'content-type': 'application/x-www-form-urlencoded' }

/** Milliseconds until the first byte, and the bytes of the body. */
const ask = async (
  url: string,
  cookie: string,
  fields: MeasuredPage[2],
): Promise<{ ms: number; bytes: number }> => {
  const form = fields && { method: 'POST', body: bodyOf(fields, cookie) }
  const begun = performance.now()
  const { status, body } = await fetch(url, { headers: { cookie, ...(form && FORM) }, ...form })
  const ms = performance.now() - begun
  let bytes = 0
  for await (const chunk of body ?? []) bytes += (chunk as Uint8Array).length
  if (status !== 200) throw new Error(`${url}: ${status}`)
  return { ms, bytes }
}

/** Puts an entry twenty times a second, so that nothing which was read stays valid for long. */
const startWriter = (base: string): (() => void) => {
  let count = 0
  const timer = setInterval(() => {
    const body = JSON.stringify({
      repository: `${LARGEST}/repository-20`,
      name: 'new',
      size: ++count,
      run: 1,
    })
    const headers = { authorization: `token ${ROOT_TOKEN}`, 'content-type': 'application/json' }
    void fetch(`${base}/api/v1/admin/ledger/artifacts/figures-${count % 100}`, {
      method: 'PUT',
      headers,
      body,
    }).catch(() => undefined)
  }, 50)
  return () => clearInterval(timer)
}

/**
 * Milliseconds of processor time of a request, with the part of the writer and of scans beside it: what a
 * busy machine does not hide.
 */
const costOf = async (pid: number, url: string, cookie: string, fields: MeasuredPage[2]): Promise<number> => {
  const begun = processorTime(pid)
  for (let count = 0; count < COST_REQUESTS; count++) await ask(url, cookie, fields)
  return ((processorTime(pid) - begun) * 1000) / COST_REQUESTS
}

const COST_REQUESTS = 20

const SHIFT = `new Promise((resolve) => {
  let sum = 0
  const moved = new Set()
  new PerformanceObserver((list) => {
    for (const { value, sources } of list.getEntries()) {
      sum += value
      for (const { node } of sources) moved.add(node?.outerHTML?.slice(0, 80) ?? '#text')
    }
  }).observe({ type: 'layout-shift', buffered: true })
  setTimeout(() => {
    const parts = [...performance.getEntriesByType('navigation'), ...performance.getEntriesByType('resource')]
    const bytes = parts.filter(({ initiatorType }) => initiatorType !== 'img').reduce((all, { encodedBodySize }) => all + encodedBodySize, 0)
    resolve({ shift: sum, bytes, moved: [...moved] })
  }, 100)
})`

interface Look {
  readonly shift: number
  readonly bytes: number
  /** Beginnings of the elements that moved. */
  readonly moved: readonly string[]
}

const look = async (page: Page, url: string, cookie: string, fields: MeasuredPage[2]): Promise<Look> => {
  if (fields !== undefined) {
    await page.goto(new URL('/-/settings', url).href)
    const sent = [...new URLSearchParams(bodyOf(fields, cookie))]
    await Promise.all([
      page.waitForEvent('load'),
      page.evaluate(`(() => {
        const form = Object.assign(document.createElement('form'), { method: 'post', action: ${JSON.stringify(url)} })
        for (const [name, value] of ${JSON.stringify(sent)})
          form.append(Object.assign(document.createElement('input'), { type: 'hidden', name, value }))
        document.body.append(form)
        form.submit()
      })()`),
    ])
  } else await page.goto(url)
  return page.evaluate(SHIFT)
}

/** Gives the largest owner lists of settings that have several pages, unless a kept instance has them. */
const fillSettings = async (base: string): Promise<void> => {
  const authorization = `token ${USER_TOKEN}`
  const keys = await fetch(`${base}/api/v1/user/keys?limit=1`, { headers: { authorization } })
  if (Number(keys.headers.get('x-total-count')) >= LISTED) return
  const send = async (path: string, body: object): Promise<void> => {
    const { status } = await fetch(`${base}/api/v1${path}`, {
      method: 'POST',
      headers: { authorization, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    })
    if (status !== 201) throw new Error(`POST ${path} answered ${status}`)
  }
  for (let index = 0; index < LISTED; index++) {
    await send('/user/keys', { title: `key ${index}`, key: generateSshKey('ed25519').key })
    await send(`/users/${LARGEST}/tokens`, { name: `token ${index}`, scopes: ['read:user'] })
    await signIn(base, USER_TOKEN)
  }
}

/** Entries that a list has at least, also one of those that are limited. */
const FEWEST = 20

/** Refuses to measure short lists: a second page without entries, or a form without all that was selected. */
const checkFilled = async (base: string, cookie: string): Promise<void> => {
  const headers = { cookie }
  for (const path of ['/-/settings/keys?ssh=2', '/-/account?page=2']) {
    const html = await (await fetch(base + path, { headers })).text()
    const entries = html.split('class="danger small"').length - 1
    if (entries < FEWEST) throw new Error(`${path} has ${entries} entries`)
  }
  const body = bodyOf(selected, cookie)
  const sent = { method: 'POST', headers: { ...headers, ...FORM }, body }
  const asked = await (await fetch(`${base}${storage}/remove`, sent)).text()
  const kept = asked.split('name="item"').length - 1
  if (kept !== selected.length) throw new Error(`of ${selected.length} selected items, ${kept} were found`)
}

/** More than a page of a list has, and than there can be addresses and sessions. */
const LISTED = 120

const signIn = async (base: string, token: string): Promise<string> => {
  const client = createPageClient(base)
  await client.get('/-/sign-in')
  const { status } = await client.post('/-/sign-in', { name: '', secret: token })
  if (status !== 303) throw new Error(`signing in answered ${status}`)
  return client.cookie
}

const quantile = (sorted: readonly number[], share: number): number =>
  sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))]!

const folder = flags.data ?? mkdtempSync(join(tmpdir(), 'allot-figures-'))
if (!existsSync(join(folder, 'store'))) {
  say(`filling ${shape.owners} owners and ${shape.entries} entries`)
  await fillLarge(join(folder, 'store'), shape, (done) => done % 200_000 < 20_000 && say(`${done} records`))
}
const server = await served(['--data', folder])
const base = new URL(server.api).origin
let isReached = true
try {
  const cookies = new Map<string, string>()
  await fillSettings(base)
  for (const token of [ROOT_TOKEN, USER_TOKEN]) cookies.set(token, await signIn(base, token))
  await checkFilled(base, cookies.get(USER_TOKEN)!)
  const stopWriter = startWriter(base)
  const pages = PAGES.filter(([, path]) => path.includes(flags.only))
  const figures = new Map<string, number[]>(pages.map(([, path]) => [path, []]))
  const cold = new Map<string, number>()
  // In turns, so that what slows the machine for a moment slows all pages.
  for (let round = -3; round < requests; round++)
    for (const [token, path, fields] of pages) {
      const { ms } = await ask(base + path, cookies.get(token)!, fields)
      if (round === -3) cold.set(path, ms)
      if (round >= 0) figures.get(path)!.push(ms)
    }
  const costs = new Map<string, number>()
  for (const [token, path, fields] of pages)
    costs.set(path, await costOf(server.child.pid!, base + path, cookies.get(token)!, fields))
  stopWriter()
  const browser = withoutChromium === false ? await launchChromium() : undefined
  process.stdout.write(
    '| page | first ms | p50 ms | p95 ms | processor ms | KB | layout shift |\n|---|---|---|---|---|---|---|\n',
  )
  for (const [token, path, fields] of pages) {
    const sorted = figures.get(path)!.sort((left, right) => left - right)
    const [name = '', value = ''] = cookies.get(token)!.split('=')
    const context = await browser?.newContext({ viewport: { width: 1280, height: 800 } })
    await context?.addCookies([{ name, value, url: base }])
    const seen = context && (await look(await context.newPage(), base + path, cookies.get(token)!, fields))
    await context?.close()
    const [p50, p95] = [quantile(sorted, 0.5), quantile(sorted, 0.95)]
    const bytes = seen?.bytes ?? (await ask(base + path, cookies.get(token)!, fields)).bytes
    const isMissed = p95 >= GOALS.firstByteMs || bytes > GOALS.bytes || (seen?.shift ?? 0) > GOALS.shift
    if (isMissed) isReached = false
    if (seen?.moved.length) say(`${path} moves ${seen.moved.join(', ')}`)
    const numbers = [cold.get(path)!, p50, p95, costs.get(path)!, bytes / 1000].map((number) =>
      number.toFixed(1),
    )
    process.stdout.write(
      `| \`${path}\` | ${numbers.join(' | ')} | ${seen?.shift.toFixed(3) ?? '?'} |${isMissed ? ' missed' : ''}\n`,
    )
  }
  await browser?.close()
} finally {
  await server.stop()
  if (flags.data === undefined) rmSync(folder, { recursive: true, force: true })
}
process.exit(isReached ? 0 : 1)
