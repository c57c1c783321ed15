import assert from 'node:assert/strict'
import { readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { before, describe, it } from 'node:test'
import { folderOf } from '../../lib/git/folders.ts'
import { runSync } from '../support/child.ts'
import { assertError } from '../support/expectations.ts'
import { temporaryDirectory } from '../support/folder.ts'
import { type Answer, madeBefore, type Person } from '../support/test-server.ts'
import { wrappedGit } from '../support/wrapped-git.ts'
import { startGit } from './served.ts'

/** A git that may write no byte to any file while the file `full` exists. */
const gitWithLimit = (): { git: string; full: string } => {
  const folder = temporaryDirectory()
  const full = join(folder, 'full')
  return { git: wrappedGit(`if [ -e '${full}' ]; then trap '' XFSZ; ulimit -f 0; fi`, folder), full }
}

/** Paths below a folder with their modes, and the contents of the files. */
const entriesOf = (folder: string) =>
  (readdirSync(folder, { recursive: true }) as string[]).sort().map((path) => {
    const found = statSync(join(folder, path))
    return [path, found.mode, found.isFile() ? readFileSync(join(folder, path), 'utf8') : undefined]
  })

const quiet = { error: () => undefined, info: () => undefined }
const CHANGE = { content: Buffer.from('text').toString('base64'), message: 'change' }

describe('While git cannot write, since the disk is full', () => {
  const limited = gitWithLimit()
  const directory = temporaryDirectory()
  let [alice, bob] = [] as unknown as [Person, Person]
  let refusedFirst: Answer
  const allot = madeBefore(() =>
    startGit({
      log: quiet,
      repositories: { directory, git: limited.git },
    }),
  )
  before(async () => {
    ;[alice, bob] = [await allot.person('alice'), await allot.person('bob')]
    writeFileSync(limited.full, '')
    refusedFirst = await allot.as(alice, 'POST', '/user/repos', { name: 'demo' })
    rmSync(limited.full)
    await allot.repository(alice, 'demo', { auto_init: true })
  })

  const REQUESTS: [what: string, send: () => Promise<Answer>][] = [
    ['a fork', () => allot.as(bob, 'POST', '/repos/alice/demo/forks', {})],
    ['a change', () => allot.as(alice, 'POST', '/repos/alice/demo/contents/a.txt', CHANGE)],
  ]
  it('the first repository of a process, whose files git creates, is refused with 507', () =>
    assertError(refusedFirst, 507, /^the disk is full$/))

  /** The folders of a repository that is created meanwhile, and of an empty one that git creates. */
  const create = async (body: object) => {
    writeFileSync(limited.full, '')
    const created = await allot.as(alice, 'POST', '/user/repos', body)
    rmSync(limited.full)
    assert.equal(created.status, 201, created.text)
    const byGit = join(temporaryDirectory(), 'demo.git')
    runSync('git', ['init', '--quiet', '--bare', '--template=', '--initial-branch=trunk', byGit])
    return { made: folderOf(directory, (created.body as { id: number }).id), byGit }
  }

  it('another empty repository is created without git, as git would create it', async () => {
    const { made, byGit } = await create({ name: 'empty', default_branch: 'trunk' })
    assert.deepEqual(entriesOf(made), entriesOf(byGit))
    assert.deepEqual((await allot.allot.verify()).messages, [])
  })

  it('the first commit of another repository is written without git, as git would write it', async () => {
    const templates = { gitignores: 'Node,Go', license: 'MIT', description: 'Grüße 👋' }
    const body = { name: 'filled', default_branch: 'a/trunk', auto_init: true, ...templates }
    const { made, byGit } = await create(body)
    const [refs, run] = ['refs/heads/*:refs/heads/*', (...args: string[]) => runSync('git', args)]
    // Git stores few objects as single files.
    run(`--git-dir=${byGit}`, 'fetch', '--quiet', '--no-write-fetch-head', made, refs)
    run(`--git-dir=${byGit}`, 'symbolic-ref', 'HEAD', 'refs/heads/a/trunk')
    const placesIn = (folder: string) => entriesOf(folder).map(([path, mode]) => [path, mode])
    assert.deepEqual(placesIn(made), placesIn(byGit))
    const files = run(`--git-dir=${made}`, 'ls-tree', '--name-only', 'HEAD')
    assert.equal(files, '.gitignore\nLICENSE\nREADME.md\n')
    assert.equal(run(`--git-dir=${made}`, 'show', 'HEAD:README.md'), '# filled\n\nGrüße 👋')
    assert.equal(run(`--git-dir=${made}`, 'fsck', '--strict', '--no-progress'), '')
    assert.deepEqual((await allot.allot.verify()).messages, [])
  })

  for (const [what, send] of REQUESTS)
    it(`${what} is refused with 507, and succeeds once there is space`, async () => {
      writeFileSync(limited.full, '')
      assertError(await send(), 507, /^the disk is full$/)
      rmSync(limited.full)
      const { status, text } = await send()
      assert.ok([201, 202].includes(status), `${status} ${text}`)
      assert.deepEqual((await allot.allot.verify()).messages, [])
    })
})

describe('While the folder of the repositories and that of the files cannot be written', () => {
  // The kernel lets no user write there.
  for (const directory of ['/sys/kernel', '/proc/none/data'])
    it(`repositories and files in ${directory} are refused with 503, and the log has the reason`, async () => {
      const logged: string[] = []
      const error = ({ err }: { err?: Error }) => void logged.push(String(err?.cause))
      const [repositories, files] = [{ directory }, { directory }]
      const allot = await startGit({ log: { ...quiet, error }, repositories, files })
      const alice = await allot.person('alice')
      const message = /^the server cannot use a file or folder that it needs: its log has the reason$/
      assertError(await allot.as(alice, 'POST', '/user/repos', { name: 'demo' }), 503, message)
      const url = `${allot.base}/api/packages/alice/generic/tool/1/file`
      const headers = { authorization: `token ${alice.token}` }
      const answer = await fetch(url, { method: 'PUT', headers, body: 'file' })
      assert.equal(answer.status, 503)
      assert.match((await answer.text()).trim(), message)
      assert.equal(logged.length, 2)
      for (const line of logged) assert.match(line, /EPERM|EACCES|EROFS| mkdir '\/proc/)
    })
})

describe('What git says of the content of a file', () => {
  it('is not taken for a failure of the disk, whatever words the file has', async () => {
    const allot = await startGit({ log: quiet })
    const alice = await allot.person('alice')
    const path = await allot.repository(alice, 'demo', { auto_init: true })
    const text = '[submodule "x"]\n\tpath = x\n\turl = "-ENOSPC: No space left on device"\n'
    const change = { content: Buffer.from(text).toString('base64'), message: 'change' }
    const answer = await allot.as(alice, 'POST', `/repos/${path}/contents/.gitmodules`, change)
    assertError(answer, 422, /gitmodulesUrl/)
  })
})
