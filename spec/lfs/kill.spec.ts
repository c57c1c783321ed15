import assert from 'node:assert/strict'
import { readdirSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { allot, type Served, served } from '../bin/program.ts'
import { temporaryDirectory } from '../support/folder.ts'
import { waitFor } from '../support/wait-for.ts'
import { aContent, type Content } from './served.ts'

const filesIn = (data: string, folder: string): string[] => {
  try {
    return readdirSync(join(data, 'files', folder), { recursive: true, withFileTypes: true })
      .filter((one) => one.isFile())
      .map(({ name }) => name)
  } catch {
    return []
  }
}

const send = (server: Served, token: string, { oid, size, bytes }: Content) =>
  fetch(`${new URL(server.api).origin}/root/demo.git/info/lfs/objects/${oid}/${size}`, {
    method: 'PUT',
    headers: { authorization: `token ${token}` },
    body: bytes as unknown as string,
  }).then(({ status }) => status)

/** An upload that stops in the middle, and how it is released. */
const halfSent = async (server: Served, token: string, { oid, size, bytes }: Content) => {
  const socket = connect(Number(new URL(server.api).port), '127.0.0.1')
  socket.on('error', () => undefined)
  socket.write(
    `PUT /root/demo.git/info/lfs/objects/${oid}/${size} HTTP/1.1\r\nHost: a\r\nAuthorization: token ${token}\r\nContent-Length: ${size}\r\n\r\n`,
  )
  socket.write(bytes.subarray(0, size / 2))
  return () => socket.destroy()
}

describe('A server that is killed during uploads of LFS objects', () => {
  it('has lost no acknowledged object, and keeps and counts no other', async () => {
    const data = temporaryDirectory()
    const first = await served(['--data', data])
    await waitFor(() => /^ {2}[0-9a-f]{40}$/m.test(first.printed()))
    const [, token] = /^ {2}([0-9a-f]{40})$/m.exec(first.printed()) as unknown as [string, string]
    const headers = { authorization: `token ${token}`, 'content-type': 'application/json' }
    await fetch(`${first.api}/user/repos`, { method: 'POST', headers, body: '{"name":"demo"}' })

    const half = await halfSent(first, token, aContent(200_000))
    await waitFor(() => filesIn(data, 'arriving').length === 1)
    const contents = Array.from({ length: 30 }, () => aContent(20_000))
    const answered: Content[] = []
    const sending = contents.map((content) =>
      send(first, token, content).then(
        (status) => void (status === 200 && answered.push(content)),
        () => undefined,
      ),
    )
    await waitFor(() => answered.length >= 5)
    await first.stop('SIGKILL')
    await Promise.all(sending)
    half()

    const again = await served(['--data', data])
    assert.deepEqual(filesIn(data, 'arriving'), [])
    const kept = filesIn(data, 'lfs').map((name) => name.slice(0, 64))
    for (const { oid } of answered) assert.ok(kept.includes(oid), 'what was answered is there')
    const { used } = (await (await fetch(`${again.api}/user/quota`, { headers })).json()) as {
      used: { size: { git: { LFS: number } } }
    }
    assert.equal(used.size.git.LFS, kept.length * 20_000)
    for (const content of contents) assert.equal(await send(again, token, content), 200)
    await again.stop()
    const { code, out } = await allot(['verify', '--data', data])
    assert.equal(code, 0, out)
    assert.equal(filesIn(data, 'lfs').length, 30)
  })
})
