import assert from 'node:assert/strict'
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { runSync } from '../support/child.ts'
import { temporaryDirectory } from '../support/folder.ts'
import { wrappedGit } from '../support/wrapped-git.ts'
import { aCheckout, git, urlFor } from './client.ts'
import { startGit } from './served.ts'

/** Programs that git looks for by itself, in the order of its PATH. */
const SEARCHED = ['gpg', 'gpgsm', 'ssh-keygen', 'ssh', 'less', 'more', 'vi', 'editor', 'git-credential-store']

/** Settings that name a program; each logs the name of its setting. */
const SETTINGS = [
  ...['gpg.program', 'gpg.x509.program', 'gpg.ssh.program', 'gpg.ssh.defaultKeyCommand'],
  ...['diff.external', 'diff.evil.command', 'diff.evil.textconv', 'merge.evil.driver'],
  ...['filter.evil.clean', 'filter.evil.smudge', 'filter.evil.process', 'tar.tar.gz.command'],
  ...['core.fsmonitor', 'core.pager', 'core.editor', 'core.askPass', 'core.sshCommand', 'core.gitProxy'],
  ...['core.alternateRefsCommand', 'credential.helper', 'uploadpack.packObjectsHook', 'pager.log'],
]

/** Variables that name a program. */
const VARIABLES = [
  ...['GIT_EXTERNAL_DIFF', 'GIT_PAGER', 'PAGER', 'GIT_EDITOR', 'EDITOR', 'VISUAL'],
  ...['GIT_ASKPASS', 'SSH_ASKPASS', 'GIT_SSH', 'GIT_SSH_COMMAND', 'GIT_PROXY_COMMAND'],
]

const HOOKS = ['pre-receive', 'update', 'post-receive', 'post-update', 'reference-transaction']

/** Signatures that git verifies by different programs. */
const SIGNATURES = {
  OpenPGP: 'PGP SIGNATURE',
  'X.509': 'SIGNED MESSAGE',
  SSH: 'SSH SIGNATURE',
}

const folder = temporaryDirectory()
const [programs, home, log] = [join(folder, 'programs'), join(folder, 'home'), join(folder, 'log')]
const own: Record<string, string | undefined> = {}
/** The content of the file in the archive of each commit. */
const substituted: Record<string, string> = {}

/** Writes the programs, a configuration of the user that names them, and hooks. */
const writePrograms = (): void => {
  for (const path of [programs, home, join(home, 'hooks')]) mkdirSync(path)
  const program = (path: string, name: string) =>
    writeFileSync(path, `#!/bin/sh\necho ${name} >> ${log}\nexit 1\n`, { mode: 0o755 })
  for (const name of [...SEARCHED, ...SETTINGS, ...VARIABLES]) program(join(programs, name), name)
  for (const name of HOOKS) program(join(home, 'hooks', name), name)
  const settings = SETTINGS.map((name) => {
    const [, section, , inner, key] = /^([^.]+)(\.(.*))?\.([^.]+)$/.exec(name)!
    return `[${section}${inner === undefined ? '' : ` "${inner}"`}]\n${key} = ${join(programs, name)}`
  })
  const hooks = `[core]\nhooksPath = ${join(home, 'hooks')}\n[commit]\ngpgSign = true\n[log]\nshowSignature = true`
  writeFileSync(join(home, '.gitconfig'), [...settings, hooks, ''].join('\n'))
}

/** A commit with a signature that nobody has made. */
const signed = async (checkout: string, kind: string): Promise<string> => {
  const [head, ...message] = (await git(checkout, 'cat-file', 'commit', 'HEAD')).split('\n\n')
  const signature = [`-----BEGIN ${kind}-----`, '', 'abcd', `-----END ${kind}-----`].join('\n ')
  const path = join(folder, 'commit')
  writeFileSync(path, `${head}\ngpgsig ${signature}\n\n${message.join('\n\n')}\n`)
  return git(checkout, 'hash-object', '-t', 'commit', '-w', path)
}

const FILES = {
  '.gitattributes': '* diff=evil filter=evil merge=evil\nf export-subst\n',
  '.gitmodules': '[submodule "m"]\npath = m\nurl = https://code.example.org/m\nupdate = none\n',
  f: '$Format:%G? %GS %GK$',
}

before(async () => {
  writePrograms()
  for (const name of VARIABLES) [own[name], process.env[name]] = [process.env[name], join(programs, name)]
  // A machine whose PATH begins with these programs, and whose user has configured them.
  const command = wrappedGit(
    `export HOME=${home}; case "$given" in "$PATH") given=${programs}:$given;; esac`,
    folder,
  )
  const repositories = { directory: join(folder, 'repositories'), git: command }
  const allot = await startGit({ repositories })
  const ann = await allot.person('ann')
  const path = await allot.repository(ann, 'app')
  const checkout = await aCheckout(FILES)
  const url = urlFor(allot, path, ann)
  await git(checkout, 'push', '--quiet', url, 'main')
  const get = async (rest: string) => {
    const response = await fetch(`${allot.base}/api/v1/repos/${path}${rest}`, {
      headers: { authorization: `token ${ann.token}` },
    })
    assert.equal(response.status, 200, rest)
    return Buffer.from(await response.arrayBuffer())
  }
  for (const [name, kind] of Object.entries(SIGNATURES)) {
    const id = await signed(checkout, kind)
    await git(checkout, 'push', '--quiet', url, `${id}:refs/heads/${name}`)
    for (const rest of ['archive/{}.zip', 'git/commits/{}', 'git/commits/{}.diff'])
      await get(`/${rest.replace('{}', id)}`)
    for (const rest of ['git/commits/{}.patch', 'commits?sha={}&path=f', 'contents/f?ref={}', 'raw/f?ref={}'])
      await get(`/${rest.replace('{}', id)}`)
    await get(`/compare/main...${id}`)
    writeFileSync(join(folder, 'archive.tar.gz'), await get(`/archive/${id}.tar.gz`))
    substituted[name] = runSync('tar', ['-xzOf', join(folder, 'archive.tar.gz'), '--wildcards', '*/f'])
  }
  await git(temporaryDirectory(), 'clone', '--quiet', url, '.')
})
after(() => {
  for (const [name, value] of Object.entries(own))
    if (value === undefined) delete process.env[name]
    else process.env[name] = value
})

/** The programs that have run. */
const ran = (): string[] => (existsSync(log) ? readFileSync(log, 'utf8').trim().split('\n') : [])

describe('What is pushed runs no program but git', () => {
  for (const name of [...SEARCHED, ...SETTINGS, ...VARIABLES, ...HOOKS])
    it(`not ${name}`, () => assert.ok(!ran().includes(name)))

  for (const name of Object.keys(SIGNATURES))
    it(`leaves a signature of ${name} unverified in an archive`, () =>
      assert.match(substituted[name]!, /^[NE] +$/))
})
