import assert from 'node:assert/strict'
import { execFile, spawnSync } from 'node:child_process'
import { describe, it } from 'node:test'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { generateGpgKey, generateSshKey } from '../support/keygen.ts'
import { createPersistentStore } from '../support/store.ts'
import { start } from '../support/test-server.ts'

const skip =
  spawnSync('go', ['version']).status !== 0 && 'there is no Go here: install it to run its SDK against Allot'

describe('The published Go SDK of Gitea', () => {
  it('accepts the version, and works with accounts, repositories, relations, keys and markdown', {
    skip,
  }, async () => {
    const allot = await start({}, { store: createPersistentStore })
    try {
      const keys = [generateSshKey('ed25519').key, generateGpgKey('Gopher <gopher@example.test>').armored]
      const cwd = fileURLToPath(new URL('./go', import.meta.url))
      const { stdout } = await promisify(execFile)(
        'go',
        ['run', '.', allot.base, allot.root.token, ...keys],
        { cwd },
      )
      assert.match(stdout, /^version 1\.22\.0\+allot-/)
      assert.match(stdout, /\ndone\n$/)
    } finally {
      await allot.stop()
    }
  })
})
