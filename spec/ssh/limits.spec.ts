import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { after, before, describe, it, type TestContext } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import ssh2, { type ClientChannel } from 'ssh2'
import { aCheckout, git } from '../git/client.ts'
import { eventually, pushBody } from '../git/slow-push.ts'
import { temporaryDirectory } from '../support/folder.ts'
import { createPersistentStore } from '../support/store.ts'
import type { Person } from '../support/test-server.ts'
import { gitWith, holdSsh, keyPair, type ServedSsh, ssh, startSsh } from './client.ts'

let allot: ServedSsh
let alice: Person
let [aliceKey, bobKey] = ['', '']
before(async () => {
  const git = { maxConcurrent: 4, maxConcurrentPerClient: 2 }
  allot = await startSsh({ git }, { maxConnections: 40 })
  alice = await allot.person('alice')
  aliceKey = await allot.key(alice)
  bobKey = await allot.key(await allot.person('bob'))
  const path = await allot.repository(alice, 'demo')
  await gitWith(aliceKey, await aCheckout(), 'push', '--quiet', allot.url(path), 'main')
})
after(() => allot.stop())

const FETCH = 'git-upload-pack alice/demo'

/**
 * A connection that is not of OpenSSH.
 * @param from address of this machine
 */
const raw = async (from = '127.0.0.1', port = allot.port): Promise<Socket> => {
  const socket = connect({ port, host: '127.0.0.1', localAddress: from })
  socket.on('error', () => undefined)
  await once(socket, 'connect')
  return socket
}

const closed = (socket: Socket): Promise<unknown> =>
  socket.closed ? Promise.resolve() : once(socket.resume(), 'close')

describe('Many connections of one client', () => {
  it('are closed above its share, and leave those of others alone', async () => {
    const sockets = await Promise.all(Array.from({ length: 15 }, () => raw('127.0.0.2')))
    await eventually(() => allot.allot.sshServer!.connections === 10)
    assert.match((await ssh(allot.port, aliceKey)).out, /^Hello alice/)
    const further = await ssh(allot.port, aliceKey, [], '-o', 'BindAddress=127.0.0.2')
    assert.equal(further.code, 255)
    for (const socket of sockets) socket.destroy()
    await eventually(() => allot.allot.sshServer!.connections === 0)
  })

  it('get git processes up to the share of the account, and leave the rest to others', async () => {
    const held = [holdSsh(allot.port, aliceKey, FETCH), holdSsh(allot.port, aliceKey, FETCH)]
    await Promise.all(held.map(({ begun }) => begun))
    const refused = await ssh(allot.port, aliceKey, [FETCH])
    assert.deepEqual(refused, {
      code: 1,
      out: '',
      err: 'ERROR: too many clients are fetching or pushing: try again\n',
    })
    const { status } = await fetch(`${allot.base}/alice/demo.git/info/refs?service=git-upload-pack`, {
      headers: { authorization: `token ${alice.token}` },
    })
    assert.equal(status, 503, 'over HTTP as well')
    assert.match((await ssh(allot.port, bobKey, [FETCH])).out, /refs\/heads\/main/)
    for (const { child } of held) child.stdin.end()
    await Promise.all(held.map(({ ended }) => ended))
    assert.equal((await ssh(allot.port, aliceKey, [FETCH])).code, 0)
  })

  it('share one connection, up to a number of sessions', async () => {
    const client = new ssh2.Client()
    const left = once(client, 'close').then(() => 'closed')
    client.connect({
      port: allot.port,
      host: '127.0.0.1',
      username: 'git',
      privateKey: readFileSync(aliceKey),
    })
    await Promise.race([once(client, 'ready'), left])
    const open = () =>
      new Promise<string>((resolve) =>
        client.exec('git-receive-pack alice/demo', (error) => resolve(error?.message ?? 'open')),
      )
    const results = await Promise.all(Array.from({ length: 12 }, () => Promise.race([open(), left])))
    client.end()
    assert.equal(results.filter((result) => result === 'open').length, 10)
  })
})

describe('A connection', () => {
  it('is closed when the client does not sign in, and when it runs no command', async () => {
    const impatient = await startSsh({}, { loginTimeout: 3000, idleTimeout: 500 })
    try {
      const key = await impatient.key(await impatient.person('ada'))
      const [silent, strange] = [
        await raw('127.0.0.1', impatient.port),
        await raw('127.0.0.1', impatient.port),
      ]
      strange.write('SSH-2.0-strange\r\n')
      const { ended } = holdSsh(impatient.port, key, FETCH, '-N')
      await Promise.all([closed(silent), closed(strange)])
      assert.equal((await ended).code, 255)
    } finally {
      await impatient.stop()
    }
  })

  it('has the time to sign in from its beginning, also when the client says late that it speaks SSH', async (test) => {
    const impatient = await startSsh({}, { loginTimeout: 3000 })
    test.after(impatient.stop)
    const server = impatient.allot.sshServer!
    const ends: string[] = []
    const [late, silent] = ['late', 'silent'].map((name) => async () => {
      const socket = await raw('127.0.0.1', impatient.port)
      socket.once('close', () => ends.push(name)).resume()
      return socket
    }) as [() => Promise<Socket>, () => Promise<Socket>]
    const first = await late()
    await eventually(() => server.connections === 1)
    await pause(1000)
    const second = await silent()
    await pause(1000)
    first.write('SSH-2.0-late\r\n')
    await Promise.all([closed(first), closed(second)])
    assert.deepEqual(ends, ['late', 'silent'])
  })

  it('that sends nonsense is closed, and does not affect other clients', async () => {
    for (const nonsense of [
      'GET / HTTP/1.1\r\n\r\n',
      `SSH-2.0-x\r\n${'\xff'.repeat(5000)}`,
      'x'.repeat(100_000),
      Buffer.concat([Buffer.from('SSH-2.0-x\r\n'), randomBytes(40_000)]),
    ]) {
      const socket = await raw()
      socket.write(nonsense)
      await closed(socket)
    }
    assert.equal((await ssh(allot.port, aliceKey)).code, 0)
  })

  it('that tries passwords and many keys is refused', async () => {
    const { code, err } = await ssh(
      allot.port,
      keyPair().file,
      [],
      '-o',
      'PreferredAuthentications=password,publickey',
    )
    assert.deepEqual([code, /Permission denied \(publickey\)/.test(err)], [255, true])
  })
})

/** The request of a client that fetches the first commit which `git-upload-pack` has advertised. */
const wantOf = (begun: unknown): string => {
  const [advertised] = begun as [Buffer]
  return `0032want ${advertised.toString('latin1', 4, 44)}\n0000`
}
/** More than the window of a client, and what the server sends ahead. */
const SIZE = 3_500_000

/** A server that ends idle commands, with a repository. */
const idleAfter = async (test: TestContext, idleTimeout: number) => {
  const { driver, drop } = await createPersistentStore()
  const kept = { driver, repositories: { directory: temporaryDirectory() } }
  // The limit is not for the push: on a busy machine, one can pause for as long.
  const patient = await startSsh(kept)
  const ada = await patient.person('ada')
  const key = await patient.key(ada)
  const path = await patient.repository(ada, 'large')
  const checkout = await aCheckout({ large: randomBytes(SIZE) })
  await gitWith(key, checkout, 'push', '--quiet', patient.url(path), 'main')
  await patient.stop()
  const impatient = await startSsh({ ...kept, git: { idleTimeout } }, {}, { root: 'other' })
  test.after(async () => {
    await impatient.stop()
    await drop()
  })
  return { impatient, key, path, wanted: await git(checkout, 'rev-parse', 'main') }
}

/** Signs in with the library as client, and starts a fetch. */
const fetching = async (port: number, key: string, path: string) => {
  const client = new ssh2.Client()
  client.on('error', () => undefined)
  client.connect({ port, host: '127.0.0.1', username: 'git', privateKey: readFileSync(key) })
  await once(client, 'ready')
  const stream = await new Promise<ClientChannel>((resolve, reject) =>
    client.exec(`git-upload-pack ${path}`, (error, opened) => (error ? reject(error) : resolve(opened))),
  )
  return { client, stream }
}

/**
 * Forwards connections to a port, and the first bytes that come back at a limited speed.
 * @returns its port
 */
const slowLine = async (
  test: TestContext,
  port: number,
  { bytesPerSecond, slowBytes }: { bytesPerSecond: number; slowBytes: number },
): Promise<number> => {
  const listener = createServer((near) => {
    const far = connect({ port, host: '127.0.0.1' })
    for (const socket of [near, far]) socket.on('error', () => undefined)
    near.pipe(far)
    let received = 0
    const timer = setInterval(() => {
      const size = received < slowBytes ? bytesPerSecond / 20 : far.readableLength
      const chunk = far.read(Math.min(size, far.readableLength))
      if (chunk !== null) near.write(chunk)
      received += chunk?.length ?? 0
    }, 50)
    far.once('close', () => {
      clearInterval(timer)
      near.destroy()
    })
    near.once('close', () => far.destroy())
  })
  test.after(() => listener.close())
  await new Promise<void>((resolve) => listener.listen(0, '127.0.0.1', resolve))
  return (listener.address() as AddressInfo).port
}

const HAVE = `0032have ${'1'.repeat(40)}\n`

describe('A connection that has signed in', () => {
  it('may change its keys 20 times besides once for each 16 MiB, and is closed beyond', async () => {
    for (const [kibibytes, code] of [
      [128, 0],
      [1024, 255],
    ] as const) {
      const { child, begun, ended } = holdSsh(allot.port, aliceKey, FETCH, '-o', 'RekeyLimit=16K')
      child.stdin.write(wantOf(await begun))
      child.stdin.end(`${HAVE.repeat((kibibytes * 1024) / HAVE.length)}0009done\n`)
      assert.equal((await ended).code, code, `${kibibytes} KiB, with new keys after each 16 KiB`)
    }
  })

  it('that takes no output of its command ends like one over HTTP, although it stays open', async (test) => {
    const { impatient, key, path, wanted } = await idleAfter(test, 5000)
    const { client, stream } = await fetching(impatient.port, key, path)
    stream.write(`0032want ${wanted}\n00000009done\n`)
    await eventually(() => impatient.commands.some(({ command }) => command === 'git-upload-pack'))
    assert.equal(impatient.commands.at(-1)!.exitCode, 1)
    assert.equal(impatient.allot.sshServer!.connections, 1)
    client.end()
  })

  it('that reads slowly gets everything, although it makes room for more seldom', async (test) => {
    const { impatient, key, path, wanted } = await idleAfter(test, 4000)
    // The library of the client makes room for more after 1 MiB, so for the first time in more than the
    // limit.
    const slow = { bytesPerSecond: 200 * 1024, slowBytes: 1.25 * 2 ** 20 }
    const line = await slowLine(test, impatient.port, slow)
    const { client, stream } = await fetching(line, key, path)
    stream.write(`0032want ${wanted}\n00000009done\n`)
    let received = 0
    for await (const chunk of stream) received += chunk.length
    client.end()
    await eventually(() => impatient.commands.length > 0)
    assert.deepEqual([impatient.commands[0]!.exitCode, received > SIZE], [0, true])
  })

  it('may send 64 MiB for a fetch, and is refused beyond', async () => {
    const { child, begun, ended } = holdSsh(allot.port, aliceKey, FETCH)
    child.stdin.write(wantOf(await begun))
    const haves = Buffer.from(HAVE.repeat(20_000))
    for (let sent = 0; sent <= 65 * 2 ** 20 && !child.stdin.destroyed; sent += haves.length)
      await new Promise((resolve) => child.stdin.write(haves, resolve))
    child.stdin.end()
    const { code, err } = await ended
    assert.deepEqual([code, err], [1, 'ERROR: a fetch must not send more than 67108864 bytes\n'])
  })
})

describe('A push', () => {
  it('that breaks off leaves a sound repository, which is counted', async () => {
    const path = await allot.repository(alice, 'broken')
    const body = await pushBody(await aCheckout({ large: randomBytes(2_000_000) }), 'main')
    const push = holdSsh(allot.port, aliceKey, `git-receive-pack ${path}`)
    await push.begun
    push.child.stdin.write(body.subarray(0, body.length / 2))
    await eventually(() => push.child.stdin.writableLength === 0)
    push.child.kill('SIGKILL')
    await eventually(() =>
      allot.commands.some(({ repository, exitCode }) => repository === path && exitCode === 1),
    )
    await allot.assertCounted('alice')
    await gitWith(aliceKey, await aCheckout(), 'push', '--quiet', allot.url(path), 'main')
    await allot.assertCounted('alice')
  })

  it('may begin late, as after a hook of its user, and ends when it stops before its commands are complete', async (test) => {
    const lines: string[] = []
    const log = { error: (_: object, text: string) => void lines.push(text), info: () => undefined }
    const impatient = await startSsh({ git: { idleTimeout: 500 }, log })
    test.after(impatient.stop)
    const ada = await impatient.person('ada')
    const key = await impatient.key(ada)
    const path = await impatient.repository(ada, 'late')
    const pushing = async () => {
      const push = holdSsh(impatient.port, key, `git-receive-pack ${path}`)
      await push.begun
      await pause(1500)
      return push
    }
    const [malformed, stopped] = await Promise.all([pushing(), pushing()])
    malformed.child.stdin.end('000adelete0000')
    stopped.child.stdin.write('00')
    assert.match((await malformed.ended).err, /ERROR: the push has a command that is not well-formed/)
    assert.match((await stopped.ended).err, /ERROR: no data of the request arrived for 0\.5 seconds/)
    assert.deepEqual(lines, [])
  })

  it('that takes longer than a command may is told so', async (test) => {
    const impatient = await startSsh({ git: { timeout: 1000 } })
    test.after(impatient.stop)
    const ada = await impatient.person('ada')
    const push = holdSsh(
      impatient.port,
      await impatient.key(ada),
      `git-receive-pack ${await impatient.repository(ada, 'long')}`,
    )
    assert.match((await push.ended).err, /ERROR: the command took more than 1 seconds/)
  })

  it('without commands occupies no git process', async () => {
    const held = Array.from({ length: 4 }, () => holdSsh(allot.port, aliceKey, 'git-receive-pack alice/demo'))
    await Promise.all(held.map(({ begun }) => begun))
    assert.equal((await ssh(allot.port, aliceKey, [FETCH])).code, 0)
    for (const { child } of held) child.stdin.end('0000')
    for (const { code } of await Promise.all(held.map(({ ended }) => ended))) assert.equal(code, 0)
  })

  it('in progress ends before the server closes, and no command begins then', async () => {
    const other = await startSsh()
    try {
      const ada = await other.person('ada')
      const key = await other.key(ada)
      const path = await other.repository(ada, 'last')
      const body = await pushBody(await aCheckout({ large: randomBytes(200_000) }), 'main')
      const push = holdSsh(other.port, key, `git-receive-pack ${path}`)
      await push.begun
      push.child.stdin.write(body.subarray(0, body.length / 2))
      const closing = other.allot.sshServer!.close()
      assert.equal((await ssh(other.port, key)).code, 255)
      push.child.stdin.end(body.subarray(body.length / 2))
      const { code, out } = await push.ended
      assert.deepEqual([code, out.includes('ok refs/heads/main')], [0, true])
      await closing
      assert.match(await git(await other.folderOf(path), 'show-ref'), /refs\/heads\/main/)
    } finally {
      await other.stop()
    }
  })
})
