import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { fileURLToPath } from 'node:url'
import { temporaryDirectory } from '../support/folder.ts'
import { writeGroup } from '../support/groups.ts'
import { mounts } from './mounts.ts'

const specs = fileURLToPath(new URL('..', import.meta.url))

/** A part of the API in `npm test`; all of it, git and LFS with `npm run spec:hosts`. */
const PART = ['markdown', 'quota'].map((word) => `api/${word}.spec.ts`)
const STREAMS = ['git/access', 'git/fetch', 'git/push', 'lfs/protocol'].map((path) => `${path}.spec.ts`)
const all = readdirSync(`${specs}api`, { recursive: true, encoding: 'utf8' }).filter((file) =>
  file.endsWith('.spec.ts'),
)
/** The part runs in one process for each host. */
const paths = () =>
  process.env.ALLOT_SPEC_HOSTS === 'all'
    ? [...all.map((file) => `api/${file}`), ...STREAMS].map((file) => specs + file)
    : [writeGroup(specs, PART, join(temporaryDirectory(), 'part.mjs'))]

/** A test that waits for ever fails by its name after ten minutes. */
const RUNNER = ['--import', 'tsx', '--test', '--test-timeout=600000', '--test-reporter', 'spec']

const run = (host: string): Promise<{ code: number | null; text: string }> => {
  const { NODE_TEST_CONTEXT: _, ...env } = process.env
  const child = spawn(process.execPath, [...RUNNER, ...paths()], {
    // The specs themselves say which lines they run.
    env: { ...env, ALLOT_SPEC_HOST: host, NODE_V8_COVERAGE: '' },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let text = ''
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (chunk: Buffer) => {
      text += chunk.toString()
    })
  return new Promise((resolve) => child.on('close', (code) => resolve({ code, text })))
}

describe('The API specs pass', () => {
  for (const host of Object.keys(mounts))
    it(`in ${host}`, async () => {
      const { code, text } = await run(host)
      assert.equal(code, 0, text.slice(text.indexOf('failing tests')))
      assert.match(text, /pass [1-9]/)
    })
})
