import assert from 'node:assert/strict'
import { before, describe, it } from 'node:test'
import * as forgejo from '@llamaduck/forgejo-ts'
import { createClient, createConfig } from '@llamaduck/forgejo-ts/client'
import { generateOpenPgpKey, generateSshKey } from '../support/keygen.ts'
import { createPersistentStore } from '../support/store.ts'
import { start, type TestServer } from '../support/test-server.ts'

let allot: TestServer
before(async () => {
  // A client written against Forgejo needs its dialect.
  allot = await start({ dialect: 'forgejo' }, { store: createPersistentStore })
})

const clientOf = (authorization: string) =>
  createClient(
    createConfig({ baseURL: allot.api, throwOnError: true, headers: { Authorization: authorization } }),
  )

/** Each step builds on the steps before it. */
describe('The published client @llamaduck/forgejo-ts', () => {
  it('works with accounts, repositories, relations, keys, markdown, rules, groups and quota', async () => {
    const admin = { client: clientOf(`token ${allot.root.token}`), throwOnError: true } as const
    assert.match((await forgejo.getVersion(admin)).data.version ?? '', /^1\.24\.0/)

    const account = {
      username: 'alice',
      email: 'alice@example.test',
      password: 'a long password',
      must_change_password: false,
    }
    assert.equal((await forgejo.adminCreateUser({ ...admin, body: account })).data.login, 'alice')
    const basic = clientOf(`Basic ${Buffer.from('alice:a long password').toString('base64')}`)
    const made = await forgejo.userCreateToken({
      client: basic,
      throwOnError: true,
      path: { username: 'alice' },
      body: { name: 'ts', scopes: ['all'] },
    })
    const alice = { client: clientOf(`token ${made.data.sha1}`), throwOnError: true } as const
    assert.equal((await forgejo.userGetCurrent(alice)).data.login, 'alice')
    assert.deepEqual(
      (await forgejo.userSearch({ ...alice, query: { q: 'ALI' } })).data.data?.map((user) => user.login),
      ['alice'],
    )

    await forgejo.orgCreate({ ...alice, body: { username: 'acme' } })
    const created = await forgejo.createOrgRepo({
      ...alice,
      path: { org: 'acme' },
      body: { name: 'demo', auto_init: true, license: 'MIT' },
    })
    assert.deepEqual([created.data.full_name, created.data.empty], ['acme/demo', false])
    assert.equal((await forgejo.repoSearch({ ...alice, query: { q: 'demo' } })).data.data?.length, 1)

    const demo = { owner: 'acme', repo: 'demo' }
    await forgejo.userCurrentPutStar({ ...alice, path: demo })
    assert.equal((await forgejo.userCurrentListStarred(alice)).data[0]?.stars_count, 1)
    assert.equal((await forgejo.userCurrentPutSubscription({ ...alice, path: demo })).data.subscribed, true)
    await forgejo.userCurrentPutFollow({ ...alice, path: { username: 'root' } })
    assert.deepEqual(
      (await forgejo.userListFollowers({ ...alice, path: { username: 'root' } })).data.map(
        (user) => user.login,
      ),
      ['alice'],
    )

    const key = (
      await forgejo.userCurrentPostKey({
        ...alice,
        body: { title: 'laptop', key: generateSshKey('ed25519').key },
      })
    ).data
    assert.equal(
      (await forgejo.userCurrentGetKey({ ...alice, path: { id: key.id! } })).data.fingerprint,
      key.fingerprint,
    )
    const armored = await generateOpenPgpKey('alice@example.test')
    assert.equal(
      (await forgejo.userCurrentPostGpgKey({ ...alice, body: { armored_public_key: armored } })).data
        .can_sign,
      true,
    )

    const html = await forgejo.renderMarkdown({
      ...alice,
      body: { Text: '**hi**', Mode: 'gfm' },
    })
    assert.equal(html.data, '<p dir="auto"><strong>hi</strong></p>\n')

    const rule = { name: 'small', limit: 10, subjects: ['size:all'] }
    assert.deepEqual((await forgejo.adminCreateQuotaRule({ ...admin, body: rule })).data, rule)
    assert.equal(
      (await forgejo.adminEditQuotaRule({ ...admin, path: { quotarule: 'small' }, body: { limit: 20 } })).data
        .limit,
      20,
    )
    const group = await forgejo.adminCreateQuotaGroup({
      ...admin,
      body: { name: 'free', rules: [{ name: 'small' }] },
    })
    assert.deepEqual(
      group.data.rules?.map((one) => one.name),
      ['small'],
    )
    await forgejo.adminAddUserToQuotaGroup({ ...admin, path: { quotagroup: 'free', username: 'acme' } })
    await forgejo.adminSetUserQuotaGroups({
      ...admin,
      path: { username: 'alice' },
      body: { groups: ['free'] },
    })
    assert.deepEqual(
      (await forgejo.adminListUsersInQuotaGroup({ ...admin, path: { quotagroup: 'free' } })).data
        .map((one) => one.login)
        .sort(),
      ['acme', 'alice'],
    )
    const used = (await forgejo.orgGetQuota({ ...alice, path: { org: 'acme' } })).data.used?.size?.repos
      ?.public
    assert.ok(used! > 20)
    assert.equal(
      (await forgejo.orgCheckQuota({ ...alice, path: { org: 'acme' }, query: { subject: 'size:all' } })).data,
      false,
      'true is within, to a Forgejo',
    )
    assert.equal((await forgejo.userCheckQuota({ ...alice, query: { subject: 'size:all' } })).data, true)
    assert.deepEqual((await forgejo.userListQuotaAttachments(alice)).data, [])
    assert.equal(
      (await forgejo.adminGetUserQuota({ ...admin, path: { username: 'alice' } })).data.groups?.[0]?.name,
      'free',
    )
    await forgejo.adminDeleteQuotaRule({ ...admin, path: { quotarule: 'small' } })
    assert.deepEqual(
      (await forgejo.adminGetQuotaGroup({ ...admin, path: { quotagroup: 'free' } })).data.rules,
      [],
    )
    await forgejo.adminDeleteQuotaGroup({ ...admin, path: { quotagroup: 'free' } })
    await assert.rejects(forgejo.adminGetQuotaGroup({ ...admin, path: { quotagroup: 'free' } }))
  })
})
