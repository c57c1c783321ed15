import assert from 'node:assert/strict'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { temporaryDirectory } from '../support/folder.ts'
import { madeBefore } from '../support/test-server.ts'
import { git, urlFor } from './client.ts'
import { type ServedGit, startGit, startGitWithPages } from './served.ts'

/** The authors and committers of an anonymous clone, and the bytes of the commit. */
const clonedBy = async (allot: ServedGit, path: string): Promise<{ names: string; commit: string }> => {
  const folder = join(temporaryDirectory(), 'clone')
  await git(temporaryDirectory(), 'clone', '--quiet', urlFor(allot, path), folder)
  return {
    names: await git(folder, 'log', '--format=%an <%ae>|%cn <%ce>'),
    commit: await git(folder, 'cat-file', 'commit', 'HEAD'),
  }
}

describe('The first commit of a repository', () => {
  const allot = madeBefore(() => startGit())
  const ada = madeBefore(() => allot.person('Ada', { email: 'ada.real@example.test' }))

  it("contains the no-reply address of its author, and not the account's email", async () => {
    const path = await allot.repository(ada, 'demo', { auto_init: true, license: 'MIT', readme: 'Default' })
    const { names, commit } = await clonedBy(allot, path)
    assert.equal(names, 'Ada <ada@noreply.127.0.0.1>|Ada <ada@noreply.127.0.0.1>')
    assert.doesNotMatch(commit, /ada\.real/)
    const { body } = await allot.as(undefined, 'GET', '/users/Ada')
    assert.equal(body.email, 'ada@noreply.127.0.0.1')
  })

  it('contains an address at the host of baseUrl, also for repositories that the host creates', async () => {
    const named = await startGit({ baseUrl: 'https://code.example.test/git' })
    const { hosting } = named.allot
    const account = await hosting.accounts.createUser({ name: 'Bea', email: 'bea.real@example.test' })
    await hosting.repositories.create(account, account, { name: 'demo', autoInit: true })
    const { names } = await clonedBy(named, 'Bea/demo')
    assert.equal(names, 'Bea <bea@noreply.code.example.test>|Bea <bea@noreply.code.example.test>')
  })

  it('names the organization instead of a member who is not visible to everyone who sees it', async () => {
    await allot.as(ada, 'POST', '/orgs', { username: 'guild' })
    const shy = await allot.person('shy', { email: 'shy@example.test' })
    await allot.as(ada, 'PUT', `/orgs/guild/members/${shy.name}`)
    await allot.allot.hosting.accounts.edit(shy.id, { visibility: 'private', fullName: 'Shy Person' })
    const body = { name: 'open', auto_init: true, license: 'MIT' }
    assert.equal((await allot.as(shy, 'POST', '/orgs/guild/repos', body)).status, 201)
    const { names } = await clonedBy(allot, 'guild/open')
    assert.equal(names, 'guild <guild@noreply.127.0.0.1>|guild <guild@noreply.127.0.0.1>')
  })
})

describe('A no-reply address', () => {
  const allot = madeBefore(() => startGitWithPages())

  it('stands for the account that had its login when the commit was made', async () => {
    const { accounts } = allot.allot.hosting
    const [alice, mallory] = [await allot.person('alice'), await allot.person('mallory')]
    await allot.repository(alice, 'demo', { auto_init: true })
    const authors = async () => {
      const { body } = await allot.as(undefined, 'GET', '/repos/alicia/demo/commits')
      const branch = (await allot.as(undefined, 'GET', '/repos/alicia/demo/branches/main')).body
      const page = await (await fetch(`${allot.base}/alicia/demo/commits/branch/main`)).text()
      return [
        body.map((one: { author: { id: number } | null }) => one.author?.id ?? null),
        branch.commit.author.username,
        /href="[^"]*\/alice"/.test(page),
      ]
    }
    await accounts.rename(alice.id, 'alicia')
    assert.deepEqual(await authors(), [[null], '', false])
    await accounts.rename(mallory.id, 'alice')
    assert.deepEqual(await authors(), [[null], '', false])
    const later = new Date(Date.now() + 60_000).toISOString()
    const file = { content: '', message: 'Add', dates: { author: later, committer: later } }
    await allot.as(alice, 'PUT', '/repos/alicia/demo/collaborators/alice', {})
    await allot.made(mallory, '/repos/alicia/demo/contents/file', file)
    assert.deepEqual(await authors(), [[mallory.id, null], 'alice', true])
  })
})
