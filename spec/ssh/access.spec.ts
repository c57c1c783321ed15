import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { before, describe, it } from 'node:test'
import ssh2, { type ParsedKey, type PublicKeyAuthMethod } from 'ssh2'
import { aCheckout, attempt } from '../git/client.ts'
import { securityKeys } from '../keys/ssh-lines.ts'
import { temporaryDirectory } from '../support/folder.ts'
import { madeBefore, peopleBefore } from '../support/test-server.ts'
import { gitWith, keyPair, ssh, sshEnvironment, startSsh } from './client.ts'

let [aliceKey, bobKey, rootKey] = ['', '', '']
let checkout: string
const allot = madeBefore(() => startSsh())
const [alice] = peopleBefore(allot, 'alice')
before(async () => {
  const bob = await allot.person('bob')
  aliceKey = await allot.key(alice)
  bobKey = await allot.key(bob)
  rootKey = await allot.key(allot.root)
  checkout = await aCheckout()
  for (const name of ['public', 'private', 'archived'])
    await gitWith(
      aliceKey,
      checkout,
      ...[
        'push',
        '--quiet',
        allot.url(await allot.repository(alice, name, { private: name === 'private' })),
        'main',
      ],
    )
})

const list = (key: string, path: string) => attempt('/', ['ls-remote', allot.url(path)], sshEnvironment(key))
const push = (key: string, path: string) =>
  attempt(checkout, ['push', allot.url(path), 'main:other'], sshEnvironment(key))

describe('A client', () => {
  it('with a key that no account has is refused', async () => {
    const { code, err } = await list(keyPair().file, 'alice/public')
    assert.equal(code, 128)
    assert.match(err, /^git@127\.0\.0\.1: Permission denied \(publickey\)\./)
  })

  it('with a security key, which cannot sign in, is refused before its user is asked to touch it', async () => {
    for (const [index, key] of securityKeys.entries()) {
      await allot.allot.sshKeys.add(alice.id, { title: `security key ${index}`, key })
      // The client has the public key alone: it offers the key, and would need the device to sign.
      const file = join(temporaryDirectory(), 'key')
      writeFileSync(file, `${key}\n`, { mode: 0o600 })
      const { code, err } = await ssh(allot.port, file, [], '-v')
      assert.equal(code, 255, err)
      assert.match(err, /Offering public key: .*-SK /)
      assert.doesNotMatch(err, /Server accepts key/)
    }
  })

  it('with a signature by SHA-1 is refused, also when the client calls its RSA key by another name', async () => {
    const file = await allot.key(alice, 'rsa', 2048)
    const signIn = async (type: string) => {
      const key = ssh2.utils.parseKey(readFileSync(file)) as ParsedKey
      const client = new ssh2.Client()
      const method: PublicKeyAuthMethod = {
        ...{ type: 'publickey', username: 'git' },
        key: Object.assign(key, { type }),
      }
      client.connect({
        ...{ port: allot.port, host: '127.0.0.1', username: 'git' },
        authHandler: [method],
      })
      const event = new Promise((resolve) => client.on('ready', () => resolve('ready')).on('error', resolve))
      const result = await event
      client.end()
      return result
    }
    assert.equal(await signIn('ssh-rsa'), 'ready')
    assert.match(String(await signIn('ssh-ed25519')), /All configured authentication methods failed/)
  })

  it('with another user name than git is refused', async () => {
    const { code, err } = await ssh(allot.port, aliceKey, [], '-l', 'alice')
    assert.equal(code, 255)
    assert.match(err, /Permission denied \(publickey\)/)
  })

  it('cannot tell a private repository of another user from one that does not exist', async () => {
    const texts = []
    for (const path of ['alice/private', 'alice/absent', 'absent/private']) {
      const { code, err } = await list(bobKey, path)
      assert.equal(code, 128)
      assert.match(err, /Could not read from remote repository[\s\S]*correct access rights/)
      texts.push(err.replaceAll(path, 'PATH'))
    }
    assert.match(texts[0]!, /^ERROR: Repository not found: PATH\n/)
    assert.deepEqual(new Set(texts).size, 1)
  })

  it('reads what its account may read, and pushes where it may push', async () => {
    for (const [key, path, reads, pushes] of [
      [aliceKey, 'alice/private', true, true],
      [bobKey, 'alice/public', true, 'bob may not push to this repository'],
      [bobKey, 'alice/private', false, 'Repository not found'],
      [rootKey, 'alice/private', true, true],
    ] as const) {
      assert.equal((await list(key, path)).code === 0, reads, path)
      const { code, err } = await push(key, path)
      if (pushes === true) assert.equal(code, 0, err)
      else assert.match(err, new RegExp(`^ERROR: ${pushes}`))
    }
  })

  it('with a read-only key fetches and downloads, and does not push or upload', async () => {
    const { file, key } = keyPair()
    const { status } = await allot.as(alice, 'POST', '/user/keys', { title: 'reads', key, read_only: true })
    assert.equal(status, 201)
    assert.equal((await list(file, 'alice/private')).code, 0)
    assert.match((await push(file, 'alice/private')).err, /^ERROR: .* required scope.*write:repository/)
    const lfs = (operation: string) =>
      ssh(allot.port, file, ['git-lfs-authenticate', 'alice/private', operation])
    assert.equal((await lfs('download')).code, 0)
    assert.match((await lfs('upload')).err, /^ERROR: .* required scope.*write:repository/)
  })

  it('reads an archived repository, and cannot push to it', async () => {
    await allot.as(alice, 'PATCH', '/repos/alice/archived', { archived: true })
    assert.equal((await list(aliceKey, 'alice/archived')).code, 0)
    assert.match((await push(aliceKey, 'alice/archived')).err, /^ERROR: this repository is archived/)
  })

  it('reaches a renamed repository at its old name, with a note', async () => {
    await allot.repository(alice, 'before')
    await allot.as(alice, 'PATCH', '/repos/alice/before', { name: 'after' })
    const { code, err } = await push(aliceKey, 'alice/before')
    assert.equal(code, 0, err)
    assert.match(err, /This repository is now alice\/after: change the URL of the remote\./)
    assert.match((await list(bobKey, 'alice/before')).err, /This repository is now alice\/after/)
    await allot.as(alice, 'PATCH', '/repos/alice/after', { private: true })
    assert.match((await list(bobKey, 'alice/before')).err, /^ERROR: Repository not found: alice\/before/)
  })

  it('loses access with its key, its account or its rights, on an open connection too', async () => {
    const carol = await allot.person('carol')
    const pair = keyPair()
    const key = await allot.allot.sshKeys.add(carol.id, { title: 'one', key: pair.key })
    const socket = join(temporaryDirectory(), 'socket')
    const shared = ['-o', 'ControlMaster=auto', '-o', `ControlPath=${socket}`, '-o', 'ControlPersist=20']
    const run = () =>
      ssh(allot.port, pair.file, ['git-lfs-authenticate', 'alice/public', 'download'], ...shared)
    assert.equal((await run()).code, 0)
    await allot.as(allot.root, 'PATCH', '/admin/users/carol', { active: false })
    assert.deepEqual(await run(), {
      code: 1,
      out: '',
      err: 'ERROR: this account is not allowed to sign in\n',
    })
    await allot.as(allot.root, 'PATCH', '/admin/users/carol', { active: true })
    await allot.allot.sshKeys.remove(carol.id, key.id)
    assert.deepEqual(await run(), { code: 1, out: '', err: 'ERROR: this SSH key was removed\n' })
    await ssh(allot.port, pair.file, [], ...shared, '-O', 'exit')
  })

  it('has no rights of an administrator by a request that the host gave them to', async () => {
    const host = await startSsh({
      authenticate: ({ headers }) => ({
        id: String(headers['x-user']),
        admin: headers['x-user'] === 'boss',
      }),
    })
    const send = (user: string, method: string, path: string, body?: object) =>
      host.request(method, path, { headers: { 'x-user': user }, body })
    const path = { name: 'hidden', private: true }
    assert.equal((await send('owner', 'POST', '/user/repos', path)).status, 201)
    assert.equal((await send('boss', 'GET', '/repos/owner/hidden')).status, 200)
    const { file, key } = keyPair()
    assert.equal((await send('boss', 'POST', '/user/keys', { title: 'one', key })).status, 201)
    const command = ['git-lfs-authenticate', 'owner/hidden', 'download']
    assert.match((await ssh(host.port, file, command)).err, /Repository not found/)
  })

  it('signs in as the account that added its key first', async () => {
    const dave = await allot.person('dave')
    await allot.as(dave, 'PATCH', '/user/settings', { visibility: 'private' })
    await allot.as(allot.root, 'PATCH', '/admin/users/dave', { visibility: 'private' })
    const erin = await allot.person('erin')
    const pair = keyPair()
    await allot.allot.sshKeys.add(dave.id, { title: 'one', key: pair.key })
    await allot.allot.sshKeys.add(erin.id, { title: 'one', key: pair.key })
    assert.match((await ssh(allot.port, pair.file)).out, /^Hello dave!/)
    await allot.allot.accounts.remove(dave.id)
    assert.match((await ssh(allot.port, pair.file)).out, /^Hello erin!/)
  })
})

describe('A session', () => {
  it('without a command gets a greeting', async () => {
    const greeting =
      'Hello alice! You are signed in with the key "key 1". This server has no shell: use it with git.\n'
    for (const more of [[], ['-tt']])
      assert.deepEqual(await ssh(allot.port, aliceKey, [], ...more), { code: 0, out: greeting, err: '' })
  })

  const refused: [command: string, message: RegExp][] = [
    ['ls -l', /runs only git-upload-pack, git-receive-pack, git-lfs-authenticate/],
    ['git-upload-archive alice/public', /runs only/],
    ['git-upload-pack alice/public; id', /runs no other|expected a repository|Repository not found/],
    ['$(id)', /runs only/],
    ["git-upload-pack 'alice/public", /runs only/],
    ['git-upload-pack', /git-upload-pack: expected a repository, such as 'owner\/name.git'/],
    ["git-upload-pack ''", /expected a repository/],
    ['git-upload-pack /etc/passwd/x', /expected a repository/],
    ["git-upload-pack '../../etc/passwd'", /expected a repository/],
    ["git-upload-pack '../public'", /Repository not found/],
    ['git-upload-pack --strict alice/public', /expected a repository/],
    [`git-upload-pack alice/${'x'.repeat(300)}`, /Repository not found/],
    ['git-lfs-authenticate alice/public delete', /expected the operation download or upload/],
  ]
  for (const [command, message] of refused)
    it(`refuses ${command.slice(0, 40)}`, async () => {
      const { code, out, err } = await ssh(allot.port, bobKey, [command])
      assert.deepEqual([code, out], [1, ''])
      assert.match(err, /^ERROR: .*\n$/)
      assert.match(err, message)
    })

  it('runs the commands that the documents name', async () => {
    const { err } = await ssh(allot.port, bobKey, ['ls'])
    const commands = /runs only (.*)\n/.exec(err)![1]!.split(', ')
    assert.ok(commands.includes('git-receive-pack'), err)
    for (const file of ['SECURITY.md', 'docs/git-lfs-packages.md']) {
      const text = readFileSync(new URL(`../../${file}`, import.meta.url), 'utf8')
      for (const command of commands) assert.ok(text.includes(`\`${command}\``), `${file}: ${command}`)
    }
  })

  it('takes the path as clients write it', async () => {
    for (const command of [
      'git-upload-pack alice/public',
      "git-upload-pack '/alice/public.git'",
      'git upload-pack "ALICE/Public.git/"',
    ])
      assert.match((await ssh(allot.port, bobKey, [command])).out, /refs\/heads\/main/)
  })

  it('has no SFTP and no forwarding', async () => {
    const { port } = new URL(allot.base)
    const sftp = await ssh(allot.port, aliceKey, ['sftp'], '-s')
    assert.notEqual(sftp.code, 0)
    assert.match(sftp.err, /subsystem request failed/)
    const forwarded = await ssh(allot.port, aliceKey, [], '-W', `127.0.0.1:${port}`)
    assert.match(forwarded.err, /stdio forwarding failed/)
    const listening = await ssh(
      allot.port,
      aliceKey,
      [],
      ...['-o', 'ExitOnForwardFailure=yes', '-R', '0:127.0.0.1:1'],
    )
    assert.match(listening.err, /remote port forwarding failed/)
  })
})
