import assert from 'node:assert/strict'
import { once } from 'node:events'
import { copyFileSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import type { IncomingMessage } from 'node:http'
import { Agent, request } from 'node:https'
import { connect as connectPlain } from 'node:net'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { CLOSE_TIMEOUT_MS } from '../../bin/server/shutdown.ts'
import { Authority, type Issued } from '../support/certificates.ts'
import { run, runSync } from '../support/child.ts'
import { atEnd } from '../support/cleanup.ts'
import { temporaryDirectory } from '../support/folder.ts'
import { waitFor } from '../support/wait-for.ts'
import { authority, configured, send, serialOf, serveHttps } from './https.ts'
import { allot, served } from './in-process.ts'
import { served as servedApart } from './program.ts'
import { stopAmidRequests } from './stopping.ts'

describe('allot serve with a certificate', () => {
  it('speaks https, and every address in its responses says so', async () => {
    const server = await serveHttps(served)
    const headers = { authorization: `token ${server.token}`, 'content-type': 'application/json' }
    const { origin, api } = server
    assert.match(origin, /^https:\/\/127\.0\.0\.1:\d+$/)
    for (const name of ['one', 'two']) {
      const body = JSON.stringify({ name, auto_init: true })
      const made = await send(`${api}/user/repos`, { method: 'POST', headers, body })
      const { html_url, clone_url } = JSON.parse(made.text)
      assert.deepEqual([html_url, clone_url], [`${origin}/root/${name}`, `${origin}/root/${name}.git`])
    }
    const { headers: list } = await send(`${api}/user/repos?limit=1`, { headers })
    assert.match(String(list.link), new RegExp(`^<${api}/user/repos\\?`))
    assert.doesNotMatch(String(list.link), /http:/)
    for (const path of ['/-/healthz', '/-/readyz'])
      assert.equal((await send(origin + path, { method: 'HEAD' })).status, 200)
  })

  it('binds the session of the pages to https', async () => {
    const { origin } = await serveHttps(served)
    const { status, headers } = await send(`${origin}/-/sign-in`)
    assert.equal(status, 200)
    assert.match(String(headers['set-cookie']), /^__Host-allot=.*; Secure/)
    assert.equal(headers['strict-transport-security'], undefined)
  })

  it('tells browsers to use https only, when the configuration says so', async () => {
    const { api } = await serveHttps(served, { more: configured('[server]\nhsts = true\n') })
    const { headers } = await send(`${api}/version`)
    assert.equal(headers['strict-transport-security'], 'max-age=31536000')
  })

  it('serves git to a client that trusts the authority, and to no other', async () => {
    const { api, origin, token } = await serveHttps(served)
    const headers = { authorization: `token ${token}`, 'content-type': 'application/json' }
    const body = JSON.stringify({ name: 'demo', auto_init: true })
    assert.equal((await send(`${api}/user/repos`, { method: 'POST', headers, body })).status, 201)
    const folder = temporaryDirectory()
    const git = (ca: string, ...args: string[]) =>
      run('git', args, {
        cwd: folder,
        env: { ...process.env, GIT_SSL_CAINFO: ca, GIT_TERMINAL_PROMPT: '0' },
      })
    const url = origin.replace('//', `//root:${token}@`)
    await git(authority.file, 'clone', '--quiet', `${url}/root/demo.git`)
    writeFileSync(join(folder, 'demo', 'large'), Buffer.alloc(3_000_000, 'x'))
    await git(authority.file, '-C', 'demo', 'add', 'large')
    const author = ['-c', 'user.name=Ada', '-c', 'user.email=ada@example.org']
    await git(authority.file, '-C', 'demo', ...author, 'commit', '--quiet', '-m', 'Add')
    await git(authority.file, '-C', 'demo', 'push', '--quiet')
    const other = new Authority()
    await assert.rejects(git(other.file, 'clone', `${url}/root/demo.git`, 'refused'), /certificate/i)
  })

  it('closes a connection that speaks plain HTTP on this port without an answer, and keeps serving', async () => {
    const { api, origin } = await serveHttps(served)
    const plain = connectPlain(Number(new URL(origin).port), '127.0.0.1')
    plain.on('error', () => undefined).write('GET / HTTP/1.1\r\nHost: x.test\r\n\r\n')
    await once(plain, 'close')
    assert.equal((await send(`${api}/version`)).status, 200)
  })

  it('lets commands with --url say what is wrong: the scheme of the address, or an unknown authority', async () => {
    const secure = await serveHttps(served)
    const plain = await served(['--data', temporaryDirectory()])
    for (const [origin, message] of [
      [
        secure.origin.replace('https:', 'http:'),
        'the server closed the connection: write https:// in the address if it',
      ],
      [
        new URL(plain.api).origin.replace('http:', 'https:'),
        'this port does not speak https: write http:// in the',
      ],
      [secure.origin, 'its certificate is of an authority that this machine does not know: name the file'],
    ] as const) {
      const { code, err } = await allot(['quota', 'show', '--url', origin, '--token', secure.token])
      assert.equal(code, 1)
      assert.match(err, new RegExp(`^allot: \\S+ cannot be reached: ${message} .*\n$`))
    }
  })

  it('finishes requests in flight when it is stopped, with a handshake that never ends', async () => {
    const server = await serveHttps(servedApart)
    const agent = new Agent({ keepAlive: true, ca: authority.pem })
    atEnd(() => agent.destroy())
    const silent = connectPlain(Number(new URL(server.origin).port), '127.0.0.1')
    silent.on('error', () => undefined)
    await stopAmidRequests(server, 8, () => send(`${server.api}/users/root`, { agent }))
  })

  it('closes a handshake that never ends when it is stopped, before it cuts slow clients', async (t) => {
    const server = await serveHttps(served)
    const silent = connectPlain(Number(new URL(server.origin).port), '127.0.0.1')
    const closed = once(
      silent.on('error', () => undefined),
      'close',
    )
    await once(silent, 'connect')
    await send(`${server.api}/version`)
    const { setTimeout } = globalThis
    const withoutCut = (work: () => void, ms: number) =>
      setTimeout(ms === CLOSE_TIMEOUT_MS ? () => undefined : work, ms)
    t.mock.method(globalThis, 'setTimeout', withoutCut)
    assert.equal(await server.stop(), 0)
    await closed
  })
})

describe('SIGHUP to allot serve', () => {
  it('makes new connections use the new certificate, and ends no request and no open connection', async () => {
    const [first, second] = [authority.issue(), authority.issue()]
    const server = await serveHttps(servedApart, { issued: first })
    const agent = new Agent({ keepAlive: true, maxSockets: 1, ca: authority.pem })
    atEnd(() => agent.destroy())
    const kept = () => send(`${server.api}/version`, { agent })
    assert.equal((await kept()).serial, serialOf(first))
    const upload = request(`${server.api}/markdown/raw`, {
      ...{ method: 'POST', ca: authority.pem },
      headers: { 'content-type': 'text/plain', 'content-length': 9 },
    })
    upload.write('some ')
    await once(upload, 'socket')
    await waitFor(() => upload.socket?.bytesWritten !== 0)

    server.replace(second)
    server.child.kill('SIGHUP')
    await waitFor(() => /is used from now on/.test(server.printed()))
    assert.match(
      server.printed(),
      /the certificate in \S+cert\.pem is used from now on; it expires on \d{4}-/,
    )
    assert.equal((await send(`${server.api}/version`)).serial, serialOf(second))
    assert.equal((await kept()).serial, serialOf(first), 'the open connection goes on')
    upload.end('text')
    const [res] = (await once(upload, 'response')) as [IncomingMessage]
    assert.equal(res.statusCode, 200)
    res.resume()
  })

  for (const [what, write, message] of [
    [
      'a key of another certificate',
      ({ key }: Issued) => copyFileSync(authority.issue().key, key),
      /is not the key of the first certificate in/,
    ],
    [
      'half a certificate',
      ({ certificate }: Issued) => writeFileSync(certificate, '-----BEGIN CERT'),
      /contains no certi/,
    ],
    [
      'an expired certificate',
      (files: Issued) => {
        const expired = authority.issue({ days: [-9, -2] })
        copyFileSync(expired.certificate, files.certificate)
        copyFileSync(expired.key, files.key)
      },
      /has expired on/,
    ],
  ] as const)
    it(`keeps the certificate that it has when it finds ${what}, and logs one line`, async () => {
      const issued = authority.issue()
      const server = await serveHttps(served, { issued })
      const before = server.printed().length
      write(server.files)
      server.signal('SIGHUP')
      assert.equal((await send(`${server.api}/version`)).serial, serialOf(issued))
      const [line, ...rest] = server.printed().slice(before).trim().split('\n')
      assert.deepEqual(rest, [])
      assert.match(JSON.parse(line!).msg, message)
      assert.match(JSON.parse(line!).msg, /; the server goes on with the certificate that it has$/)
    })
})

describe('allot serve with a port for redirects', () => {
  it('redirects http to the same URL with https, and serves nothing there', async () => {
    const server = await serveHttps(served, { more: ['--redirect-port', '0'] })
    const [, http] = /redirects (http:\S+) to it/.exec(server.printed())!
    const { port } = new URL(server.origin)
    const redirected = async (method: string, path: string, headers = {}) => {
      const answer = await fetch(http + path, { method, headers, redirect: 'manual' })
      return [answer.status, answer.headers.get('location')]
    }
    const path = '/api/v1/users/search?q=a%20b'
    assert.deepEqual(await redirected('GET', path), [301, server.origin + path])
    assert.deepEqual(await redirected('POST', '/root/demo.git/git-receive-pack'), [
      308,
      `${server.origin}/root/demo.git/git-receive-pack`,
    ])
    const { stdout } = await run('curl', ['-si', '-H', 'Host: git.example.org:80', `${http}//x`])
    assert.match(stdout, new RegExp(`^Location: https://git\\.example\\.org:${port}//x\r$`, 'im'))
    const malformed = await run('curl', ['-si', '-H', 'Host: a b', `${http}/`])
    assert.match(malformed.stdout, /^HTTP\/1\.1 400 /)
    assert.equal(await server.stop(), 0)
  })

  it('redirects to the public URL when the configuration has one', async () => {
    const more = configured('[server]\nredirect_port = 0\n[api]\nbase_url = "https://git.example.org/code"\n')
    const server = await serveHttps(served, { more })
    const [, http] = /redirects (http:\S+) to it/.exec(server.printed())!
    const { headers } = await fetch(`${http}/x?y`, { redirect: 'manual' })
    assert.equal(headers.get('location'), 'https://git.example.org/x?y')
    assert.match(server.printed(), /curl -H .* https:\/\/git\.example\.org\/code\/api\/v1\/user$/m)
  })

  it('fails with one line when the port is in use', async () => {
    const first = await served(['--data', temporaryDirectory()])
    const { port } = new URL(first.api)
    const { certificate, key } = authority.issue()
    const tls = ['--tls-certificate', certificate, '--tls-key', key, '--redirect-port', port]
    const { code, err } = await allot(['serve', '--port', '0', '--data', temporaryDirectory(), ...tls])
    assert.equal(code, 1)
    assert.match(
      err,
      new RegExp(`^allot: port ${port} of 127\\.0\\.0\\.1 is in use: .*--redirect-port.*\\n$`),
    )
  })
})

describe('The options for https', () => {
  const { certificate, key } = authority.issue()
  const folder = temporaryDirectory()
  const at = (name: string, text?: string) => {
    if (text !== undefined) writeFileSync(join(folder, name), text)
    return join(folder, name)
  }
  mkdirSync(at('folder'))
  const encrypted = at('encrypted.pem')
  runSync('openssl', ['pkey', '-in', key, '-aes256', '-passout', 'pass:secret', '-out', encrypted])

  for (const [what, lines, message] of [
    [
      'a certificate without a key',
      { tls_certificate: certificate },
      /https also needs the private key.* tls_key$/,
    ],
    ['a key without a certificate', { tls_key: key }, /https also needs the certificate.* tls_certificate$/],
    [
      'a redirect without https',
      { redirect_port: 80 },
      /^redirect_port needs https: set tls_certificate and tls_key$/,
    ],
    ['hsts without https', { hsts: true }, /^hsts needs https/],
    [
      'a missing certificate',
      { tls_certificate: at('gone'), tls_key: key },
      /^tls_certificate = .*: there is no such file$/,
    ],
    [
      'a missing key',
      { tls_certificate: certificate, tls_key: at('gone') },
      /^tls_key = .*: there is no such file$/,
    ],
    ['a folder', { tls_certificate: at('folder'), tls_key: key }, /cannot be read: it is a folder$/],
    [
      'a malformed certificate',
      { tls_certificate: at('text', 'x'), tls_key: key },
      /contains no certificate in PEM format$/,
    ],
    [
      'the two files swapped',
      { tls_certificate: key, tls_key: certificate },
      /contains no certificate in PEM format$/,
    ],
    [
      'a malformed key',
      { tls_certificate: certificate, tls_key: at('text', 'x') },
      /contains no private key in PEM format$/,
    ],
    [
      'a key with a passphrase',
      { tls_certificate: certificate, tls_key: encrypted },
      /encrypted with a passphrase/,
    ],
    [
      'the key of another certificate',
      { tls_certificate: certificate, tls_key: authority.issue().key },
      /is not the key of the first certificate in/,
    ],
    ['an invalid port', { redirect_port: 70_000 }, /server\.redirect_port: /],
  ] as const)
    it(`are refused with one sentence: ${what}`, async () => {
      const text = Object.entries(lines).map(([name, value]) => `${name} = ${JSON.stringify(value)}\n`)
      const data = join(temporaryDirectory(), 'data')
      const words = ['serve', '--port', '0', '--data', data, ...configured(`[server]\n${text.join('')}`)]
      const { code, err } = await allot(words)
      assert.ok(code === 1 || code === 2, err)
      assert.match(err.replace(/^allot: /, '').trimEnd(), message)
      assert.throws(() => readFileSync(data), { code: 'ENOENT' }, 'nothing has been created')
    })

  it('start a server with an expired certificate, and log a warning', async () => {
    for (const [days, message] of [
      [[-9, -2], /the certificate has expired on \d{4}-\d\d-\d\d: renew it/],
      [[3, 9], /is not valid before \d{4}-\d\d-\d\d: is the clock of this machine right\?/],
    ] as const) {
      const server = await serveHttps(served, { issued: authority.issue({ days: [...days] }) })
      await waitFor(() => message.test(server.printed()))
      assert.match(server.printed(), message)
      const { status } = await send(`${server.api}/version`, { rejectUnauthorized: false })
      assert.equal(status, 200)
    }
  })
})
