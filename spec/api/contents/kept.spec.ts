import assert from 'node:assert/strict'
import { hash } from 'node:crypto'
import { renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it, type Mock, mock } from 'node:test'
import { memory } from '../../../drivers/memory/index.ts'
import { openAllot } from '../../../lib/allot.ts'
import type { AllotOptions, StorageDriver } from '../../../lib/index.ts'
import { attempt, commit, urlFor } from '../../git/client.ts'
import { startGit } from '../../git/served.ts'
import { temporaryDirectory } from '../../support/folder.ts'
import { listen } from '../../support/listen.ts'
import { createSender, type Send } from '../../support/request.ts'
import { madeBefore, PATIENT, peopleBefore } from '../../support/test-server.ts'
import { wrappedGit } from '../../support/wrapped-git.ts'
import { pushContents } from './repository.ts'

/** While it exists, a push moves a file away, without which a repository cannot be measured. */
const UNMEASURED = join(temporaryDirectory(), 'unmeasured')
const GIT = wrappedGit(`case "$*" in *--advertise-refs*) ;; *receive-pack*) if test -e '${UNMEASURED}'; then
  for folder; do :; done
  git=$(command -v git)
  (PATH=$given exec "$git" "$@")
  exec mv "$folder/HEAD" "$folder/moved"
fi;; esac`)

const driver = memory()
const options = {
  ...PATIENT,
  repositories: { directory: temporaryDirectory(), git: GIT },
  files: { directory: temporaryDirectory() },
  baseUrl: 'http://code.test',
}
const allot = madeBefore(() => startGit({ ...options, driver }))
const [ann, ben, cleo] = peopleBefore(allot, 'ann', 'ben', 'cleo')

const PATHS = [
  ...['', '?ref=feature%2Fx', '?ref=plain', '?ref=new'].map((ref) => `ann/app/contents/README.md${ref}`),
  ...['Ann/APP', 'anna/app', 'ann/apps'].map((name) => `${name}/contents/README.md`),
  'ann/app/contents',
].map((path) => `/repos/${path}`)

const said = async (send: Send, tokens: readonly (string | undefined)[]) => {
  const all: [path: string, status: number, tag: string | null, text: string][] = []
  for (const path of PATHS)
    for (const token of tokens) {
      const { status, headers, text } = await send('GET', path, token === undefined ? {} : { token })
      all.push([path, status, headers.get('etag'), text])
    }
  return all
}

/** Uses a server that has kept nothing, and that others may write beside. */
const onAnother = async <T>(use: (send: Send, read: Mock<StorageDriver['read']>) => Promise<T>) => {
  const read = mock.fn(driver.read)
  const shared = { ...driver, read, shared: true, close: async () => undefined }
  const other = await openAllot({ ...options, driver: shared } as AllotOptions, { isServer: false })
  const { origin, stop } = await listen(other.handler)
  try {
    return await use(createSender(`${origin}/api/v1`), read)
  } finally {
    await stop()
    await other.close()
  }
}

const saidAnew = (tokens: readonly (string | undefined)[]) => onAnother((send) => said(send, tokens))

const repository = '/repos/ann/app'
/** Of the file that `pushContents` makes. */
const README = hash('sha1', 'blob 15\0# app\n\nchanged\n')
const change = (method: string, path: string, body?: object) => () => allot.done(ann, method, path, body)
const administer = (name: string, body: object) => () =>
  allot.done(allot.root, 'PATCH', `/admin/users/${name}`, body)
const rename = (name: string) => () => allot.allot.hosting.accounts.rename(ann.id, name)
const CHANGES: readonly (() => Promise<unknown>)[] = [
  change('POST', `${repository}/branches`, { new_branch_name: 'new', old_branch_name: 'main' }),
  change('POST', `${repository}/contents/other`, { content: 'bmV3Cg==', branch: 'new' }),
  change('PUT', `${repository}/contents/README.md`, { content: 'bmV3Cg==', sha: README }),
  change('DELETE', `${repository}/branches/new`),
  change('DELETE', `${repository}/tags/plain`),
  change('PATCH', repository, { default_branch: 'feature/x' }),
  change('PUT', `${repository}/collaborators/ben`, { permission: 'read' }),
  change('PATCH', repository, { private: true }),
  change('DELETE', `${repository}/collaborators/ben`),
  change('PATCH', repository, { private: false }),
  change('PATCH', repository, { name: 'apps' }),
  change('PATCH', '/repos/ann/apps', { name: 'APP' }),
  rename('anna'),
  rename('Ann'),
  administer('Ann', { visibility: 'private' }),
  administer('cleo', { active: false }),
  change('DELETE', repository),
  change('POST', '/user/repos', { name: 'app', auto_init: true }),
]

describe('The contents of a repository that were replied', () => {
  it('are replied again without a look at the repository', async () => {
    await pushContents(allot, ann, 'app')
    const { contents } = allot.allot.hosting
    const opened = mock.method(contents!, 'openAt')
    const token = ann.token
    for (const [times, expected] of [1, 1, 1].entries()) {
      const { status } = await allot.request('GET', PATHS[0]!, { token })
      assert.deepEqual([status, opened.mock.callCount()], [200, expected], `request ${times}`)
    }
    opened.mock.restore()
  })

  it('take one read of a shared store besides that of the sender', () =>
    onAnother(async (send, read) => {
      const ask = () => send('GET', PATHS[0]!, { token: ann.token })
      await ask()
      read.mock.resetCalls()
      assert.equal((await ask()).status, 200)
      assert.equal(read.mock.callCount(), 2)
    }))

  it('end with a push that could not be counted', async () => {
    const { path, checkout } = await pushContents(allot, ann, 'uncounted')
    const folder = await allot.folderOf(path)
    const read = async () => {
      const { body } = await allot.as(ann, 'GET', `/repos/${path}/contents/README.md`)
      return Buffer.from(body.content, 'base64').toString()
    }
    await read()
    await commit(checkout, { 'README.md': 'new\n' })
    writeFileSync(UNMEASURED, '')
    const { err } = await attempt(checkout, ['push', urlFor(allot, path, ann), 'main'])
    rmSync(UNMEASURED)
    assert.match(err, /could not be counted yet/)
    renameSync(join(folder, 'moved'), join(folder, 'HEAD'))
    assert.equal(await read(), 'new\n')
  })

  it('are those of a server that has kept nothing, after each change', async () => {
    const spare = await allot.scoped(ann, 'all')
    const tokens = [undefined, ann.token, ben.token, cleo.token, spare]
    await said(allot.request, tokens)
    for (const [step, make] of CHANGES.entries()) {
      await make()
      assert.deepEqual(await said(allot.request, tokens), await saidAnew(tokens), `change ${step}`)
    }
    const { tokens: kept } = allot.allot.hosting
    const { items } = await kept.list(ann.id, { offset: 0, limit: 50 })
    await kept.remove(ann.id, items.find(({ lastEight }) => spare.endsWith(lastEight))!.id)
    assert.deepEqual(await said(allot.request, tokens), await saidAnew(tokens), 'a token that was revoked')
  })
})
