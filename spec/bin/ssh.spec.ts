import assert from 'node:assert/strict'
import { chmodSync, statSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { before, describe, it } from 'node:test'
import { register } from 'prom-client'
import { CLOSE_TIMEOUT_MS } from '../../bin/server/shutdown.ts'
import { aCheckout } from '../git/client.ts'
import { gitWith, holdSsh, keyPair } from '../ssh/client.ts'
import { run } from '../support/child.ts'
import { temporaryDirectory } from '../support/folder.ts'
import { freePort } from '../support/free-port.ts'
import { createSender } from '../support/request.ts'
import { waitFor } from '../support/wait-for.ts'
import { allot as commandLine, type ServedHere, served } from './in-process.ts'

interface Finding {
  check: string
  status: string
  message: string
}

const folder = temporaryDirectory()
const data = join(folder, 'data')
const file = join(folder, 'allot.toml')
const key = keyPair()
let port: number
let server: ServedHere
let token: string

const scanned = async (type: string) =>
  (await run('ssh-keyscan', ['-t', type, '-p', String(port), '127.0.0.1'])).stdout

const begin = async () => {
  // A server of another file of this process may have registered its metrics.
  register.clear()
  server = await served(['--config', file, '--data', data])
}

const restart = async () => {
  assert.equal(await server.stop(), 0)
  await begin()
}

before(async () => {
  port = await freePort()
  writeFileSync(
    file,
    `[server]\nlog = "requests"\nmetrics = "loopback"\n[ssh]\nport = ${port}\nhost = "git.example.org"\n`,
  )
  await begin()
  const printed = () => /^ {2}([0-9a-f]{40})$/m.exec(server.printed())?.[1]
  await waitFor(() => printed() !== undefined)
  token = printed()!
  const send = createSender(server.api)
  await send('POST', '/user/keys', { token, body: { title: 'laptop', key: key.key } })
  await send('POST', '/user/repos', { token, body: { name: 'demo' } })
})

describe('allot serve with git over SSH', () => {
  it('says where it listens, and shows the host name and the port in ssh_url', async () => {
    assert.ok(server.printed().includes(`, git over SSH at ssh://git@127.0.0.1:${port}\n`))
    const { body } = await createSender(server.api)('GET', '/repos/root/demo', { token })
    assert.equal(body.ssh_url, `ssh://git@git.example.org:${port}/root/demo.git`)
  })

  it('takes a push, which it logs and counts in the metrics', async () => {
    const url = `ssh://git@127.0.0.1:${port}/root/demo.git`
    await gitWith(key.file, await aCheckout(), 'push', '--quiet', url, 'main')
    const logged = () => /^.*"command over SSH".*$/m.exec(server.printed())?.[0]
    await waitFor(() => logged() !== undefined)
    const {
      ms,
      bytesReceived,
      bytesSent,
      time: _,
      pid: __,
      hostname: ___,
      level: ____,
      ...rest
    } = JSON.parse(logged()!)
    assert.deepEqual(rest, {
      command: 'git-receive-pack',
      repository: 'root/demo',
      user: 'root',
      exitCode: 0,
      from: '127.0.0.1',
      msg: 'command over SSH',
    })
    for (const number of [ms, bytesReceived, bytesSent]) assert.ok(number > 0)
    const metrics = await (await fetch(new URL('/-/metrics', server.api))).text()
    assert.match(
      metrics,
      /^allot_ssh_command_duration_seconds_count\{command="git-receive-pack",exit="0"\} 1$/m,
    )
    assert.match(metrics, /^allot_ssh_connections \d$/m)
    assert.match(metrics, /^allot_ssh_bytes_total\{direction="received"\} \d+$/m)
  })

  it('makes its host keys at the first start, for its user only, and keeps them', async () => {
    const keys = join(data, 'repositories', 'ssh')
    for (const type of ['ed25519', 'ecdsa'])
      assert.equal(statSync(join(keys, `host_${type}`)).mode & 0o777, 0o600)
    assert.equal(statSync(keys).mode & 0o777, 0o700)
    const before = [await scanned('ed25519'), await scanned('ecdsa')]
    await restart()
    assert.deepEqual([await scanned('ed25519'), await scanned('ecdsa')], before)
    assert.match(before.join(''), /ssh-ed25519 [\s\S]*ecdsa-sha2-nistp256 /)
  })

  it('stops while a client keeps a command running', async (t) => {
    const held = holdSsh(port, key.file, 'git-upload-pack root/demo')
    await held.begun
    const { setTimeout } = globalThis
    const atOnce = (work: () => void, ms: number, ...args: []) =>
      setTimeout(work, ms === CLOSE_TIMEOUT_MS ? 1 : ms, ...args)
    t.mock.method(globalThis, 'setTimeout', atOnce)
    await restart()
    await held.ended
  })
})

describe('allot serve', () => {
  const failing: [what: string, args: () => string[], message: RegExp][] = [
    [
      'a port that is in use',
      () => ['--ssh-port', String(port)],
      /port \d+ of 127\.0\.0\.1 is in use: choose another with --ssh-port or port under \[ssh\]/,
    ],
    ['an invalid port', () => ['--ssh-port', '0'], /--ssh-port 0: expected a number from 1 to 65535/],
  ]
  for (const [what, args, message] of failing)
    it(`refuses ${what}`, async () => {
      const words = ['serve', '--port', '0', '--data', temporaryDirectory(), ...args()]
      const { code, err } = await commandLine(words)
      assert.notEqual(code, 0)
      assert.match(err, message)
    })
})

const fileWith = (text: string): string => {
  const path = join(temporaryDirectory(), 'file')
  writeFileSync(path, text, { mode: 0o600 })
  return path
}

const configured = (toml: string): string[] => ['--config', fileWith(toml)]

describe('allot doctor', () => {
  const findings = async (args: string[]) => {
    const { out } = await commandLine(['doctor', '--json', '--data', data, ...args])
    return (JSON.parse(out) as Finding[]).filter(({ check }) => check.startsWith('ssh'))
  }

  it('asks the SSH server, and finds that the public URL is missing', async () => {
    assert.deepEqual(
      (await findings(['--config', file])).map(({ check, status }) => `${check}: ${status}`),
      ['ssh host key: ok', 'ssh: warning', 'ssh server: ok'],
    )
    assert.deepEqual(await findings([]), [])
  })

  it('finds another program at the port, and a host key that others can read', async () => {
    const other = createServer((socket) => void socket.end('220 mail.example.org\r\n'))
    await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve))
    const own = keyPair().file
    chmodSync(own, 0o644)
    const { port: taken } = other.address() as { port: number }
    const toml = `[api]\nbase_url = "https://git.example.org"\n[ssh]\nport = ${taken}\nhost_key = ${JSON.stringify(own)}\n`
    const found = await findings(configured(toml))
    other.close()
    assert.deepEqual(
      found.map(({ check, status }) => `${check}: ${status}`),
      ['ssh host key: warning', 'ssh: ok', 'ssh server: failed'],
    )
    assert.match(found[2]!.message, /another program listens on .*: it says "220 mail/)
  })
})
