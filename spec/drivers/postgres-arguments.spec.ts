import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { postgres } from '../../drivers/postgres/index.ts'
import { StorageError } from '../../lib/storage/index.ts'

describe('The arguments of a driver', () => {
  for (const name of ['connectTimeout', 'statementTimeout', 'writeTimeout'])
    test(`are refused when ${name} is longer than a timer of Node`, () => {
      postgres('postgres://h/d', { [name]: 2 ** 31 - 1 })
      assert.throws(() => postgres('postgres://h/d', { [name]: 2 ** 31 }), {
        code: 'invalid',
        message: `${name}: expected at most 2147483647, received the number 2147483648`,
      })
    })

  test('are refused when the name of the database has a percent sign that escapes nothing', () => {
    assert.throws(() => postgres('postgres://h/%zz'), {
      name: 'StorageError',
      reason: 'failed',
      message: /^expected a URL such as postgres:/,
    })
  })

  test('are refused when the URL is invalid, and the error does not repeat it, because it may hold a password', () => {
    for (const url of ['', 'nonsense secret', 'http://a:secret@b/c'])
      assert.throws(
        () => postgres(url),
        (error: Error) => /postgres:\/\//.test(error.message) && !/secret/.test(error.message),
      )
  })

  test('are refused when a host or a parameter is invalid, and the error does not repeat the password', () => {
    const wrong = [
      'postgres://a:secret@one:5432,two:x/d',
      'postgres://a:secret@one/d?target_session_attrs=any',
    ]
    for (const url of wrong)
      assert.throws(
        () => postgres(url),
        (error: Error) => error instanceof StorageError && !/secret/.test(error.message),
      )
  })
})
