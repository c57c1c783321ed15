import assert from 'node:assert/strict'
import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import module from 'node:module'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { output, printed, run, spawnChild } from '../support/child.ts'
import { temporaryDirectory } from '../support/folder.ts'
import { lacks } from '../support/requirements.mjs'
import { allot, PROGRAM } from './program.ts'

/** Runs `allot` in a terminal, which `script` of util-linux makes. */
const inTerminal = async (cwd: string): Promise<string> => {
  const command = PROGRAM.map((word) => `'${word}'`).join(' ')
  const { stdout } = await run('script', ['-qec', command, '/dev/null'], { cwd })
  return stdout.replaceAll('\r', '')
}

describe('allot without arguments', { skip: lacks('script') }, () => {
  it('says in a terminal how to start a server, and creates nothing', async () => {
    const folder = temporaryDirectory()
    const text = await inTerminal(folder)
    assert.match(text, /^There is no data in \.\/data yet\.$/m)
    assert.match(text, /^ {2}allot serve +starts a server, and creates the data with an administrator$/m)
    assert.match(text, /^ {2}allot doctor /m)
    const columns = text
      .split('\n')
      .flatMap((line) => /^ {2}allot .*? {2,}(?=\w)/.exec(line)?.[0].length ?? [])
    assert.deepEqual(new Set(columns).size, 1, text)
    assert.ok(!existsSync(join(folder, 'data')))
  })

  it('names the data folder and the configuration file that it finds', async () => {
    const folder = temporaryDirectory()
    mkdirSync(join(folder, 'kept', 'store'), { recursive: true })
    writeFileSync(join(folder, 'allot.toml'), '[server]\ndata = "kept"\n')
    const text = await inTerminal(folder)
    assert.match(text, /^The configuration file is allot\.toml\.$/m)
    assert.match(text, /^The data is in kept\.$/m)
    assert.match(text, /^ {2}allot serve --config allot\.toml +starts a server$/m)
  })

  it('asks for a command in a pipe, with the help, and exits with 2', async () => {
    const { code, out, err } = await allot([])
    assert.deepEqual([code, out], [2, ''])
    assert.match(err, /^error: name one of the commands of allot\n\nUsage: allot /)
  })
})

describe("V8's compile cache", () => {
  it('is kept below XDG_CACHE_HOME where Node has one', async () => {
    const cache = temporaryDirectory()
    const { code } = await allot(['--version'], cache, { env: { XDG_CACHE_HOME: cache } })
    assert.equal(code, 0)
    assert.equal(existsSync(join(cache, 'allot', 'compiled')), 'enableCompileCache' in module)
  })
})

describe('allot user password', { skip: lacks('script') }, () => {
  it('asks in a terminal for the password, which the terminal does not show', async () => {
    const data = temporaryDirectory()
    await allot(['user', 'add', 'ann', '--data', data])
    const command = [...PROGRAM, 'user', 'password', 'ann', '--data', data]
    const words = command.map((word) => `'${word}'`).join(' ')
    const child = spawnChild('script', ['-qec', words, '/dev/null'])
    const ended = output(child)
    await printed(child, /Password: /)
    child.stdin.write('open sesame 1\r')
    const { code, stdout } = await ended
    assert.equal(code, 0, stdout)
    assert.match(stdout, /^Password: \r\nthe user ann has another password\r\n$/)
  })
})
