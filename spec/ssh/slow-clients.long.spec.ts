import assert from 'node:assert/strict'
import { type AddressInfo, connect, createServer } from 'node:net'
import { describe, it } from 'node:test'
import { aCheckout } from '../git/client.ts'
import { atEnd } from '../support/cleanup.ts'
import { waitFor } from '../support/wait-for.ts'
import { gitWith, holdSsh, startSsh } from './client.ts'
import { fetching, HAVE, idleAfter, SIZE, wantOf } from './fetches.ts'

/**
 * Forwards connections to a port, and the first bytes that come back at a limited speed.
 * @returns its port
 */
const slowLine = async (
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
  atEnd(() => listener.close())
  await new Promise<void>((resolve) => listener.listen(0, '127.0.0.1', resolve))
  return (listener.address() as AddressInfo).port
}

describe('A connection that has signed in', () => {
  it('that reads slowly gets everything, although it makes room for more seldom', async () => {
    const { impatient, key, path, wanted } = await idleAfter(4000)
    // The library of the client makes room for more after 1 MiB, so for the first time in more than the
    // limit.
    const slow = { bytesPerSecond: 200 * 1024, slowBytes: 1.25 * 2 ** 20 }
    const line = await slowLine(impatient.port, slow)
    const { client, stream } = await fetching(line, key, path)
    stream.write(`0032want ${wanted}\n00000009done\n`)
    let received = 0
    for await (const chunk of stream) received += chunk.length
    client.end()
    await waitFor(() => impatient.commands.length > 0)
    assert.deepEqual([impatient.commands[0]!.exitCode, received > SIZE], [0, true])
  })

  it('may send 64 MiB for a fetch, and is refused beyond', async () => {
    const allot = await startSsh()
    const alice = await allot.person('alice')
    const key = await allot.key(alice)
    const path = await allot.repository(alice, 'demo')
    await gitWith(key, await aCheckout(), 'push', '--quiet', allot.url(path), 'main')
    const { child, begun, ended } = holdSsh(allot.port, key, `git-upload-pack ${path}`)
    child.stdin.write(wantOf(await begun))
    const haves = Buffer.from(HAVE.repeat(20_000))
    for (let sent = 0; sent <= 65 * 2 ** 20 && !child.stdin.destroyed; sent += haves.length)
      await new Promise((resolve) => child.stdin.write(haves, resolve))
    child.stdin.end()
    const { code, err } = await ended
    assert.deepEqual([code, err], [1, 'ERROR: a fetch must not send more than 67108864 bytes\n'])
  })
})
