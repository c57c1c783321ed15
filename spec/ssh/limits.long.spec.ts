import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { before, describe, it } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import ssh2 from 'ssh2'
import { aCheckout, git } from '../git/client.ts'
import { pushBody } from '../git/slow-push.ts'
import { temporaryDirectory } from '../support/folder.ts'
import { stopTimers } from '../support/stopped-timers.ts'
import type { Person } from '../support/test-server.ts'
import { waitFor } from '../support/wait-for.ts'
import { wrappedGit } from '../support/wrapped-git.ts'
import { gitWith, holdSsh, keyPair, type ServedSsh, ssh, startSsh } from './client.ts'
import { fetching, idleAfter } from './fetches.ts'

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

const FETCH = 'git-upload-pack alice/demo'
const MINUTE_MS = 60_000

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

/** Says that a client speaks SSH, and waits until the server begins to agree on keys. */
const identify = async (socket: Socket): Promise<void> => {
  const received: Buffer[] = []
  socket.on('data', (chunk: Buffer) => received.push(chunk))
  socket.write('SSH-2.0-strange\r\n')
  await waitFor(() => Buffer.concat(received).includes('curve25519'))
}

const identified = async (port: number): Promise<Socket> => {
  const socket = await raw('127.0.0.1', port)
  await identify(socket)
  return socket
}

const closed = (socket: Socket): Promise<unknown> =>
  socket.closed ? Promise.resolve() : once(socket.resume(), 'close')

describe('Many connections of one client', () => {
  it('are closed above its share, and leave those of others alone', async () => {
    const sockets = await Promise.all(Array.from({ length: 15 }, () => raw('127.0.0.2')))
    await waitFor(() => allot.allot.sshServer!.connections === 10)
    assert.match((await ssh(allot.port, aliceKey)).out, /^Hello alice/)
    const further = await ssh(allot.port, aliceKey, [], '-o', 'BindAddress=127.0.0.2')
    assert.equal(further.code, 255)
    for (const socket of sockets) socket.destroy()
    await waitFor(() => allot.allot.sshServer!.connections === 0)
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
  it('is closed when the client does not sign in, and when it runs no command', async (test) => {
    const idle = await startSsh({}, { idleTimeout: 100 })
    const key = await idle.key(await idle.person('ada'))
    assert.equal((await holdSsh(idle.port, key, FETCH, '-N').ended).code, 255)

    const impatient = await startSsh({}, { loginTimeout: MINUTE_MS })
    const tick = stopTimers(test, 'lib/ssh/')
    const silent = await raw('127.0.0.1', impatient.port)
    const strange = await identified(impatient.port)
    await waitFor(() => impatient.allot.sshServer!.connections === 2)
    tick(MINUTE_MS - 1)
    assert.deepEqual([silent.closed, strange.closed], [false, false])
    tick(1)
    await Promise.all([closed(silent), closed(strange)])
  })

  it('has the time to sign in from its beginning, also when the client says late that it speaks SSH', async (test) => {
    const impatient = await startSsh({}, { loginTimeout: MINUTE_MS })
    const server = impatient.allot.sshServer!
    const tick = stopTimers(test, 'lib/ssh/')
    const late = await raw('127.0.0.1', impatient.port)
    await waitFor(() => server.connections === 1)
    tick(MINUTE_MS / 2)
    const second = await raw('127.0.0.1', impatient.port)
    await waitFor(() => server.connections === 2)
    await identify(late)
    tick(MINUTE_MS / 2)
    await closed(late)
    await waitFor(() => server.connections === 1)
    tick(MINUTE_MS / 2)
    await closed(second)
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

describe('A connection that has signed in', () => {
  it('that takes no output of its command ends like one over HTTP, although it stays open', async () => {
    const { impatient, key, path, wanted } = await idleAfter(1000)
    const { client, stream } = await fetching(impatient.port, key, path)
    stream.write(`0032want ${wanted}\n00000009done\n`)
    await waitFor(() => impatient.commands.some(({ command }) => command === 'git-upload-pack'))
    assert.equal(impatient.commands.at(-1)!.exitCode, 1)
    assert.equal(impatient.allot.sshServer!.connections, 1)
    client.end()
  })
})

describe('A push', () => {
  it('that breaks off leaves a sound repository, which is counted', async () => {
    const path = await allot.repository(alice, 'broken')
    const body = await pushBody(await aCheckout({ large: randomBytes(2_000_000) }), 'main')
    const push = holdSsh(allot.port, aliceKey, `git-receive-pack ${path}`)
    await push.begun
    push.child.stdin.write(body.subarray(0, body.length / 2))
    await waitFor(() => push.child.stdin.writableLength === 0)
    push.child.kill('SIGKILL')
    await waitFor(() =>
      allot.commands.some(({ repository, exitCode }) => repository === path && exitCode === 1),
    )
    await allot.assertCounted('alice')
    await gitWith(aliceKey, await aCheckout(), 'push', '--quiet', allot.url(path), 'main')
    await allot.assertCounted('alice')
  })

  it('ends when the client leaves while git still ends the list of references', async () => {
    const slow = wrappedGit('case "$*" in *--advertise-refs*) trap "" TERM; git "$@"; sleep 2; exit;; esac')
    const other = await startSsh({ repositories: { directory: temporaryDirectory(), git: slow } })
    const ada = await other.person('ada')
    const push = holdSsh(
      other.port,
      await other.key(ada),
      `git-receive-pack ${await other.repository(ada, 'left')}`,
    )
    await push.begun
    push.child.kill('SIGKILL')
    await waitFor(() => other.commands.some(({ exitCode }) => exitCode === 1))
  })

  it('may begin late, as after a hook of its user, and ends when it stops before its commands are complete', async () => {
    const lines: string[] = []
    const log = { error: (_: object, text: string) => void lines.push(text), info: () => undefined }
    const impatient = await startSsh({ git: { idleTimeout: 500 }, log })
    const ada = await impatient.person('ada')
    const key = await impatient.key(ada)
    const path = await impatient.repository(ada, 'late')
    const pushing = async () => {
      const push = holdSsh(impatient.port, key, `git-receive-pack ${path}`)
      await push.begun
      await pause(700)
      return push
    }
    const [malformed, stopped] = await Promise.all([pushing(), pushing()])
    malformed.child.stdin.end('000adelete0000')
    stopped.child.stdin.write('00')
    assert.match((await malformed.ended).err, /ERROR: the push has a command that is not well-formed/)
    assert.match((await stopped.ended).err, /ERROR: no data of the request arrived for 0\.5 seconds/)
    assert.deepEqual(lines, [])
  })

  it('that takes longer than a command may is told so', async () => {
    const impatient = await startSsh({ git: { timeout: 200 } })
    const ada = await impatient.person('ada')
    const push = holdSsh(
      impatient.port,
      await impatient.key(ada),
      `git-receive-pack ${await impatient.repository(ada, 'long')}`,
    )
    assert.match((await push.ended).err, /ERROR: the command took more than 0\.2 seconds/)
  })

  it('without commands occupies no git process', async () => {
    const held = Array.from({ length: 4 }, () => holdSsh(allot.port, aliceKey, 'git-receive-pack alice/demo'))
    await Promise.all(held.map(({ begun }) => begun))
    assert.equal((await ssh(allot.port, aliceKey, [FETCH])).code, 0)
    for (const { child } of held) child.stdin.end('0000')
    for (const { code } of await Promise.all(held.map(({ ended }) => ended))) assert.equal(code, 0)
  })

  it('that has sent nothing is told at once that the server stops', async () => {
    const other = await startSsh({ git: { idleTimeout: 60_000 } })
    const ada = await other.person('ada')
    const path = await other.repository(ada, 'waiting')
    const push = holdSsh(other.port, await other.key(ada), `git-receive-pack ${path}`)
    await push.begun
    const begun = performance.now()
    await other.allot.sshServer!.close()
    assert.ok(performance.now() - begun < 30_000)
    assert.match((await push.ended).err, /ERROR: the server is stopping/)
  })

  it('in progress ends before the server closes, and no command begins then', async () => {
    const other = await startSsh()
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
  })
})
