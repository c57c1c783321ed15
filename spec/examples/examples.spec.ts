import assert from 'node:assert/strict'
import { execFile, spawn } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { temporaryDirectory } from '../support/folder.ts'

const examples = fileURLToPath(new URL('../../examples/', import.meta.url))
const exec = promisify(execFile)

/** The command that a reader runs, in a temporary directory. */
const command = (file: string): [string, string[], object] => {
  const tsx = join(examples, '../node_modules/.bin/tsx')
  const args = ['--tsconfig', join(examples, '../tsconfig.json'), join(examples, file)]
  return [tsx, args, { cwd: temporaryDirectory(), env: { ...process.env, PORT: '0' } }]
}

const files = readdirSync(examples).filter((file) => file.endsWith('.ts'))
const sourceOf = (file: string) => readFileSync(join(examples, file), 'utf8')
const serves = (file: string) => /listen\(|serve\(/.test(sourceOf(file))
const hasPages = (file: string) => sourceOf(file).includes("'/storage'")

const CURL = /try: (curl .*)\n/
const PAGES_TOO = /try: (curl .*)\nor open (.*)\n/

describe('The examples', () => {
  for (const file of files.filter(serves))
    it(`${file} starts a server, and prints a curl command and the address of its pages, which work`, async () => {
      const [tsx, args, options] = command(file)
      const child = spawn(tsx, args, { ...options, stdio: ['ignore', 'pipe', 'inherit'] })
      try {
        const [, curl, page] = await new Promise<string[]>((resolve, reject) => {
          let text = ''
          child.stdout.on('data', (chunk: Buffer) => {
            text += chunk.toString()
            const lines = hasPages(file) ? PAGES_TOO : CURL
            const match = lines.exec(text)
            if (match !== null) resolve(match)
          })
          child.on('close', (code) => reject(new Error(`${file} ended with ${code}: ${text}`)))
        })
        const { stdout } = await exec('bash', ['-c', `${curl} -sf`])
        assert.match(stdout, /"Version"|"login":"alice"/)
        if (page !== undefined) assert.match(await (await fetch(page)).text(), /<h1>Sign in<\/h1>/)
        const ended = new Promise((resolve) => child.on('close', resolve))
        child.kill('SIGTERM')
        assert.equal(await ended, 0)
      } finally {
        child.kill('SIGKILL')
      }
    })

  const PRINTED: Record<string, RegExp> = {
    'reporting-usage.ts':
      /first.png: 600 .*\nsecond.png: 600 .*\nthird.png: refused .*\nalice uses 1200 of 1000 bytes: over quota\n/,
    'next-route.ts': /\n200 \{"Version".*\n303 \/code\/storage\/-\/sign-in\n$/,
    'custom-driver.ts': /alice is stored in a sorted array/,
  }
  for (const file of files.filter((name) => !serves(name)))
    it(`${file} prints its result and ends`, async () => {
      const [tsx, args, options] = command(file)
      const { stdout } = await exec(tsx, args, options)
      assert.match(stdout, PRINTED[file]!)
    })
})
