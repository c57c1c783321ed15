import assert from 'node:assert/strict'
import { cpSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { before, describe, it } from 'node:test'
import { fileURLToPath } from 'node:url'
import { type Served, whenServing } from '../bin/program.ts'
import { missing } from '../postgres/cluster.ts'
import { emptyStore } from '../postgres/empty-store.ts'
import { run, spawnChild } from '../support/child.ts'
import { temporaryDirectory } from '../support/folder.ts'
import { freePort } from '../support/free-port.ts'
import { generateOpenPgpKey } from '../support/keygen.ts'
import { waitFor } from '../support/wait-for.ts'
import { instructionsIn } from './dockerfile.ts'

const root = fileURLToPath(new URL('../../', import.meta.url))

/** Milliseconds for a step, such as one that installs packages. */
const STEP_MS = 100_000

/**
 * Runs the steps of the Dockerfile without Docker: each stage in a folder, which stands for the root of its
 * file system. What the system installs is that of this machine.
 * @param context folder of the checkout
 * @returns the folder of the last stage
 */
const build = async (context: string): Promise<string> => {
  const stages = new Map<string, string>()
  let stage = ''
  let folder = ''
  for (const [name, rest] of instructionsIn(readFileSync(join(root, 'Dockerfile'), 'utf8'))) {
    const words = rest.split(' ')
    if (name === 'FROM') {
      stage = temporaryDirectory()
      stages.set(words.at(-1)!, stage)
      mkdirSync(join(stage, 'usr/local/bin'), { recursive: true })
      mkdirSync(join(stage, 'var/lib'), { recursive: true })
    } else if (name === 'WORKDIR') {
      folder = join(stage, rest)
      mkdirSync(folder, { recursive: true })
    } else if (name === 'COPY') copy(words, folder, stages, context)
    else if (name === 'RUN' && !rest.startsWith('apt-get ')) {
      const here = rest.replaceAll(/(?<= )\/(?:opt|usr|var)\//g, `${stage}$&`).replace('-o node -g node ', '')
      // npm sets variables for its scripts, which concern the checkout.
      const { PATH, HOME, ALLOT_SPEC_HOME = HOME } = process.env
      const env = { PATH, HOME: ALLOT_SPEC_HOME, npm_config_prefer_offline: 'true' }
      await run('sh', ['-c', here], { cwd: folder, env, timeout: STEP_MS })
    }
  }
  return stage
}

const copy = (words: string[], folder: string, stages: Map<string, string>, context: string): void => {
  const [, from] = /^--from=(.*)$/.exec(words[0]!) ?? []
  const sources = words.slice(from === undefined ? 0 : 1, -1)
  const target = join(folder, words.at(-1)!)
  for (const source of sources) {
    const path = join(from === undefined ? context : stages.get(from)!, source)
    cpSync(path, sources.length > 1 ? join(target, basename(source)) : target, { recursive: true })
  }
}

/** A copy of what git knows, without what .dockerignore leaves out. */
const checkout = async (): Promise<string> => {
  const folder = temporaryDirectory()
  const listed = await run('git', ['ls-files', '-z', '--cached', '--others', '--exclude-standard'], {
    cwd: root,
  })
  for (const file of listed.stdout.split('\0').filter((path) => path !== '' && !path.startsWith('.ci/')))
    cpSync(join(root, file), join(folder, file))
  return folder
}

describe('The image of the Dockerfile', () => {
  let image: string
  before(async () => {
    image = await build(await checkout())
  })

  const serve = async (config: string, ...args: string[]): Promise<Served & { token: string }> => {
    const file = join(temporaryDirectory(), 'allot.toml')
    writeFileSync(file, config)
    const words = ['serve', '--port', '0', '--data', temporaryDirectory(), '--config', file, ...args]
    const server = await whenServing(spawnChild(join(image, 'usr/local/bin/allot'), words, { cwd: image }))
    const token = () => /token ([0-9a-f]{40})/.exec(server.printed())?.[1]
    await waitFor(token)
    return { ...server, token: token()! }
  }

  it('has what each optional part needs: GPG keys, metrics and SSH', async () => {
    const server = await serve(`[server]\nmetrics = "loopback"\n[ssh]\nport = ${await freePort()}\n`)
    const armored_public_key = await generateOpenPgpKey('root@localhost')
    const headers = { authorization: `token ${server.token}`, 'content-type': 'application/json' }
    const body = JSON.stringify({ armored_public_key })
    const { status } = await fetch(`${server.api}/user/gpg_keys`, { method: 'POST', headers, body })
    assert.equal(status, 201)
    const metrics = await fetch(new URL('/-/metrics', server.api))
    assert.match(await metrics.text(), /^allot_build_info/m)
    assert.match(server.printed(), /SSH/i)
    assert.equal(await server.stop(), 0)
  })

  it('starts on PostgreSQL', { skip: missing }, async () => {
    const { url } = await emptyStore()
    const server = await serve('', '--storage', url)
    assert.equal((await fetch(new URL('/-/readyz', server.api))).status, 200)
    assert.equal(await server.stop(), 0)
  })
})
