import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { fileURLToPath } from 'node:url'
import { run } from '../support/child.ts'
import { generateOpenPgpKey, generateSshKey } from '../support/keygen.ts'
import { lacks, programOf } from '../support/requirements.mjs'
import { createPersistentStore } from '../support/store.ts'
import { start } from '../support/test-server.ts'

/** Its modules and what it has compiled are below the home folder of the user. */
const HOME = process.env.ALLOT_SPEC_HOME ?? process.env.HOME

describe('The published Go SDK of Gitea', () => {
  it('accepts the version, and works with accounts, repositories, relations, keys and markdown', {
    skip: lacks('go'),
  }, async () => {
    const allot = await start({}, { store: createPersistentStore })
    const keys = [generateSshKey('ed25519').key, await generateOpenPgpKey('gopher@example.test')]
    const args = ['run', '.', allot.base, allot.root.token, ...keys]
    const { stdout } = await run(programOf('go')!, args, {
      cwd: fileURLToPath(new URL('./go', import.meta.url)),
      env: { ...process.env, HOME },
      timeout: 500_000,
    })
    assert.match(stdout, /^version 1\.22\.0\+allot-/)
    assert.match(stdout, /\ndone\n$/)
  })
})
