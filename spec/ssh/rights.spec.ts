import assert from 'node:assert/strict'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { before, describe, it, mock } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import ssh2, { type ClientChannel } from 'ssh2'
import { pktLine } from '../../lib/git/pkt-lines.ts'
import { aCheckout, attempt, commit, git } from '../git/client.ts'
import { atEnd } from '../support/cleanup.ts'
import type { Person } from '../support/test-server.ts'
import { waitFor } from '../support/wait-for.ts'
import { gitWith, keyPair, type ServedSsh, sshEnvironment, startSsh } from './client.ts'

let allot: ServedSsh
let alice: Person
let aliceKey: string
let checkout: string
before(async () => {
  mock.timers.enable({ apis: ['setInterval'] })
  atEnd(() => mock.timers.reset())
  allot = await startSsh()
  alice = await allot.person('alice')
  aliceKey = await allot.key(alice)
  checkout = await aCheckout()
})

const change: typeof allot.done = (...sent) => allot.done(...sent)

/** Someone who may push to a new private repository with one commit, with an SSH key. */
const aGuest = async () => {
  const guest = await allot.person()
  const { file, key } = keyPair()
  const { id } = await allot.allot.sshKeys.add(guest.id, { title: 'spec', key })
  const path = await allot.repository(alice, `of-${guest.name}`, { private: true })
  await change(alice, 'PUT', `/repos/${path}/collaborators/${guest.name}`, { permission: 'write' })
  await gitWith(aliceKey, checkout, 'push', '--quiet', allot.url(path), 'main')
  return { guest, path, file, keyId: id }
}
type Guest = Awaited<ReturnType<typeof aGuest>>

/** Signs in with the library as client, and starts a command. */
const running = async ({ file, path }: Guest, program: string, protocol = '2') => {
  const client = new ssh2.Client()
  client.on('error', () => undefined)
  client.connect({ port: allot.port, host: '127.0.0.1', username: 'git', privateKey: readFileSync(file) })
  await once(client, 'ready')
  const env = { GIT_PROTOCOL: `version=${protocol}` }
  const stream = await new Promise<ClientChannel>((resolve, reject) =>
    client.exec(`${program} ${path}`, { env }, (error, opened) => (error ? reject(error) : resolve(opened))),
  )
  const told = { out: '', err: '', isEnded: false }
  stream.on('data', (chunk: Buffer) => {
    told.out += chunk.toString('latin1')
  })
  stream.stderr.on('data', (chunk: Buffer) => {
    told.err += chunk
  })
  stream.on('close', () => {
    told.isEnded = true
    client.end()
  })
  await waitFor(() => told.out.endsWith('0000'))
  return { stream, told }
}

const LS_REFS = `${pktLine('command=ls-refs\n')}0001${pktLine('ref-prefix refs/heads/\n')}0000`

const LOSSES: [what: string, message: RegExp, lose: (guest: Guest) => Promise<void>][] = [
  [
    'its account is disabled',
    /not allowed to sign in/,
    ({ guest }) => change(allot.root, 'PATCH', `/admin/users/${guest.name}`, { active: false }),
  ],
  [
    'its key is removed',
    /this SSH key was removed/,
    ({ guest, keyId }) => change(guest, 'DELETE', `/user/keys/${keyId}`),
  ],
  [
    'its user may not read the repository any more',
    /you may not read it any more/,
    ({ guest, path }) => change(alice, 'DELETE', `/repos/${path}/collaborators/${guest.name}`),
  ],
]

describe('A session of version 2 of the protocol', () => {
  for (const [loss, message, lose] of LOSSES)
    it(`answers no further command after ${loss}`, async () => {
      const guest = await aGuest()
      const { stream, told } = await running(guest, 'git-upload-pack')
      stream.write(LS_REFS)
      await waitFor(() => told.out.includes('refs/heads/main'))
      await lose(guest)
      const work = await aCheckout()
      const id = await commit(work, { secret: loss })
      await gitWith(aliceKey, work, 'push', '--quiet', '--force', allot.url(guest.path), 'main:secret')
      stream.write(LS_REFS)
      await waitFor(() => told.isEnded)
      assert.match(told.err, /^ERROR: /)
      assert.match(told.err, message)
      assert.ok(!told.out.includes(id))
    })

  it('answers each command of several, also when they arrive in pieces', async () => {
    const guest = await aGuest()
    const { stream, told } = await running(guest, 'git-upload-pack')
    for (const byte of LS_REFS + LS_REFS) stream.write(byte)
    await waitFor(() => told.out.split('refs/heads/main').length === 3)
    await change(alice, 'PATCH', `/repos/${guest.path}`, { name: `renamed-${guest.guest.name}` })
    stream.write(LS_REFS)
    await waitFor(() => told.out.split('refs/heads/main').length === 4)
    stream.end('0000')
    await waitFor(() => told.isEnded)
    assert.equal(told.err, '')
  })
})

describe('A command that waits for its client', () => {
  for (const [program, protocol] of [
    ['git-upload-pack', '0'],
    ['git-upload-pack', '2'],
    ['git-receive-pack', '0'],
  ] as const)
    for (const [loss, message, lose] of LOSSES)
      it(`ends within a minute after ${loss}: ${program}, version ${protocol}`, async () => {
        const guest = await aGuest()
        const { told } = await running(guest, program, protocol)
        for (let minute = 0; minute < 5; minute++) {
          mock.timers.tick(60_000)
          await sleep(20)
        }
        assert.equal(told.isEnded, false)
        await lose(guest)
        await waitFor(() => {
          mock.timers.tick(60_000)
          return told.isEnded
        })
        assert.match(told.err, message)
      })
})

it('A push whose user loses the right while its pre-push hook runs is refused', async () => {
  const guest = await aGuest()
  const { stream, told } = await running(guest, 'git-receive-pack', '0')
  await change(alice, 'PUT', `/repos/${guest.path}/collaborators/${guest.guest.name}`, { permission: 'read' })
  const id = await git(checkout, 'rev-parse', 'main')
  stream.write(`${pktLine(`${'0'.repeat(40)} ${id} refs/heads/other\0report-status`)}0000`)
  await waitFor(() => told.isEnded)
  assert.match(told.err, /^ERROR: .* may not push to this repository/)
  const { out } = await attempt('/', ['ls-remote', allot.url(guest.path)], sshEnvironment(aliceKey))
  assert.doesNotMatch(out, /refs\/heads\/other/)
})
