import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { before, describe, it } from 'node:test'
import { aCheckout, git, urlFor } from '../git/client.ts'
import { run } from '../support/child.ts'
import { temporaryDirectory } from '../support/folder.ts'
import { madeBefore } from '../support/test-server.ts'
import { PASSWORD } from './fixture.ts'
import { startSite } from './site.ts'

/** Pages on which there is nothing yet, with what the API lists after the command of the page. */
const EMPTY: readonly [page: string, created: string, path: string, member: string, value: string][] = [
  ['/noa', 'repository', '/users/noa/repos', 'name', 'hello'],
  ['/band', 'repository', '/orgs/band/repos', 'name', 'hello'],
  ['/noa/-/packages', 'package', '/packages/noa', 'name', 'hello'],
  ['/noa/blank/issues', 'issue', '/repos/noa/blank/issues', 'title', 'The first issue'],
  ['/noa/blank/releases', 'release', '/repos/noa/blank/releases', 'tag_name', 'v1.0.0'],
]

describe('A page on which there is nothing yet', () => {
  const site = madeBefore(() => startSite())
  const noa = madeBefore(() => site.signedIn('noa', PASSWORD))
  before(async () => {
    await site.as(site.noa, 'POST', '/orgs', { username: 'band' })
  })

  const commandIn = (html: string) => {
    const [, command] = /<pre class="command"><code data-copy>(.*?)<\/code>/s.exec(html) ?? []
    return command
      ?.replaceAll('<wbr/>', '')
      .replaceAll('&quot;', '"')
      .replaceAll('&lt;', '<')
      .replaceAll('&gt;', '>')
      .replaceAll('&amp;', '&')
  }

  it('has commands that run nothing that the name of a branch contains', async () => {
    const branch = `main;touch\${IFS}pwned;'$(touch\${IFS}pwned)'`
    const created = { name: 'blank', default_branch: branch }
    assert.equal((await site.as(site.noa, 'POST', '/user/repos', created)).status, 201)
    const folder = temporaryDirectory()
    const person = { NAME: 'noa', EMAIL: 'noa@example.test' }
    const people = Object.entries(person).flatMap(([name, value]) =>
      ['AUTHOR', 'COMMITTER'].map((role) => [`GIT_${role}_${name}`, value]),
    )
    const env = { ...process.env, ...Object.fromEntries(people), GIT_TERMINAL_PROMPT: '0' }
    // Only the push fails: it has no password.
    await assert.rejects(
      run('sh', ['-ec', commandIn((await noa.get('/noa/blank')).text)!], { cwd: folder, env }),
      /could not read Username/,
    )
    assert.deepEqual(readdirSync(folder).sort(), ['.git', 'README.md'])
    assert.equal(readFileSync(join(folder, '.git/HEAD'), 'utf8'), `ref: refs/heads/${branch}\n`)
    assert.equal(readFileSync(join(folder, 'README.md'), 'utf8'), '# blank\n')
    await site.as(site.noa, 'DELETE', '/repos/noa/blank')
  })

  for (const [visibility, scopes] of [
    ['public', []],
    ['private', ['read:package']],
  ] as const)
    it(`has a command that downloads a package once there is one, whatever the name of its file, with a token only where one is needed: ${visibility}`, async () => {
      const version = { owner: 'noa', type: 'generic', name: 'tools', version: '1.0' } as const
      const viewer = { id: site.noa.id, admin: false }
      const content = Readable.from([Buffer.from('built')])
      const { accounts, packages } = site.allot.hosting
      await accounts.edit(site.noa.id, { visibility })
      await packages.add(viewer, version, 'a(1).txt', content, undefined)
      const { text } = await noa.get('/noa/-/packages/generic/tools/1.0')
      const named = [...text.matchAll(/<code>(read:\w+)<\/code>/g)].map(([, scope]) => scope!)
      assert.deepEqual(named, scopes)
      const env = {
        ...process.env,
        ...(named.length > 0 && { TOKEN: await site.scoped(site.noa, ...named) }),
      }
      const folder = temporaryDirectory()
      await run('sh', ['-ec', commandIn(text)!], { cwd: folder, env })
      assert.equal(readFileSync(join(folder, readdirSync(folder)[0]!), 'utf8'), 'built')
      await site.as(site.noa, 'DELETE', '/packages/noa/generic/tools/1.0')
      await accounts.edit(site.noa.id, { visibility: 'public' })
    })

  for (const [page, created, path, member, value] of EMPTY)
    it(`has a command that creates a ${created} as it is written, with the scopes that it names: ${page}`, async () => {
      if (page.includes('blank'))
        await site.as(site.noa, 'POST', '/user/repos', { name: 'blank', auto_init: true })
      const { text } = await noa.get(page)
      const scopes = [...text.matchAll(/<code>(write:\w+)<\/code>/g)].map(([, scope]) => scope!)
      const TOKEN = await site.scoped(site.noa, ...scopes)
      const { stdout, stderr } = await run('sh', ['-ec', commandIn(text)!], {
        cwd: temporaryDirectory(),
        env: { ...process.env, TOKEN },
      })
      const { body } = await site.as(site.noa, 'GET', path)
      assert.deepEqual(
        body.map((one: Record<string, unknown>) => one[member]),
        [value],
        stdout + stderr,
      )
      assert.doesNotMatch((await noa.get(page)).text, /TOKEN is an access token/)
      if (page.includes('blank')) await site.as(site.noa, 'DELETE', '/repos/noa/blank')
      if (page === '/noa') await site.as(site.noa, 'DELETE', '/repos/noa/hello')
    })

  it('says that the tag of a release is pushed before, since a release creates none, and links to a pushed one with files only', async () => {
    await site.as(site.noa, 'POST', '/user/repos', { name: 'blank', auto_init: true })
    assert.match(
      (await noa.get('/noa/blank/releases')).text,
      /Create a release of a tag that you have pushed/,
    )
    await site.as(site.noa, 'POST', '/repos/noa/blank/releases', { tag_name: 'v1.0.0' })
    assert.deepEqual((await site.as(site.noa, 'GET', '/repos/noa/blank/tags')).body, [])
    const link = '/noa/blank/src/tag/v1.0.0'
    const isLinked = async () => (await noa.get('/noa/blank/releases')).text.includes(`href="${link}"`)
    assert.equal(await isLinked(), false)
    const url = urlFor(site, 'noa/blank', site.noa)
    const folder = await aCheckout({ a: 'one\n' })
    await git(folder, 'push', '--quiet', url, `${await git(folder, 'rev-parse', 'main:a')}:refs/tags/v1.0.0`)
    assert.equal(await isLinked(), false)
    await git(folder, 'push', '--quiet', url, ':refs/tags/v1.0.0')
    await site.as(site.noa, 'POST', '/repos/noa/blank/tags', { tag_name: 'v1.0.0' })
    assert.equal(await isLinked(), true)
    assert.equal((await noa.get(link)).status, 200)
    await site.as(site.noa, 'DELETE', '/repos/noa/blank')
  })

  it('shows no command to those who cannot create anything there', async () => {
    for (const page of ['/guild', '/noa', '/noa/-/packages', '/mia/empty/releases', '/mia/empty/issues'])
      assert.doesNotMatch((await site.browser().get(page)).text, /curl|POST/, page)
    assert.doesNotMatch((await noa.get('/mia/empty/releases')).text, /curl/)
    assert.match((await noa.get('/mia/empty/issues')).text, /curl/, 'every user may open an issue')
  })

  it('shows a member the commands that the rights of a team allow, and no others', async () => {
    await site.as(site.noa, 'POST', '/orgs', { username: 'choir' })
    const units = { 'repo.packages': 'write' }
    for (const [name, rights, shown] of [
      ['readers', { permission: 'read' }, [false, false]],
      ['creators', { permission: 'read', can_create_org_repo: true }, [true, false]],
      ['publishers', { units_map: units }, [false, true]],
    ] as const) {
      const member = await site.person(name, { password: PASSWORD })
      const team = await site.as(site.noa, 'POST', '/orgs/choir/teams', { name, ...rights })
      assert.equal(team.status, 201, team.text)
      await site.as(site.noa, 'PUT', `/teams/${team.body.id}/members/${name}`)
      const browser = await site.signedIn(name, PASSWORD)
      const commands = await Promise.all(
        ['/choir', '/choir/-/packages'].map(async (page) => /curl/.test((await browser.get(page)).text)),
      )
      assert.deepEqual(commands, shown, name)
      const { status } = await site.as(member, 'POST', '/orgs/choir/repos', { name: `of-${name}` })
      assert.equal(status, shown[0] ? 201 : 403, name)
      await site.as(site.noa, 'DELETE', `/repos/choir/of-${name}`)
    }
  })

  it('has the same buttons on both tabs of an account', async () => {
    const buttons = (html: string) =>
      [...html.matchAll(/<a class="button secondary" href="([^"]*)"/g)].map(([, to]) => to)
    const own = ['/-/storage/noa']
    for (const page of ['/noa', '/noa/-/packages']) {
      assert.deepEqual(buttons((await noa.get(page)).text), own, page)
      assert.deepEqual(buttons((await site.browser().get(page)).text), [], page)
    }
  })

  it('tells an empty list from a filter that nothing matches', async () => {
    for (const [query, title] of [
      ['', 'No open issues'],
      ['?state=closed', 'No closed issues'],
      ['?state=all', 'No issues'],
      ['?q=coast', 'No issue matches'],
    ] as const)
      assert.match((await noa.get(`/mia/empty/issues${query}`)).text, new RegExp(`<h3>${title}</h3>`), query)
  })
})
