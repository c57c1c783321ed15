import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { memory } from '../../drivers/memory/index.ts'
import { unknownOutcome } from '../../drivers/postgres/errors.ts'
import type { StorageDriver } from '../../lib/index.ts'
import { StorageError } from '../../lib/storage/index.ts'
import { assertError, assertSearchError } from '../support/expectations.ts'
import { start } from '../support/test-server.ts'

/** A real driver whose disk can be made to fail. */
const failing = (): { driver: StorageDriver; fail(error: Error | undefined): void } => {
  const real = memory()
  let failure: Error | undefined
  const orFail = <T>(work: () => Promise<T>): Promise<T> => (failure ? Promise.reject(failure) : work())
  return {
    driver: {
      ...real,
      read: (work) => orFail(() => real.read(work)),
      write: (work) => orFail(() => real.write(work)),
    },
    fail(error) {
      failure = error
    },
  }
}

describe('An internal failure', () => {
  it('is answered 500 without details, and the log has its cause', async () => {
    const { driver, fail } = failing()
    const told: { err?: Error; path?: string }[] = []
    const allot = await start({
      driver,
      repositories: false,
      log: { error: (fields) => told.push(fields), info: () => undefined },
    })
    try {
      const { token } = allot.root
      await allot.request('GET', '/user', { token })
      fail(new Error('sector 7 is broken'))
      const answers = [
        await allot.request('GET', '/user/starred', { token }),
        await allot.request('POST', '/orgs', { token, body: { username: 'x' } }),
        await allot.request('GET', '/users/root', { token }),
      ]
      for (const answer of answers) {
        assertError(answer, 500)
        assert.ok(!answer.text.includes('sector'))
      }
      assert.equal(told.length, 3)
      assert.match(told[0]?.err?.message ?? '', /sector 7/)
      assert.equal(told[0]?.path, '/user/starred')
      fail(undefined)
      assert.equal((await allot.request('GET', '/user/starred', { token })).status, 200)
    } finally {
      fail(undefined)
      await allot.stop()
    }
  })

  it('of the repository search is a SearchError, whatever fails, for every client', async () => {
    const { driver, fail } = failing()
    const allot = await start({ driver, repositories: false })
    try {
      const { token } = allot.root
      const failures = [
        [500, new Error('sector 7 is broken')],
        [503, new StorageError('closed', 'the store is closed')],
        [507, new StorageError('full', 'the disk is full')],
      ] as const
      for (const [status, failure] of failures) {
        fail(failure)
        for (const sender of [{}, { token }, { token: 'f'.repeat(40) }]) {
          assertSearchError(await allot.request('GET', '/repos/search?q=x', sender), status)
        }
      }
      fail(undefined)
      assertSearchError(await allot.request('GET', `/repos/search?q=${'x'.repeat(9_000)}`), 422, /^q: /)
      assertSearchError(await allot.request('GET', '/repos/search?mode=x'), 422, /^mode: /)
      assertSearchError(await allot.request('GET', '/repos/search', { token: 'f'.repeat(40) }), 401)
    } finally {
      fail(undefined)
      await allot.stop()
    }
  })

  it('of the store is answered 503 with Retry-After, and a full disk 507', async () => {
    const { driver, fail } = failing()
    const allot = await start({ driver, repositories: false })
    try {
      const { token } = allot.root
      await allot.request('GET', '/user', { token })
      fail(new StorageError('closed', 'the store is closed'))
      const down = await allot.request('PUT', '/user/following/root', { token })
      assertError(down, 503)
      assert.ok(down.headers.has('retry-after'))
      // A client that retries by itself could write twice.
      fail(unknownOutcome())
      const unknown = await allot.request('PUT', '/user/following/root', { token })
      assertError(unknown, 503, /it is not known whether the write took place/)
      assert.equal(unknown.headers.get('retry-after'), null)
      fail(new StorageError('full', 'the disk is full'))
      assertError(await allot.request('PUT', '/user/following/root', { token }), 507)
    } finally {
      fail(undefined)
      await allot.stop()
    }
  })

  it('to find git is answered 503 with what to do, and leaves no repository', async () => {
    const allot = await start({ repositories: { git: 'no-such-git' } })
    const { token } = allot.root
    const body = { name: 'x', auto_init: true }
    assertError(await allot.request('POST', '/user/repos', { token, body }), 503, /install git/)
    assert.deepEqual((await allot.request('GET', '/user/repos', { token })).body, [])
  })
})
