import assert from 'node:assert/strict'
import type { Socket } from 'node:net'
import { Duplex, PassThrough } from 'node:stream'
import { describe, it } from 'node:test'
import { CommandChannel } from '../../lib/ssh/channel.ts'

/**
 * A channel without a connection.
 * @param traffic of the connection, in bytes
 * @param write called with output; the client has room for more once it calls back
 */
const channelOf = ({
  traffic = () => 0,
  write = (sent: () => void) => sent(),
}: {
  traffic?: () => number
  write?: (sent: () => void) => void
}) => {
  const stream = new Duplex({ read: () => undefined, write: (_chunk, _encoding, sent) => write(sent) })
  const session = Object.assign(stream, {
    stderr: new PassThrough(),
    exit: () => undefined,
    close: () => undefined,
  })
  const send = (...texts: string[]) => {
    for (const text of [...texts, null]) stream.push(text)
  }
  const ending = new AbortController()
  const connection = {
    socket: { writableLength: 0 } as Socket,
    traffic,
    ping: () => undefined,
    closing: new AbortController().signal,
  }
  return { send, ending, channel: new CommandChannel(session, connection, ending, 40) }
}

describe('The input of a command', () => {
  it('fails beyond its limit', async () => {
    const { send, channel } = channelOf({})
    channel.limitInput(10, 'a fetch must not send more than 10 bytes')
    send('0123456789', 'x')
    await assert.rejects(channel.input.toArray(), { message: 'a fetch must not send more than 10 bytes' })
  })

  it('is complete up to its limit', async () => {
    const { send, channel } = channelOf({})
    channel.limitInput(10, 'too much')
    send('0123456789')
    assert.equal(Buffer.concat(await channel.input.toArray()).toString(), '0123456789')
  })
})

describe('Output of a command', () => {
  it('ends the command when the connection has no traffic while it waits', async () => {
    const { channel, ending } = channelOf({ write: () => undefined })
    await assert.rejects(channel.sendText('output'), { name: 'AbortError' })
    assert.equal(ending.signal.aborted, true)
  })

  it('may wait for longer than that while the connection has traffic', async () => {
    let looks = 0
    let makeRoom = () => undefined as unknown
    const { channel, ending } = channelOf({
      // It is looked at four times in the idle timeout.
      traffic: () => {
        if (++looks === 12) makeRoom()
        return looks
      },
      write: (sent) => {
        makeRoom = sent
      },
    })
    await channel.sendText('output')
    assert.equal(ending.signal.aborted, false)
  })
})
