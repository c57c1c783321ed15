import assert from 'node:assert/strict'
import { once } from 'node:events'
import { existsSync, mkdirSync, readdirSync, statSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { run } from '../support/child.ts'
import { temporaryDirectory } from '../support/folder.ts'
import { createSender } from '../support/test-server.ts'
import { waitFor } from '../support/wait-for.ts'
import { allot, served } from './in-process.ts'
import { npmStart, served as servedApart } from './program.ts'

describe('allot serve', () => {
  it('creates an administrator in an empty store, and prints a curl command that works', async () => {
    const server = await served(['--data', temporaryDirectory()])
    const line = await printedLine(server.printed, /^ {2}(curl .*)$/m)
    const { stdout } = await run('bash', ['-c', `${line} -s`])
    const root = JSON.parse(stdout)
    assert.deepEqual([root.login, root.is_admin], ['root', true])
  })

  it('creates its folders for its own user alone, and leaves the mode of folders that exist', async () => {
    const folder = temporaryDirectory()
    const [data, apart, open] = ['a/data', 'apart/git', 'open'].map((name) => join(folder, name)) as [
      string,
      string,
      string,
    ]
    mkdirSync(open, { mode: 0o755 })
    const config = join(folder, 'allot.toml')
    writeFileSync(config, `[repositories]\ndirectory = "${apart}"\n[files]\ndirectory = "${open}"\n`)
    const server = await served(['--data', data, '--config', config])
    await server.stop()
    const mode = (path: string) => statSync(path).mode & 0o777
    assert.deepEqual([data, join(data, 'store'), apart, open].map(mode), [0o700, 0o700, 0o700, 0o755])
    const added = join(folder, 'added')
    assert.equal((await allot(['user', 'add', 'ci', '--data', added])).code, 0)
    assert.equal(mode(added), 0o700)
  })

  it('prints a token for an only administrator who cannot sign in, once, and logs that it made the token', async () => {
    const data = temporaryDirectory()
    assert.equal((await allot(['user', 'add', 'root', '--admin', '--data', data])).code, 0)
    const server = await served(['--data', data])
    const token = await printedLine(server.printed, /^ {2}([0-9a-f]{40})$/m)
    const send = createSender(server.api)
    assert.equal((await send('GET', '/user', { token })).body.login, 'root')
    const [made] = (await send('GET', '/admin/audit', { token })).body
    assert.deepEqual([made.actor, made.action], [{ id: 0, login: 'operator' }, 'token created'])
    await server.stop()
    const again = await served(['--data', data])
    await createSender(again.api)('GET', '/version')
    await again.stop()
    assert.doesNotMatch(again.printed(), /[0-9a-f]{40}/)
  })

  it('creates no token for an administrator who can sign in', async () => {
    const data = temporaryDirectory()
    await allot(['user', 'add', 'root', '--admin', '--password', 'a long password', '--data', data])
    const server = await served(['--data', data])
    await createSender(server.api)('GET', '/version')
    await server.stop()
    assert.doesNotMatch(server.printed(), /[0-9a-f]{40}/)
  })

  it('stops when npm start gets SIGTERM', async () => {
    const server = await npmStart(['--data', temporaryDirectory()])
    assert.equal((await fetch(`${server.api}/version`)).status, 200)
    await server.stop()
    await assert.rejects(fetch(`${server.api}/version`))
  })

  it('keeps everything across a restart', async () => {
    const data = temporaryDirectory()
    const first = await served(['--data', data])
    const token = await printedLine(first.printed, /^ {2}([0-9a-f]{40})$/m)
    const ask = createSender(first.api)
    await ask('POST', '/admin/users', { token, body: { username: 'alice' } })
    await ask('POST', '/user/repos', { token, body: { name: 'demo', auto_init: true } })
    await ask('PUT', '/user/starred/root/demo', { token })
    await ask('PUT', '/user/following/alice', { token })
    await ask('POST', '/admin/quota/rules', { token, body: { name: 'r', limit: 5, subjects: ['size:all'] } })
    await ask('PUT', '/admin/ledger/lfs/k', { token, body: { repository: 'root/demo', name: 'x', size: 7 } })
    const paths = [
      '/user',
      '/user/repos',
      '/user/starred',
      '/user/following',
      '/admin/quota/rules',
      '/user/quota',
      '/admin/ledger/lfs/k',
      '/admin/users',
      '/repos/search?q=demo',
    ]
    const look = async (api: string) =>
      Promise.all(
        paths.map(async (path) =>
          (await createSender(api)('GET', path, { token })).text.replaceAll(new URL(api).host, 'host'),
        ),
      )
    const before = await look(first.api)
    assert.equal(await first.stop(), 0)
    const second = await servedApart(['--data', data])
    assert.deepEqual(await look(second.api), before)
    assert.doesNotMatch(second.printed(), /[0-9a-f]{40}/, 'a token is shown once')
    assert.equal(
      (await createSender(second.api)('POST', '/user/repos', { token, body: { name: 'after' } })).status,
      201,
    )
    assert.equal(await second.stop('SIGINT'), 0)
  })

  it('finishes requests in flight when it is stopped with idle connections open, and exits with 0', async () => {
    const server = await servedApart(['--data', temporaryDirectory()])
    const token = await printedLine(server.printed, /^ {2}([0-9a-f]{40})$/m)
    const idle = connect(Number(new URL(server.api).port), '127.0.0.1')
    idle.on('error', () => undefined)
    const ask = createSender(server.api)
    const slow = { Text: 'a *b* [c](d) '.repeat(5_000) }
    // Of two clients, since the second text of one waits for the first, which a busy machine renders for
    // longer than it may wait.
    const inFlight = [{}, { token }].map((by) => ask('POST', '/markdown', { ...by, body: slow }))
    const written = ask('POST', '/admin/users', {
      token,
      body: { username: 'alice', password: 'a long password' },
    })
    // Long enough for all of them to have arrived, and too short for the texts to be rendered. On a busy
    // machine the server accepts them later, and answers the request after them only then.
    await new Promise((resolve) => setTimeout(resolve, 100))
    await ask('GET', '/version')
    const ended = server.stop()
    for (const answer of await Promise.all([...inFlight, written]))
      assert.ok(answer.status < 500, answer.text)
    assert.equal(await ended, 0)
    idle.destroy()
  })

  it('fails with a clear line when the port is in use or is not a port', async () => {
    const server = await served(['--data', temporaryDirectory()])
    const { port } = new URL(server.api)
    const taken = await allot(['serve', '--port', port, '--data', temporaryDirectory()])
    assert.equal(taken.code, 1)
    assert.match(taken.err, new RegExp(`port ${port} .*in use`))
    for (const port of ['x', '-1', '65536', '1.5']) {
      const { code, err } = await allot(['serve', `--port=${port}`, '--data', temporaryDirectory()])
      assert.equal(code, 2, err)
      assert.match(err, /--port/)
    }
  })

  it('fails with a clear line when the address is not of this machine, and when git is missing', async () => {
    const data = join(temporaryDirectory(), 'data')
    const config = join(temporaryDirectory(), 'allot.toml')
    writeFileSync(config, '[repositories]\ngit = "/no/git"\n')
    for (const [flags, message] of [
      [
        ['--host', '192.0.2.1'],
        'this machine has no address 192.0.2.1: choose one of its own with --host, such as 127.0.0.1, or 0.0.0.0 for all of them',
      ],
      [['--config', config], '/no/git is not found: install git, or set git under [repositories]'],
    ] as const) {
      const { code, err } = await allot(['serve', '--port', '0', '--data', data, ...flags])
      assert.deepEqual([code, err], [1, `allot: ${message}\n`])
    }
  })

  it('refuses options of PostgreSQL when records are stored elsewhere, and creates nothing', async () => {
    const folder = temporaryDirectory()
    const data = join(folder, 'data')
    const config = join(temporaryDirectory(), 'allot.toml')
    writeFileSync(config, '[storage]\nconnections = 4\n')
    for (const [storage, title] of [
      [[], 'LevelDB'],
      [['--storage', `level:${join(folder, 'store')}`], 'LevelDB'],
      [['--storage', 'memory:'], 'a store in memory'],
    ] as const) {
      const { code, err } = await allot(['serve', '--port=0', '--data', data, '--config', config, ...storage])
      assert.equal(code, 1)
      assert.ok(
        err.startsWith(
          `allot: [storage] connections: the section is for PostgreSQL, and the records are in ${title}: remove it, or `,
        ),
        err,
      )
    }
    assert.deepEqual(readdirSync(folder), [])
  })

  it('serves the web pages at / unless the configuration turns them off', async () => {
    const config = join(temporaryDirectory(), 'allot.toml')
    writeFileSync(config, '[server]\npages = false\n')
    for (const [flags, status] of [
      [[], 303],
      [['--config', config], 404],
    ] as const) {
      const server = await served(['--data', temporaryDirectory(), ...flags])
      const answer = await fetch(new URL('/', server.api), { redirect: 'manual' })
      assert.equal(answer.status, status)
      await printedLine(server.printed, /^ {2}([0-9a-f]{40})$/m)
      await server.stop()
      assert.equal(/sign in with it at http:\/\/127\.0\.0\.1:\d+\/\n/.test(server.printed()), status === 303)
    }
  })

  it('applies the limits of the configuration to clients', async () => {
    const limited = (toml: string) => {
      const file = join(temporaryDirectory(), 'allot.toml')
      writeFileSync(file, `[server]\n${toml}`)
      return served(['--data', temporaryDirectory(), '--config', file])
    }
    const server = await limited('max_headers = 5\nmax_header_size = "2 KiB"\n')
    const many = Object.fromEntries([...'abcdef'].map((name) => [`x-${name}`, '1']))
    assert.equal((await createSender(server.api)('GET', '/version', { headers: many })).status, 431)
    const long = { 'x-long': 'y'.repeat(3000) }
    assert.equal((await createSender(server.api)('GET', '/version', { headers: long })).status, 431)
    const impatient = await limited('headers_timeout = 100\n')
    const slow = connect(Number(new URL(impatient.api).port), '127.0.0.1')
    slow.write('GET / HTTP/1.1\r\n')
    const [chunk] = await once(slow, 'data')
    assert.match(String(chunk), /^HTTP\/1\.1 408 /)
  })

  it('serves a store in memory', async () => {
    const server = await served(['--storage', 'memory:', '--data', temporaryDirectory()])
    assert.equal((await createSender(server.api)('GET', '/users/root')).status, 200)
  })

  it('fails with one line without the password when the database cannot be reached, and leaves no folder', async () => {
    const data = join(temporaryDirectory(), 'data')
    const storage = 'postgres://me:secret@127.0.0.1:1/gone'
    const { code, err } = await allot(['serve', '--storage', storage, '--data', data])
    assert.equal(code, 1)
    assert.equal(existsSync(data), false)
    assert.match(err, /^allot: the database gone at 127\.0\.0\.1:1 cannot be reached: .*ECONNREFUSED.*\n$/)
    assert.doesNotMatch(err, /secret/)
  })

  it('does not print the password of a --storage that it refuses', async () => {
    const urls = ['mysql://me:secret@host/x', 'mysql://me:a:secret/@host/x', 'mysql://host/x?password=secret']
    for (const url of urls) {
      const { code, err } = await allot(['serve', '--storage', url])
      assert.equal(code, 2)
      assert.match(err, /^allot: --storage mysql:…: expected /)
    }
  })
})

/** The lines after the address of the server may be printed a moment later. */
const printedLine = async (printed: () => string, pattern: RegExp): Promise<string> => {
  await waitFor(() => pattern.test(printed()))
  const [, found] = pattern.exec(printed()) ?? []
  assert.ok(found !== undefined, `not printed: ${printed()}`)
  return found
}
