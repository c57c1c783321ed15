import assert from 'node:assert/strict'
import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it, type TestContext } from 'node:test'
import { memory } from '../../drivers/memory/index.ts'
import { aCheckout, git, urlFor } from '../git/client.ts'
import { large, notesIn, quarantines } from '../git/scene.ts'
import { startGit } from '../git/served.ts'
import { beginPush, pushBody } from '../git/slow-push.ts'
import { temporaryDirectory } from '../support/folder.ts'
import { hookTo, startReceiver } from '../support/receiver.ts'
import { waitFor } from '../support/wait-for.ts'

/** A repository with a webhook, on a server of its own. */
const scene = async (t: TestContext) => {
  const receiver = await startReceiver()
  t.after(() => receiver.stop())
  const [driver, directory] = [memory(), temporaryDirectory()]
  const options = { driver, repositories: { directory }, webhooks: { allowedHosts: ['127.0.0.1'] } }
  const allot = await startGit(options)
  const alice = await allot.person('alice')
  const path = await allot.repository(alice, 'app')
  await allot.made(alice, `/repos/${path}/hooks`, hookTo(`${receiver.url}/hook`, 'create', 'push'))
  const push = async (branch: string, checkout?: string) =>
    git(checkout ?? (await aCheckout()), 'push', '--quiet', urlFor(allot, path, alice), `main:${branch}`)
  return {
    directory,
    folder: await allot.folderOf(path),
    push,
    begin: (body: Buffer) => beginPush(`${allot.base}/${path}.git`, alice.token, body),
    isSettled: async () => (await notesIn(driver)) === 0,
    /** The events of each branch that was created, up to those of `last`, which this pushes. */
    async events() {
      await push('last')
      await waitFor(() => receiver.received.some(({ body }) => body.ref === 'refs/heads/last'))
      return receiver.received.map(({ headers, body }) => [headers['x-gitea-event'], body.ref])
    },
  }
}

const eventsOf = (...branches: string[]) =>
  branches.flatMap((branch) => [
    ['create', branch],
    ['push', `refs/heads/${branch}`],
  ])

describe('A push whose client leaves', () => {
  it('while git changes branches has the events of those that have changed', async (t) => {
    const { directory, folder, push, begin, isSettled, events } = await scene(t)
    await push('main')
    const changed = join(temporaryDirectory(), 'changed')
    const script = `#!/bin/sh
      [ "$1" = committed ] && [ ! -e '${changed}' ] || exit 0
      touch '${changed}'
      while :; do sleep 0.05; done`
    // Where the server has its own hook.
    writeFileSync(join(directory, 'hooks/reference-transaction'), script, { mode: 0o755 })
    const begun = await begin(await pushBody(await large(), 'one', 'two'))
    const finished = begun.finish()
    await waitFor(() => existsSync(changed))
    begun.vanish()
    await finished
    await waitFor(isSettled)
    // Other versions of git change both at once.
    const refs = await git(
      folder,
      'for-each-ref',
      '--format=%(refname:short)',
      'refs/heads/one',
      'refs/heads/two',
    )
    assert.match(refs, /^one(?:\ntwo)?$/)
    assert.deepEqual(await events(), eventsOf('main', ...refs.split('\n'), 'last'))
  })

  it('before git changes a branch, and who pushes again, has the events once', async (t) => {
    const { folder, push, begin, isSettled, events } = await scene(t)
    const checkout = await large()
    const begun = await begin(await pushBody(checkout, 'main'))
    await waitFor(() => quarantines(folder).length > 0)
    await push('main', checkout)
    begun.vanish()
    await waitFor(isSettled)
    assert.deepEqual(await events(), eventsOf('main', 'last'))
  })
})
