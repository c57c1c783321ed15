import assert from 'node:assert/strict'
import { it } from 'node:test'
import { hashPassword } from '../../lib/accounts/login.ts'

it('Passwords are hashed with scrypt in 32 MiB of memory', async () => {
  assert.match(await hashPassword('a long password'), /^scrypt\$32768\$8\$1\$/)
})
