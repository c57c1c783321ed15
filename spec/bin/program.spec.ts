import assert from 'node:assert/strict'
import { cpSync, existsSync, readFileSync } from 'node:fs'
import module from 'node:module'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { fileURLToPath } from 'node:url'
import { outcome, output, printed, spawnChild } from '../support/child.ts'
import { temporaryDirectory } from '../support/folder.ts'
import { lacks } from '../support/requirements.mjs'
import { allot, PROGRAM } from './program.ts'

describe('allot without arguments', () => {
  it('asks for a command, with the help, and exits with 2', async () => {
    const { code, out, err } = await allot([])
    assert.deepEqual([code, out], [2, ''])
    assert.match(err, /^error: name one of the commands of allot\n\nUsage: allot /)
  })
})

describe('allot on a Node that is too old', () => {
  it('says so before it loads anything', async () => {
    const { engines } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8'))
    const [, major, minor] = /^>=(\d+)\.(\d+)$/.exec(engines.node)!
    const outcomes = [`v${major}.${minor}.0`, `v${major}.${Number(minor) - 1}.9`, 'v18.20.8'].map(
      (version) => {
        const source = `Object.defineProperty(process, 'version', { value: '${version}' })`
        const env = { NODE_OPTIONS: `--import data:text/javascript,${encodeURIComponent(source)}` }
        return allot(['--version'], undefined, { env })
      },
    )
    const [oldest, ...older] = await Promise.all(outcomes)
    assert.equal(oldest!.code, 0, oldest!.err)
    for (const { code, err } of older) {
      assert.equal(code, 1)
      assert.match(err, new RegExp(`^allot: Node.js v\\S+ is too old: install ${major}.${minor} or later\n$`))
    }
  })
})

describe('The build', () => {
  it('asks for npm ci where the packages are not installed', async () => {
    const root = new URL('../../', import.meta.url)
    const cwd = temporaryDirectory()
    cpSync(new URL('package.json', root), join(cwd, 'package.json'))
    const { code, stderr } = await outcome(process.execPath, [fileURLToPath(new URL('build.mjs', root))], {
      cwd,
    })
    assert.deepEqual([code, stderr], [1, 'The packages are not installed: run npm ci first.\n'])
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
