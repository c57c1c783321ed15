import assert from 'node:assert/strict'
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { Authority } from '../support/certificates.ts'
import { temporaryDirectory } from '../support/folder.ts'
import { diagnose, UNUSED } from './diagnose.ts'
import { allot } from './in-process.ts'
import { served } from './program.ts'

describe('allot doctor', () => {
  it('prints a line for each check, and exits with 0 when none has failed', async () => {
    const data = join(temporaryDirectory(), 'data')
    const { code, out } = await allot(['doctor', '--data', data])
    assert.equal(code, 0, out)
    assert.match(out, /^ok {7}git {12}\d+\.\d+/m)
    assert.match(out, /^ok {7}data folder {4}.* does not exist yet: allot serve creates it \(.* free\)$/m)
    for (const check of ['store', 'open files', 'proxies', 'server'])
      assert.match(out, new RegExp(`^(ok|warning) +${check} `, 'm'))
  })

  it('finds that a running server has the store, and asks its health check', async () => {
    const data = temporaryDirectory()
    const server = await served(['--data', data])
    const running = await diagnose('', '--data', data, '--url', server.api)
    assert.match(running.of('store')[0]!.message, /is in use by another process \(pid \d+\)/)
    assert.deepEqual(
      running.of('server').map(({ status }) => status),
      ['ok'],
    )
    assert.equal(running.code, 0)
    await server.stop()
    const { code, of } = await diagnose('', '--url', server.api)
    assert.deepEqual([code, of('server')[0]!.status], [1, 'failed'])
  })

  const fake = (text: string) => {
    const file = join(temporaryDirectory(), 'git')
    writeFileSync(file, `#!/bin/sh\necho '${text}'\n`)
    chmodSync(file, 0o755)
    return `${UNUSED}[repositories]\ngit = "${file}"\n`
  }
  const authority = new Authority()
  const tls = (days: number[], names = 'DNS:git.example.org') => {
    const { certificate, key } = authority.issue({ days, names })
    return `${UNUSED}tls_certificate = "${certificate}"\ntls_key = "${key}"\n[api]\nbase_url = "https://git.example.org"\n`
  }
  for (const [what, toml, check, status, message] of [
    [
      'a git that is missing',
      `${UNUSED}[repositories]\ngit = "/no/git"\n`,
      'git',
      'failed',
      /is not found: install git/,
    ],
    [
      'an old git',
      fake('git version 2.36.6'),
      'git',
      'failed',
      /2\.36\.6 is too old: install git 2\.37 or later/,
    ],
    [
      'a low limit of open files',
      `${UNUSED}max_connections = 1000000\n[git]\nmax_concurrent = 10000\n`,
      'open files',
      'warning',
      /need 1040300: raise it/,
    ],
    [
      'an uncounted proxy',
      `${UNUSED}[api]\nbase_url = "https://git.example.org"\n`,
      'proxies',
      'warning',
      /set trusted_proxies/,
    ],
    [
      'a proxy without a public URL',
      `${UNUSED}[api]\ntrusted_proxies = 1\n`,
      'proxies',
      'warning',
      /set base_url/,
    ],
    [
      'passwords in the clear',
      '[server]\nhost = "0.0.0.0"\nport = 1\n',
      'proxies',
      'warning',
      /in the clear/,
    ],
    ['a certificate that is right', tls([-1, 89]), 'certificate', 'ok', /^expires on \d{4}-/],
    ['a certificate that expires soon', tls([-85, 5]), 'certificate', 'warning', /^expires on .*: renew it$/],
    ['a short certificate that expires soon', tls([-1, 2]), 'certificate', 'warning', /: renew it$/],
    ['an expired certificate', tls([-9, -2]), 'certificate', 'failed', /has expired on/],
    [
      'a certificate of another name',
      tls([-1, 89], 'DNS:x.test'),
      'certificate',
      'failed',
      /not for git\.example\.org/,
    ],
    [
      'a certificate without a key',
      `${UNUSED}tls_certificate = "/x"\n`,
      'certificate',
      'failed',
      /also needs the private key/,
    ],
  ] as const)
    it(`reports ${what}`, async () => {
      const { code, of } = await diagnose(toml)
      const [found] = of(check)
      assert.deepEqual([found?.status, code], [status, status === 'failed' ? 1 : 0], found?.message)
      assert.match(found!.message, message)
    })

  it('reports a data folder that others can open, and one that holds something else', async () => {
    const folder = temporaryDirectory()
    chmodSync(folder, 0o755)
    const { of } = await diagnose(UNUSED, '--data', folder, '--storage', 'memory:')
    assert.match(of('data folder')[0]!.message, /^other users can open .*: run chmod 700/)
    writeFileSync(join(folder, 'file'), '')
    const foreign = await diagnose(UNUSED, '--data', folder)
    assert.equal(foreign.code, 1)
    assert.match(foreign.of('configuration')[0]!.message, /holds other files/)
  })

  it('checks the folders that are configured apart from the data folder', async () => {
    const folder = temporaryDirectory()
    const file = join(folder, 'file')
    writeFileSync(file, '')
    const open = join(folder, 'open')
    mkdirSync(open)
    chmodSync(open, 0o755)
    const toml = `${UNUSED}[repositories]\ndirectory = "${file}"\n[files]\ndirectory = "${open}"\n`
    const { code, of } = await diagnose(toml)
    assert.deepEqual(of('repositories'), [
      {
        check: 'repositories',
        status: 'failed',
        message: `${file} is not a folder: name another with directory under [repositories]`,
      },
    ])
    assert.match(of('files')[0]!.message, /^other users can open .*open: run chmod 700/)
    assert.equal(code, 1)
    const together = await diagnose(UNUSED)
    assert.deepEqual([together.of('repositories'), together.of('files')], [[], []])
  })

  it('reports a database that cannot be reached, without its password', async () => {
    const { code, of } = await diagnose(UNUSED, '--storage', 'postgres://me:secret@127.0.0.1:1/gone')
    assert.deepEqual([code, of('database')[0]!.status], [1, 'failed'])
    assert.doesNotMatch(of('database')[0]!.message, /secret/)
  })
})
