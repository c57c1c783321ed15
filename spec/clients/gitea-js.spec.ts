import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { giteaApi } from 'gitea-js'
import { generateOpenPgpKey, generateSshKey } from '../support/keygen.ts'
import { createPersistentStore } from '../support/store.ts'
import { startBefore } from '../support/test-server.ts'

const allot = startBefore({}, { store: createPersistentStore })

/** The calls of the client, from accounts to quota; each step builds on the steps before it. */
describe('The published client gitea-js', () => {
  it('works with accounts, repositories, relations, keys, markdown, rules and quota', async () => {
    const admin = giteaApi(allot.base, { token: allot.root.token })
    const version = (await admin.version.getVersion()).data.version
    assert.equal(version, '1.22.0+allot-0.1.0')

    const account = {
      username: 'alice',
      email: 'alice@example.test',
      password: 'a long password',
      must_change_password: false,
    }
    const alice = (await admin.admin.adminCreateUser(account)).data
    assert.deepEqual([alice.login, alice.email], ['alice', 'alice@example.test'])

    const basic = `Basic ${Buffer.from('alice:a long password').toString('base64')}`
    const made = await admin.users.userCreateToken(
      'alice',
      { name: 'client', scopes: ['all'] },
      { headers: { Authorization: basic } },
    )
    const api = giteaApi(allot.base, { token: made.data.sha1! })
    assert.equal((await api.user.userGetCurrent()).data.login, 'alice')
    assert.deepEqual(
      (await api.users.userGetTokens('alice')).data.map((token) => token.name),
      ['client'],
    )

    assert.equal((await api.orgs.orgCreate({ username: 'acme', visibility: 'public' })).data.username, 'acme')
    const repository = (
      await api.orgs.createOrgRepo('acme', {
        name: 'demo',
        auto_init: true,
        license: 'MIT',
        gitignores: 'Node',
        readme: 'Default',
      })
    ).data
    assert.deepEqual(
      [repository.full_name, repository.empty, repository.default_branch],
      ['acme/demo', false, 'main'],
    )
    assert.equal((await api.repos.repoSearch({ q: 'DEM' })).data.data?.[0]?.id, repository.id)
    assert.equal((await api.repos.repoGet('acme', 'demo')).data.permissions?.admin, true)

    await api.user.userCurrentPutStar('acme', 'demo')
    await api.user.userCurrentCheckStarring('acme', 'demo')
    assert.equal((await api.user.userCurrentListStarred()).data[0]?.stars_count, 1)
    await api.user.userCurrentDeleteStar('acme', 'demo')
    await assert.rejects(api.user.userCurrentCheckStarring('acme', 'demo'), { status: 404 })

    assert.equal((await api.repos.userCurrentPutSubscription('acme', 'demo')).data.subscribed, true)
    assert.equal((await api.repos.userCurrentCheckSubscription('acme', 'demo')).data.ignored, false)
    assert.equal((await api.user.userCurrentListSubscriptions()).data.length, 1)
    await api.repos.userCurrentDeleteSubscription('acme', 'demo')

    await api.user.userCurrentPutFollow('root')
    await api.user.userCurrentCheckFollowing('root')
    assert.deepEqual(
      (await admin.user.userCurrentListFollowers()).data.map((user) => user.login),
      ['alice'],
    )
    await api.users.userCheckFollowing('alice', 'root')
    await api.user.userCurrentDeleteFollow('root')

    const { key } = generateSshKey('ed25519')
    const ssh = (await api.user.userCurrentPostKey({ title: 'laptop', key })).data
    assert.equal((await api.users.userListKeys('alice')).data[0]?.fingerprint, ssh.fingerprint)
    await api.user.userCurrentDeleteKey(ssh.id!)
    const gpg = (
      await api.user.userCurrentPostGpgKey({
        armored_public_key: await generateOpenPgpKey('alice@example.test'),
      })
    ).data
    assert.equal(gpg.emails?.[0]?.verified, true)
    assert.equal((await api.user.userCurrentGetGpgKey(gpg.id!)).data.key_id, gpg.key_id)
    await api.user.userCurrentDeleteGpgKey(gpg.id!)

    const html = await api.markdown.renderMarkdown({ Text: '**hi**', Mode: 'gfm' }, { format: 'text' })
    assert.equal(html.data, '<p dir="auto"><strong>hi</strong></p>\n')

    // Gitea's client has no methods for quota, so its generic request is used.
    const ask = async (method: string, path: string, body?: unknown) =>
      (
        await admin.request<unknown>({
          path,
          method,
          format: 'json',
          type: 'application/json' as never,
          secure: true,
          ...(body ? { body } : {}),
        })
      ).data
    await ask('POST', '/admin/quota/rules', { name: 'small', limit: 10, subjects: ['size:all'] })
    await allot.allot.quota.groups.create({ name: 'free', rules: ['small'] })
    await allot.allot.quota.groups.assign('acme', 'free')
    await allot.allot.quota.groups.assign('root', 'free')
    assert.deepEqual(await ask('GET', '/admin/quota/rules/small'), {
      name: 'small',
      limit: 10,
      subjects: ['size:all'],
    })
    assert.equal(await ask('GET', '/user/quota/check?subject=size:all'), false)
    assert.equal(await allot.allot.quota.isOver('acme', 'size:all'), true)

    await api.repos.repoDelete('acme', 'demo')
    await assert.rejects(api.repos.repoGet('acme', 'demo'), { status: 404 })
    await assert.rejects(api.repos.repoGet('nobody', 'nothing'), { status: 404 })
  })
})
