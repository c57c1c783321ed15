import assert from 'node:assert/strict'
import { existsSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { before, describe, it } from 'node:test'
import { type ServedGit, startGit } from '../../git/served.ts'
import { temporaryDirectory } from '../../support/folder.ts'
import type { Answer, Person } from '../../support/test-server.ts'
import { waitFor } from '../../support/wait-for.ts'
import { wrappedGit } from '../../support/wrapped-git.ts'
import { pushContents } from './repository.ts'

const folder = temporaryDirectory()
/** While this file exists, git is killed after its first lines. */
const killing = join(folder, 'killing')
/** While this file exists, the next git stops after its first lines. */
const stopping = join(folder, 'stopping')
let allot: ServedGit
let ann: Person
let path: string
let tip: string
before(async () => {
  const kill = `if [ -e ${killing} ]; then git "$@" | head -c 100; touch ${killing}.done; kill -9 $$; fi`
  const stop = `if [ -e ${stopping} ]; then rm ${stopping}; git "$@" | head -c 100; exec sleep 60; fi`
  const git = wrappedGit(
    `case "$*" in *" ls-tree "*|*" diff-tree -p "*|*" log "*) ${stop}; ${kill};; esac`,
    folder,
  )
  allot = await startGit(
    { repositories: { directory: join(folder, 'repositories'), git } },
    {
      mount: (handler) => (req, res) =>
        allot.allot.pages(req, res, () => handler(req, res, () => res.writeHead(404).end())),
    },
  )
  ann = await allot.person('ann')
  const pushed = await pushContents(allot, ann, 'app')
  path = pushed.path
  tip = pushed.ids.second!
})

type Response = Pick<Answer, 'status' | 'text' | 'body'>

const api = (rest: string) => (): Promise<Response> => allot.as(ann, 'GET', `/repos/${path}${rest}`)

const page = async () => {
  const answer = await fetch(`${allot.base}/${path}/commit/${tip}`)
  return { status: answer.status, text: await answer.text(), body: undefined }
}

describe('A git that is killed before its output is complete', () => {
  for (const [what, read, isWhole] of [
    ['a tree', api('/git/trees/main?recursive=1'), ({ body }: Response) => body.total_count === 12],
    ['the page of a commit', page, ({ text }: Response) => text.includes('deep/b.py')],
  ] as const)
    it(`gives no part of ${what} for the whole, and the next request gets the whole`, async () => {
      writeFileSync(killing, '')
      const part = await read()
      rmSync(killing)
      assert.equal(part.status, 503, part.text)
      const whole = await read()
      assert.equal(whole.status, 200, whole.text)
      assert.ok(isWhole(whole), whole.text)
    })

  it('leaves the search for the last commits of files to the next request', async () => {
    rmSync(`${killing}.done`, { force: true })
    const home = async () => (await fetch(`${allot.base}/${path}`)).text()
    writeFileSync(killing, '')
    await home()
    await waitFor(() => existsSync(`${killing}.done`))
    rmSync(killing)
    const isWhole = async () => (await home()).includes('Add files')
    await waitFor(isWhole)
    assert.ok(await isWhole())
  })

  it('is searched on for the last commits of files by the next request, when it was stopped for its time', async () => {
    const other = await pushContents(allot, ann, 'other')
    const home = async () => (await fetch(`${allot.base}/${other.path}`)).text()
    writeFileSync(stopping, '')
    await home()
    await waitFor(async () => (await home()).includes('Change the readme'))
    await waitFor(async () => (await home()).includes('Add files'))
  })
})
