import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { start, startBefore, type TestServer } from '../support/test-server.ts'

const allot = startBefore()

describe('GET /version', () => {
  it('returns the running version to every client', async () => {
    const answer = await allot.request('GET', '/version')
    assert.equal(answer.status, 200)
    assert.equal(answer.text, '{"Version":"0.1.0","version":"1.22.0+allot-0.1.0"}')
    assert.equal(answer.headers.get('content-type'), 'application/json;charset=utf-8')
  })
})

describe('GET /settings/api', () => {
  it('answers how lists are paged', async () => {
    const { status, body } = await allot.request('GET', '/settings/api')
    assert.equal(status, 200)
    assert.deepEqual([body.default_paging_num, body.max_response_items], [30, 50])
    assert.deepEqual([body.default_git_trees_per_page, body.default_max_blob_size], [1000, 16 * 1024 ** 2])
  })
})

describe('GET /settings/ui, /settings/repository and /settings/attachment', () => {
  const settings = async (server: TestServer, name: string) => {
    const { status, body } = await server.request('GET', `/settings/${name}`)
    assert.equal(status, 200)
    return body
  }

  it('answer what a server with default options has, to every client', async () => {
    assert.deepEqual(await settings(allot, 'ui'), {
      default_theme: 'gitea-auto',
      allowed_reactions: [],
      custom_emojis: [],
    })
    assert.deepEqual(await settings(allot, 'repository'), {
      mirrors_disabled: true,
      http_git_disabled: false,
      migrations_disabled: true,
      stars_disabled: false,
      forks_disabled: false,
      time_tracking_disabled: true,
      lfs_disabled: false,
    })
    assert.deepEqual(await settings(allot, 'attachment'), {
      enabled: true,
      allowed_types: '*/*',
      max_size: 100,
      max_files: 1,
    })
  })

  it('follow the options', async () => {
    const other = await start({
      ...{ lfs: false, forks: false, issues: false, contents: false },
      git: { http: false },
      attachments: { maxSize: 1000 },
    })
    const { http_git_disabled, forks_disabled, lfs_disabled } = await settings(other, 'repository')
    assert.deepEqual([http_git_disabled, forks_disabled, lfs_disabled], [true, true, true])
    const { enabled, max_size } = await settings(other, 'attachment')
    assert.deepEqual([enabled, max_size], [false, 1])
    assert.equal((await settings(other, 'api')).default_max_blob_size, 0)
  })
})
