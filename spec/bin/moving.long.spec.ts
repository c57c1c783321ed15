import assert from 'node:assert/strict'
import { once } from 'node:events'
import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import type { ServerResponse } from 'node:http'
import { join } from 'node:path'
import { before, describe, it } from 'node:test'
import { run } from '../support/child.ts'
import { temporaryDirectory } from '../support/folder.ts'
import { listen } from '../support/listen.ts'
import { lacks } from '../support/requirements.mjs'
import { basic, createSender } from '../support/test-server.ts'
import { waitFor } from '../support/wait-for.ts'
import { allot, served } from './in-process.ts'
import { allot as allotApart, begin, PROGRAM, served as servedApart } from './program.ts'

/** A store with an administrator, a user with a password and a token, and a repository; and its export. */
const folder = temporaryDirectory()
const data = join(folder, 'data')
const file = join(folder, 'backup.ndjson')
let token: string
before(async () => {
  const added = await allot(['user', 'add', 'chief', '--admin', '--token', '--data', data])
  token = added.out.trim()
  await allot(['user', 'add', 'ann', '--password', 'correct horse', '--data', data])
  const server = await served(['--data', data])
  const made = await createSender(server.api)('POST', '/user/repos', {
    token,
    body: { name: 'demo', auto_init: true },
  })
  assert.equal(made.status, 201)
  const taken = await allot(['export', '--out', file], folder, {
    env: { ALLOT_URL: new URL(server.api).origin, ALLOT_TOKEN: token },
  })
  assert.deepEqual([taken.code, taken.out], [0, ''])
  assert.match(taken.err, /^exported \d+ lines into .*backup\.ndjson\n$/)
  await server.stop()
})

/** Names of files of exports that are not complete. */
const unfinishedIn = (): string[] => readdirSync(folder).filter((name) => name.endsWith('.unfinished'))

/** A server whose exports a function sends. */
const exporting = (send: (res: ServerResponse) => void) =>
  listen((req, res) => {
    if (!req.url?.endsWith('/version')) return send(res)
    res.writeHead(200, { 'content-type': 'application/json' }).end('{}')
  })

/** An export without its time and those at which tokens were used, so that two exports can be compared. */
const linesOf = (text: string): string[] =>
  text
    .trimEnd()
    .split('\n')
    .slice(1, -1)
    .map((line) => line.replace(/,"lastUsedAt":\d+/, ''))

describe('allot export --url', () => {
  it('names the scope that the token lacks, and leaves no file', async () => {
    const own = join(folder, 'own')
    const chief = (await allot(['user', 'add', 'chief', '--admin', '--token', '--data', own])).out.trim()
    const server = await served(['--data', own])
    const remote = ['--url', new URL(server.api).origin, '--token']
    const scopes = ['--scopes', 'read:admin,write:admin']
    const { out } = await allot(['token', 'add', 'chief', ...scopes, ...remote, chief])
    const refused = join(folder, 'refused.ndjson')
    const { code, err } = await allot(['export', '--out', refused, ...remote, out.trim()])
    assert.equal(code, 1)
    assert.match(err, /\/admin\/export answered 403: .*\[read:secrets\]/)
    assert.ok(!existsSync(refused))
  })
})

describe('allot export and allot import', () => {
  it('copy everything from a running server into an empty store, with ids, passwords and tokens', async () => {
    const copy = join(folder, 'copy')
    const imported = await allot(['import', file, '--data', copy])
    assert.deepEqual([imported.code, imported.out], [0, ''])
    assert.match(imported.err, /^imported \d+ lines into .*copy\n$/)
    const server = await served(['--data', copy])
    try {
      const ask = createSender(server.api)
      assert.equal((await ask('GET', '/user', { token })).body.login, 'chief')
      assert.equal((await ask('GET', '/user', { headers: basic('ann', 'correct horse') })).status, 200)
      assert.equal((await ask('GET', '/repos/chief/demo', { token })).body.empty, false)
      assert.doesNotMatch(server.printed(), /There is now an administrator/)
    } finally {
      await server.stop()
    }
    const { stdout } = await run('git', ['-C', join(copy, 'repositories/01/1.git'), 'log', '--format=%s'])
    assert.equal(stdout, 'Initial commit\n')
  })

  it('write a file that only its owner may read', () => {
    assert.equal(statSync(file).mode & 0o777, 0o600)
    assert.deepEqual(unfinishedIn(), [])
  })

  it('replace no file without --force', async () => {
    const kept = join(folder, 'kept.ndjson')
    writeFileSync(kept, 'the only backup')
    const exportTo = (...options: string[]) => allot(['export', '--data', data, '--out', kept, ...options])
    const { code, out, err } = await exportTo()
    assert.deepEqual([code, out], [1, ''])
    assert.match(err, /^allot: .*kept\.ndjson exists: name another file, or give --force to replace it\n$/)
    assert.equal(readFileSync(kept, 'utf8'), 'the only backup')
    assert.deepEqual(unfinishedIn(), [])
    assert.equal((await exportTo('--force')).code, 0)
    assert.deepEqual(linesOf(readFileSync(kept, 'utf8')), linesOf(readFileSync(file, 'utf8')))
    assert.equal(statSync(kept).mode & 0o777, 0o600)
  })

  it('open the store when no server has it, and accept pipes for files', async () => {
    const { code, out, err } = await allotApart(['export', '--data', data, '--out', '-'])
    assert.equal(code, 0)
    assert.match(err, /^exported \d+ lines\n$/)
    assert.deepEqual(linesOf(out), linesOf(readFileSync(file, 'utf8')))
    const piped = join(folder, 'piped')
    const imported = await allotApart(['import', '-', '--data', piped], folder, { input: Buffer.from(out) })
    assert.equal(imported.code, 0, imported.err)
    assert.deepEqual(linesOf((await allot(['export', '--data', piped])).out), linesOf(out))
    const [pipe, named] = [join(folder, 'pipe'), join(folder, 'named')]
    await run('mkfifo', [pipe])
    const [read] = await Promise.all([allot(['import', pipe, '--data', named]), writeFile(pipe, out)])
    assert.equal(read.code, 0, read.err)
    assert.deepEqual(linesOf((await allot(['export', '--data', named])).out), linesOf(out))
  })

  it('show their progress on a terminal only', { skip: lacks('script') }, async () => {
    const command = [...PROGRAM, 'import', file, '--data', join(folder, 'shown')].map((word) => `'${word}'`)
    const { stdout } = await run('script', ['-qec', command.join(' '), '/dev/null'])
    assert.match(stdout, /importing [█░]+ \d+ % of \d+ bytes/)
    assert.match(stdout, /imported \d+ lines/)
  })
})

/** Whether there is anything in the log of a LevelDB. */
const isWritten = (store: string): boolean =>
  existsSync(store) &&
  readdirSync(store).some((name) => name.endsWith('.log') && statSync(join(store, name)).size > 0)

describe('An import that is killed', () => {
  it('leaves a store that no server opens and that another import completes', async () => {
    const killed = join(folder, 'killed')
    const child = begin(['import', '-', '--data', killed], folder)
    const lines = readFileSync(file, 'utf8').split('\n')
    child.stdin.write(`${lines.slice(0, 6).join('\n')}\n`)
    await waitFor(() => isWritten(join(killed, 'store')))
    child.kill('SIGKILL')
    await once(child, 'close')
    const refused = await allot(['serve', '--port', '0', '--data', killed])
    assert.deepEqual([refused.code, refused.out], [1, ''])
    assert.match(refused.err, /^allot: the store holds part of an import .* `allot import` again\n$/)
    assert.equal((await allot(['import', file, '--data', killed])).code, 0)
    assert.equal((await allot(['verify', '--data', killed])).code, 0)
  })
})

describe('An export or import that fails', () => {
  const whole = () => readFileSync(file)
  const given = (name: string, bytes: Uint8Array): string => {
    const path = join(folder, name)
    writeFileSync(path, bytes)
    return path
  }
  const REFUSED: [what: string, args: () => string[], code: number, err: RegExp][] = [
    [
      'a file that was cut short',
      () => ['import', given('cut', whole().subarray(0, -10)), '--data', join(folder, 'none')],
      1,
      /^allot: the file is cut short: it has \d+ whole lines, and the last one of an export is missing\n$/,
    ],
    [
      'a file that was changed',
      () => [
        'import',
        given('changed', Buffer.from(whole().toString().replace('"ann"', '"eve"'))),
        '--data',
        join(folder, 'none'),
      ],
      1,
      /^allot: the file was changed since it was written: its checksum is wrong\n$/,
    ],
    [
      'no file',
      () => ['import', join(folder, 'absent'), '--data', join(folder, 'none')],
      1,
      /absent cannot be read: no such file/,
    ],
    [
      'a store that is not empty',
      () => ['import', file, '--data', data],
      1,
      /^allot: the store is not empty: /,
    ],
    [
      'a folder',
      () => ['import', folder, '--data', join(folder, 'none')],
      1,
      /cannot be read: illegal operation on a directory/,
    ],
    ['no store', () => ['export', '--data', join(folder, 'none')], 1, /^allot: there is no store in .*none/],
    [
      'a server that is not there',
      () => ['export', '--url', 'http://127.0.0.1:9', '--token', 't'],
      1,
      /cannot be reached/,
    ],
    ['a server without a token', () => ['export', '--url', 'http://127.0.0.1:9'], 2, /--token/],
  ]
  it('prints one clear line, and leaves nothing behind', async () => {
    for (const [what, args, code, err] of REFUSED) {
      const outcome = await allot(args())
      assert.equal(outcome.code, code, `${what}: ${outcome.err}`)
      assert.match(outcome.err, err, what)
      assert.equal(outcome.out, '', what)
      assert.doesNotMatch(outcome.err, /\n {4}at /, `${what}: a stack`)
    }
    assert.ok(!existsSync(join(folder, 'none')))
  })

  it('refuses a store that a server has open, and advises to use the server', async () => {
    await servedApart(['--data', data])
    const { code, err } = await allot(['export', '--data', data])
    assert.equal(code, 1)
    assert.match(
      err,
      /in use by another process .*: stop that process first, or name its server with --url, and a token in ALLOT_TOKEN\n$/,
    )
  })

  it('leaves no file when it is interrupted', async () => {
    const { origin: url } = await exporting((res) => void res.write('{"format":"allot-export"'))
    for (const signal of ['SIGINT', 'SIGTERM'] as const) {
      const out = join(folder, `${signal}.ndjson`)
      const child = begin(['export', '--url', url, '--token', 't', '--out', out])
      const ended = once(child, 'exit')
      await waitFor(() => unfinishedIn().length > 0)
      child.kill(signal)
      assert.deepEqual(await ended, [null, signal])
      assert.ok(!existsSync(out))
      assert.deepEqual(unfinishedIn(), [])
    }
  })

  it('leaves the file of another export to the same name as it is', async () => {
    const out = join(folder, 'shared.ndjson')
    const whole = readFileSync(file)
    const responses: ServerResponse[] = []
    const { origin: url } = await exporting((res) => {
      res.write(whole.subarray(0, 400))
      responses.push(res)
    })
    const exportTo = () => allotApart(['export', '--url', url, '--token', 't', '--out', out])
    const first = exportTo()
    await waitFor(() => responses.length === 1)
    const second = exportTo()
    await waitFor(() => responses.length === 2)
    assert.equal(unfinishedIn().length, 2)
    const failed = await allot(['export', '--data', join(folder, 'none'), '--out', out])
    assert.match(failed.err, /there is no store in /)
    responses[0]!.end(whole.subarray(400))
    responses[1]!.destroy()
    assert.deepEqual(
      (await first).err.replace(out, 'OUT'),
      `exported ${whole.toString().split('\n').length - 3} lines into OUT\n`,
    )
    assert.match((await second).err, /ended early/)
    assert.deepEqual(readFileSync(out), whole)
    assert.deepEqual(unfinishedIn(), [])
  })

  it('leaves no file when the response ends early or is cut short', async () => {
    let isCut = false
    const half = readFileSync(file).subarray(0, 400)
    const { origin: url } = await exporting((res) => {
      res.writeHead(200, { 'content-type': 'application/x-ndjson' })
      if (isCut) res.end(half)
      else res.write(half, () => res.destroy())
    })
    const out = join(folder, 'broken.ndjson')
    for (const words of [/ended early/, /cut short/]) {
      const { code, err } = await allot(['export', '--url', url, '--token', 't', '--out', out])
      assert.equal(code, 1)
      assert.match(err, words)
      assert.ok(!existsSync(out))
      assert.deepEqual(unfinishedIn(), [])
      isCut = true
    }
  })
})
