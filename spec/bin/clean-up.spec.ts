import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { readdirSync, utimesSync } from 'node:fs'
import { join } from 'node:path'
import { it } from 'node:test'
import { aCheckout, commit, git } from '../git/client.ts'
import { temporaryDirectory } from '../support/folder.ts'
import { createSender } from '../support/test-server.ts'
import { allot, served } from './in-process.ts'

const age = (data: string): void => {
  const then = Date.now() / 1000 - 7200
  for (const entry of readdirSync(join(data, 'repositories'), { recursive: true, withFileTypes: true }))
    if (entry.isFile()) utimesSync(join(entry.parentPath, entry.name), then, then)
}

it('allot gc frees bytes of deleted branches, in a store and on a server', async () => {
  const data = temporaryDirectory()
  const token = (await allot(['user', 'add', 'ada', '--admin', '--token', '--data', data])).out.trim()
  const first = await served(['--data', data])
  const url = `http://ada:${token}@${new URL(first.api).host}/ada`
  const checkout = await aCheckout()
  for (const name of ['app', 'site']) {
    await createSender(first.api)('POST', '/user/repos', { token, body: { name } })
    await git(checkout, 'push', '--quiet', `${url}/${name}.git`, 'main')
  }
  await commit(checkout, { big: randomBytes(300_000) })
  for (const name of ['app', 'site']) {
    await git(checkout, 'push', '--quiet', `${url}/${name}.git`, 'main:extra')
    await git(checkout, 'push', '--quiet', `${url}/${name}.git`, ':extra')
  }
  await first.stop()
  age(data)

  const one = await allot(['gc', 'ada/app', '--data', data])
  assert.deepEqual([one.code, one.err], [0, ''])
  assert.match(one.out, /^ada\/app: 29\d(?:\.\d)? KiB freed\n$/)
  for (const name of ['app', 'ada/', '/app', 'ada/app/x']) {
    const { code, err } = await allot(['gc', name, '--data', data])
    assert.deepEqual([code, err], [2, `allot: "${name}" is not a repository: expected owner/name\n`])
  }
  const missing = await allot(['gc', 'ada/nothing', 'ada/app', 'ada/none', '--data', data])
  assert.equal(missing.code, 1)
  assert.equal(missing.out, 'ada/app: nothing to free that is an hour old\n')
  assert.match(missing.err, /^allot: ada\/nothing, ada\/none: there is no such repository, or [^\n]+\n$/)
  const down = await allot(['gc', 'ada/app', 'ada/site', '--url', 'http://127.0.0.1:3', '--token', 't'])
  assert.match(
    down.err,
    /^allot: ada\/app, ada\/site: http:\/\/127\.0\.0\.1:3\/api\/v1 cannot be reached: [^\n]+\n$/,
  )

  const second = await served(['--data', data])
  const all = await allot(['gc', '--json', '--url', second.api], undefined, { env: { ALLOT_TOKEN: token } })
  assert.deepEqual([all.code, all.err], [0, ''])
  const sizes = JSON.parse(all.out) as { repository: string; size_before: number; size_after: number }[]
  assert.deepEqual(
    sizes
      .map(({ repository, size_before, size_after }) => [repository, size_before - size_after > 290_000])
      .sort(),
    [
      ['ada/app', false],
      ['ada/site', true],
    ],
  )
  await second.stop()
  assert.equal((await allot(['verify', '--data', data])).code, 0)
})
