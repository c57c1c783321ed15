import assert from 'node:assert/strict'
import { createHook } from 'node:async_hooks'
import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { memory } from '../../drivers/memory/index.ts'
import { type AllotOptions, createAllot } from '../../lib/index.ts'
import { newHostKey } from '../../lib/ssh/host-keys.ts'
import { loadSsh2, readHostKeys } from '../../lib/ssh/index.ts'
import { temporaryDirectory } from '../support/folder.ts'
import { keyPair } from './client.ts'

const open = (options: Partial<AllotOptions>) =>
  createAllot({ driver: memory(), log: { error: () => undefined, info: () => undefined }, ...options })

const textFile = (text: string): string => {
  const file = join(temporaryDirectory(), 'file')
  writeFileSync(file, text)
  return file
}

describe('Host keys', () => {
  it('are the same for processes that start at the same time with the same repositories', async () => {
    const ssh2 = await loadSsh2()
    const repositories = join(temporaryDirectory(), 'repositories')
    const place = { file: undefined, repositories }
    const [first, ...others] = await Promise.all(Array.from({ length: 8 }, () => readHostKeys(ssh2, place)))
    for (const other of [...others, await readHostKeys(ssh2, place)]) assert.deepEqual(other, first)
    const folder = join(repositories, 'ssh')
    assert.deepEqual(readdirSync(folder).sort(), ['host_ecdsa', 'host_ed25519'])
    for (const name of readdirSync(folder)) assert.equal(statSync(join(folder, name)).mode & 0o777, 0o600)
  })

  const refused: [what: string, file: () => string, message: RegExp][] = [
    ['does not exist', () => '/nowhere/key', /^the SSH host key \/nowhere\/key cannot be read: ENOENT/],
    [
      'is public',
      () => textFile(keyPair().key),
      /is not a private SSH key without a passphrase \(it is a public key\): make one with ssh-keygen/,
    ],
    [
      'is not a key',
      () => textFile('secret'),
      /is not a private SSH key without a passphrase \((?!.*secret)/,
    ],
  ]
  for (const [what, file, message] of refused)
    it(`are refused at the start when the file ${what}`, async () => {
      const ssh = { port: 2222, hostKey: file() }
      const timers = new Set<number>()
      const hook = createHook({
        init: (id, type) => void (type === 'Timeout' && timers.add(id)),
        destroy: (id) => void timers.delete(id),
      }).enable()
      await assert.rejects(open({ repositories: { directory: temporaryDirectory() }, ssh }), {
        code: 'misconfigured',
        message,
      })
      await new Promise(setImmediate)
      hook.disable()
      assert.equal(timers.size, 0, 'a start that fails leaves no timer')
    })

  it('are refused at the start in a folder that cannot be created', async () => {
    const made = readHostKeys(await loadSsh2(), { file: undefined, repositories: '/proc/none/data' })
    await assert.rejects(made, / mkdir '\/proc/)
  })

  it('that are made can be read, each of them', async () => {
    const ssh2 = await loadSsh2()
    for (let times = 0; times < 1000; times++)
      assert.ok(!(ssh2.utils.parseKey(newHostKey(ssh2, 'ed25519')) instanceof Error))
  })

  it('of the operator replace those that are made', async () => {
    const directory = temporaryDirectory()
    const { file } = keyPair('rsa', 2048)
    const allot = await open({ repositories: { directory }, ssh: { port: 2222, hostKey: file } })
    assert.deepEqual(readdirSync(directory), [])
    assert.deepEqual(await readHostKeys(await loadSsh2(), { file, repositories: directory }), [
      readFileSync(file, 'utf8'),
    ])
    await allot.close()
  })
})

describe('ssh_url', () => {
  const urls: [options: object, url: string][] = [
    [{}, ''],
    [{ port: 22 }, 'git@code.example.org:alice/app.git'],
    [{ port: 2222 }, 'ssh://git@code.example.org:2222/alice/app.git'],
    [{ port: 2222, publicPort: 22, host: 'git.example.org' }, 'git@git.example.org:alice/app.git'],
    [{ port: 2222, host: '2001:db8::1' }, 'ssh://git@[2001:db8::1]:2222/alice/app.git'],
  ]
  for (const [ssh, url] of urls)
    it(`is ${JSON.stringify(url)} with ${JSON.stringify(ssh)}`, async () => {
      const allot = await open({
        repositories: { directory: temporaryDirectory() },
        baseUrl: 'https://code.example.org',
        ssh,
      })
      const alice = await allot.accounts.createUser({ name: 'alice' })
      await allot.repositories.create(alice, alice, { name: 'app' })
      const response = await allot.fetch(new Request('https://code.example.org/api/v1/repos/alice/app'))
      assert.equal(((await response.json()) as { ssh_url: string }).ssh_url, url)
      await allot.close()
    })

  it('is also for hosts that store repositories themselves, whose SSH is their own', async () => {
    const allot = await open({ repositories: false, ssh: { port: 22 } })
    assert.throws(() => allot.ssh(undefined as never), {
      code: 'misconfigured',
      message: /git over SSH is off/,
    })
    await allot.close()
  })
})
