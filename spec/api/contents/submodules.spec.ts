import assert from 'node:assert/strict'
import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { before, describe, it } from 'node:test'
import { aCheckout, git, urlFor } from '../../git/client.ts'
import { startGit } from '../../git/served.ts'
import { startTarget } from '../../migrate/two.ts'
import { madeBefore, type TestServer } from '../../support/test-server.ts'
import { SUBMODULE_COMMIT } from './repository.ts'

const GIVEN = [
  'https://code.example.org/lib.git',
  'HTTP://code.example.org/lib.git',
  'ssh://git@code.example.org:22/lib.git',
  'git://code.example.org/lib.git',
  'git@code.example.org:ann/lib.git',
  'code.example.org:ann/lib.git',
  '../lib.git',
  './lib.git',
]

const REFUSED = [
  'javascript:alert(1)',
  'JaVaScRiPt:alert(1)',
  'javascript://code.example.org/%0aalert(1)',
  '\u0001javascript:alert(1)',
  'java\tscript:alert(1)',
  'data:text/html,<script>alert(1)</script>',
  'vbscript:x',
  'file:///etc/passwd',
  'ext::sh -c id',
  'lib:x',
  'ssh://-oProxyCommand=id/lib.git',
  'ssh://git@-oProxyCommand=id/lib.git',
  '//code.example.org/lib.git',
  '/srv/lib.git',
  'https://code.example.org/a b',
]

const server = madeBefore(() =>
  startGit({}, { mount: (handler) => (req, res) => server.allot.pages(req, res, () => handler(req, res)) }),
)
before(async () => {
  const ann = await server.person('ann')
  await server.repository(ann, 'app')
  const addresses = [...GIVEN, ...REFUSED]
  const folder = await aCheckout()
  const modules = addresses.map((url, at) => `[submodule "m${at}"]\n\tpath = m${at}\n\turl = ${url}\n`)
  writeFileSync(join(folder, '.gitmodules'), modules.join(''))
  await git(folder, 'add', '.gitmodules')
  for (const at of addresses.keys())
    await git(folder, 'update-index', '--add', '--cacheinfo', `160000,${SUBMODULE_COMMIT},m${at}`)
  await git(folder, 'commit', '--quiet', '-m', 'Add submodules')
  await git(folder, 'push', '--quiet', urlFor(server, 'ann/app', ann), 'HEAD:main')
  rmSync(folder, { recursive: true })
})

/** The addresses that the API gives, in the order of the submodules. */
const addressesAt = async (from: TestServer): Promise<(string | null)[]> => {
  const { body } = await from.as(from.root, 'GET', '/repos/ann/app/contents')
  const entries: { name: string; submodule_git_url: string | null }[] = body
  const byName = new Map(entries.map((entry) => [entry.name, entry.submodule_git_url]))
  return [...GIVEN, ...REFUSED].map((_, at) => byName.get(`m${at}`) ?? null)
}

describe('The address of a submodule', () => {
  const expected = [...GIVEN, ...REFUSED.map(() => null)]

  it('is given when git can clone from it over the network, and is null otherwise', async () => {
    assert.deepEqual(await addressesAt(server), expected)
    for (const [at, url] of expected.entries()) {
      const { body } = await server.as(server.root, 'GET', `/repos/ann/app/contents/m${at}`)
      assert.equal(body.submodule_git_url, url)
    }
  })

  it('is the same after a migration', async () => {
    const target = await startTarget()
    const report = await target.from(server)
    assert.ok(report.isComplete(), report.text)
    assert.deepEqual(await addressesAt(target), expected)
  })

  for (const [at, url] of [...GIVEN, ...REFUSED].entries())
    it(`is a link on the page only when it is one of the web: ${JSON.stringify(url)}`, async () => {
      const response = await fetch(`${server.base}/ann/app/src/branch/main/m${at}`)
      assert.equal(response.status, 200)
      const text = await response.text()
      assert.match(text, /Another repository.* at commit <code class="id">1234567890/)
      const links = [...text.matchAll(/\shref="([^"]*)"/g)].map(([, address]) => address!)
      const outside = links.filter((address) => !/^(?:\/|#|\?)/.test(address) || address.startsWith('//'))
      assert.deepEqual(outside, /^https?:\/\/c.*git$/i.test(url) ? [url] : [])
    })
})
