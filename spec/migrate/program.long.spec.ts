import assert from 'node:assert/strict'
import { once } from 'node:events'
import { chmodSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { before, describe, it } from 'node:test'
import { PROGRAM, served } from '../bin/program.ts'
import { killGroup, outcome, run, spawnChild } from '../support/child.ts'
import { temporaryDirectory } from '../support/folder.ts'
import { lacks } from '../support/requirements.mjs'
import { createSender, startBefore } from '../support/test-server.ts'
import { waitFor } from '../support/wait-for.ts'
import { wrappedGit } from '../support/wrapped-git.ts'
import { command } from './command.ts'
import { replay } from './replay.ts'
import { pushed } from './two.ts'

const REPOSITORIES = 4

let env: Record<string, string>
const folder = temporaryDirectory()

const source = startBefore({ dialect: 'forgejo' })
before(async () => {
  const ann = await source.person('ann')
  for (let at = 0; at < REPOSITORIES; at++) await source.as(ann, 'POST', '/user/repos', { name: `r${at}` })
  await pushed(source, ann, 'ann/r0')
  await pushed(source, ann, `ann/r${REPOSITORIES - 1}`)
  env = { ALLOT_FROM_TOKEN: source.root.token }
})

const migrate = (data: string, ...more: string[]) =>
  command(['migrate', '--from', source.base, '--data', join(folder, data), ...more], { env })

const verified = async (data: string) => {
  const { code, err } = await command(['verify', '--data', join(folder, data)])
  assert.equal(code, 0, err)
}

describe('allot migrate', () => {
  it('prints what was copied and what was not, and never shows the token in the arguments of git', async () => {
    const [seen, spy, config] = ['seen', 'spy', 'spy.toml'].map((name) => join(folder, name)) as [
      string,
      string,
      string,
    ]
    writeFileSync(spy, `#!/bin/sh\nprintf '%s\\n' "$*" >>${seen}\nexec git "$@"\n`)
    chmodSync(spy, 0o755)
    writeFileSync(config, `[repositories]\ngit = "${spy}"\n`)
    const { code, out, err } = await migrate('whole', '--config', config, '--report', join(folder, 'r.json'))
    assert.deepEqual([code, err], [0, ''])
    assert.match(out, /^from http:\/\/127\.0\.0\.1:\d+ into .*whole\nusers: 2 copied/)
    assert.match(out, new RegExp(`^repositories: ${REPOSITORIES} copied`, 'm'))
    assert.match(out, /^not copied:$/m)
    assert.match(out, /^ {2}no password .*: ann, root$/m)
    const report = JSON.parse(readFileSync(join(folder, 'r.json'), 'utf8'))
    assert.deepEqual(report.counts.repositories, { copied: REPOSITORIES, found: 0, updated: 0 })
    assert.deepEqual(report.failed, [])
    assert.equal(statSync(join(folder, 'r.json')).mode & 0o777, 0o600)
    const words = readFileSync(seen, 'utf8')
    assert.match(words, /fetch .*ann\/r0\.git/)
    const hidden = [source.root.token, Buffer.from(`root:${source.root.token}`).toString('base64')]
    for (const one of hidden) assert.ok(!`${words}${out}`.includes(one))
    await verified('whole')
  })

  it('writes a token and a link for each user who cannot sign in yet, which work, into a file of its owner', async () => {
    const [file, second] = [join(folder, 'tokens'), join(folder, 'tokens-2')]
    const linesOf = (path: string): { name: string; token: string; link: string }[] =>
      readFileSync(path, 'utf8')
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line))
    const first = await migrate('keyed', '--tokens', file, '--rename', 'ann=anna')
    assert.deepEqual([first.code, first.err], [0, ''])
    assert.match(first.out, /^tokens and links: 2 copied/m)
    assert.match(first.out, /^ {2}accounts: ann is anna$/m)
    assert.equal(statSync(file).mode & 0o777, 0o600)
    const lines = linesOf(file)
    assert.deepEqual(
      lines.map(({ name }) => name),
      ['anna', 'root'],
    )
    const server = await served(['--data', join(folder, 'keyed')])
    try {
      const [{ token, link }] = lines as [(typeof lines)[0]]
      const ask = createSender(server.api)
      assert.equal((await ask('GET', '/user', { token })).body.login, 'anna')
      assert.match(link, /^\/-\/set-password\?user=anna&code=[\w-]{43}$/)
      const page = await fetch(new URL(link, server.api))
      assert.match(await page.text(), /For the user <bdi>anna<\/bdi>/)
      assert.ok(!`${server.printed()}${first.out}`.includes(link.slice(-43)))
      assert.ok(!`${server.printed()}${first.out}`.includes(token))
    } finally {
      await server.stop()
    }
    const keyed = ['migrate', 'verify', '--from', source.base, '--data', join(folder, 'keyed')]
    const compared = await command(keyed, { env })
    assert.deepEqual([compared.code, compared.err], [0, ''], compared.out)
    const again = await migrate('keyed', '--tokens', file)
    assert.deepEqual([again.code, again.out], [1, ''])
    assert.match(again.err, /^allot: --tokens \S+: the file exists: name another one\n$/)
    assert.equal((await migrate('keyed', '--tokens', second)).code, 0)
    const replaced = linesOf(second)
    assert.deepEqual(
      replaced.map(({ name }) => name),
      ['root'],
      'anna has used her token',
    )
    assert.notEqual(replaced[0]!.token, lines[1]!.token)
  })

  it('leaves a consistent store when it is killed while git fetches, and completes it when run again', async () => {
    const gitOf = (id: number) =>
      join(folder, `killed/repositories/${id.toString(16).padStart(2, '0')}/${id}.git`)
    let isHeld = false
    const holding = await replay({}, (req, res) => {
      if (req.method === 'POST' && req.url!.startsWith(`/ann/r${REPOSITORIES - 1}.git`)) isHeld = true
      else source.allot.handler(req, res)
    })
    const words = ['migrate', '--from', holding.base, '--data', join(folder, 'killed')]
    const [node, ...program] = PROGRAM
    const child = spawnChild(node, [...program, ...words], { env: { ...process.env, ...env } })
    // The first repository has its branches and its tag, and git fetches the last one.
    const refs = async () => (await outcome('git', ['-C', gitOf(1), 'for-each-ref'])).stdout.match(/\n/g)
    await waitFor(async () => child.exitCode !== null || (isHeld && (await refs())?.length === 3))
    assert.equal(child.exitCode, null, 'it ended before git fetched')
    child.kill('SIGKILL')
    await once(child, 'close')
    killGroup(child)
    const { code, out, err } = await migrate('killed')
    assert.deepEqual([code, err], [0, ''])
    assert.match(out, /^users: 0 copied, 2 already there$/m)
    assert.match(out, new RegExp(`^repositories: 0 copied, ${REPOSITORIES} already there$`, 'm'))
    assert.match(out, /^git data: 1 copied, 1 already there$/m)
    await holding.stop()
    await verified('killed')
    await run('git', ['-C', gitOf(REPOSITORIES), 'fsck', '--strict'])
  })

  it('says why it stopped, in the report too, and not that a log has the reason', async () => {
    const [config, file] = [join(folder, 'failing.toml'), join(folder, 'stopped.json')]
    const fault = 'fatal: cannot mkdir a: Permission denied'
    const git = wrappedGit(`case "$*" in *' init '*) echo '${fault}' >&2; exit 128;; esac`)
    writeFileSync(config, `[repositories]\ngit = "${git}"\n`)
    const { code, err } = await migrate('stopped', '--config', config, '--report', file)
    const reason = `the server cannot use a file or folder that it needs: git init failed with 128: ${fault}`
    assert.equal(code, 1)
    assert.match(err, new RegExp(`^allot: ${reason}: what was copied stays, and running .*\n$`))
    const { failed } = JSON.parse(readFileSync(file, 'utf8'))
    assert.match(failed.at(-1), new RegExp(`^the migration: ${reason}: what was copied stays, `))
    await verified('stopped')
  })

  it('shows its progress on a terminal', { skip: lacks('script') }, async () => {
    const words = ['migrate', '--from', source.base, '--data', join(folder, 'whole')]
    const line = [...PROGRAM, ...words].map((word) => `'${word}'`).join(' ')
    const terminal = { env: { ...process.env, ...env } }
    const { stdout } = await outcome('script', ['-qec', line, '/dev/null'], terminal)
    assert.match(stdout, new RegExp(`issues [█░]+ \\d+ of ${REPOSITORIES}, `))
  })
})

describe('allot migrate verify', () => {
  const data = join(folder, 'compared')
  const verify = (args: readonly string[], token = source.root.token) =>
    command(['migrate', 'verify', ...args], { env: { ALLOT_FROM_TOKEN: token } })
  before(async () => {
    const { code, err } = await migrate('compared')
    assert.equal(code, 0, err)
  })

  it('exits with 0 when nothing differs, else with 1 and what differs, also as JSON', async () => {
    const same = await verify(['--from', source.base, '--data', data])
    assert.deepEqual([same.code, same.err], [0, ''], same.out)
    assert.match(same.out, new RegExp(`^ {2}git data: ${REPOSITORIES}$[^]*^no differences$`, 'm'))
    const carl = await source.person('carl')
    const file = join(folder, 'differences.json')
    const other = await verify(['--from', source.base, '--data', data, '--report', file])
    assert.deepEqual([other.code, other.err], [1, ''], other.out)
    assert.match(other.out, /^different:\n {2}user carl: not here\ndifferences: 1$/m)
    const { differences } = JSON.parse(readFileSync(file, 'utf8'))
    assert.deepEqual(differences, [{ kind: 'user', name: 'carl', source: true, here: false }])
    assert.equal(statSync(file).mode & 0o777, 0o600)
    await source.as(source.root, 'DELETE', `/admin/users/${carl.name}`)
  })
})
