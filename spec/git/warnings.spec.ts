import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { it } from 'node:test'
import { temporaryDirectory } from '../support/folder.ts'
import { aCheckout, commit, git, urlFor } from './client.ts'
import { startGit } from './served.ts'

it('What git only warns of is not logged as a failure', async () => {
  const directory = temporaryDirectory()
  const script = join(directory, 'git')
  writeFileSync(script, '#!/bin/sh\necho "warning: an old history" >&2\nexec /usr/bin/git "$@"\n', {
    mode: 0o755,
  })
  const logged: string[] = []
  const note = (_fields: object, message: string) => void logged.push(message)
  const repositories = { directory: join(directory, 'repositories'), git: script }
  const allot = await startGit({ log: { error: note, info: note }, repositories })
  const ann = await allot.person('ann')
  const path = await allot.repository(ann, 'demo')
  const checkout = await aCheckout()
  const url = urlFor(allot, path, ann)
  await git(checkout, 'push', '--quiet', url, 'main')
  await commit(checkout, { a: 'two\n' })
  await git(checkout, 'push', '--quiet', url, 'main')
  await git(checkout, 'clone', '--quiet', url, 'clone')
  assert.equal((await allot.as(ann, 'GET', `/repos/${path}/branches`)).status, 200)
  assert.deepEqual(
    logged.filter((message) => message.includes('fail')),
    [],
  )
})
