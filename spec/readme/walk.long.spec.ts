import assert from 'node:assert/strict'
import { cpSync, mkdirSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { it } from 'node:test'
import { fileURLToPath } from 'node:url'
import { killGroup, printed, run, runSync, spawnChild } from '../support/child.ts'
import { atEnd } from '../support/cleanup.ts'
import { createSender } from '../support/test-server.ts'
import { createPageClient } from '../web/browser.ts'
import { readDocument } from './documents.ts'

const root = fileURLToPath(new URL('../../', import.meta.url))
const section = /## From a checkout\n([\s\S]*?)\n## /.exec(readDocument('docs/getting-started.md'))![1]!
const [startLine, usageScript] = [...section.matchAll(/```\w+\n([\s\S]*?)```/g)].map(([, code]) => code!)

/**
 * ALLOT_SPEC_WALK=all also runs `npm ci`, which needs a registry and time; otherwise the installed packages
 * are used.
 */
const installs = process.env.ALLOT_SPEC_WALK === 'all'

/** Milliseconds to install and to build. */
const LIMIT_MS = 240_000

/** Copies the checkout, as a new user has it. */
const copyCheckout = (): string => {
  const folder = mkdtempSync(join(tmpdir(), 'allot-walk-'))
  atEnd(() => rmSync(folder, { recursive: true, force: true, maxRetries: 3 }))
  const files = runSync('git', ['ls-files', '-z', '--cached', '--others', '--exclude-standard'], {
    cwd: root,
  })
  for (const file of files
    .split('\0')
    .filter((path) => path !== '' && !/^spec\/(?!driver-spec)/.test(path))) {
    mkdirSync(dirname(join(folder, file)), { recursive: true })
    cpSync(join(root, file), join(folder, file))
  }
  if (!installs) symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'))
  return folder
}

/** Uses a free port instead of port 3000, which may be in use. */
const onFreePort = (line: string): string => line.replace('npm start', 'npm start -- --port 0')

it('Getting started leads from a checkout to a storage page with real usage', async () => {
  const folder = copyCheckout()
  const line = onFreePort(startLine!.trim().replace(/ +#.*/, ''))
  assert.match(line, /^npm ci && npm start/)
  const child = spawnChild('bash', ['-c', installs ? line : line.replace('npm ci && ', '')], { cwd: folder })
  const [[, token], [, page]] = await Promise.all([
    printed(child, /^ {2}([0-9a-f]{40})$/m, LIMIT_MS),
    printed(child, /sign in with it at (http:\S+)\n/, LIMIT_MS),
  ])
  assert.ok(section.includes('http://127.0.0.1:3000'))
  const browser = createPageClient(new URL(page!).origin)
  await browser.signIn('', token!)
  assert.match((await browser.get('/')).text, /<data value="0" title="0 bytes">0 B<\/data><\/strong>/)

  const { host, origin } = new URL(page!)
  const script = usageScript!
    .replace(/^T=.*$/m, '')
    .replaceAll('127.0.0.1:3000', host)
    .replaceAll('curl -s', 'curl -sS --fail')
  await run('bash', ['-c', `set -eu\n${script}`], { env: { ...process.env, T: token! } })
  const { text } = await browser.get('/')
  const { body } = await createSender(`${origin}/api/v1`)('GET', '/user/quota/explain?subject=size:all', {
    token: token!,
  })
  assert.ok(body.used > 0)
  assert.ok(text.includes(`title="${body.used.toLocaleString('en')} bytes"`), text)
  assert.match(text, />first<\/a>/)
  killGroup(child)
})
