import assert from 'node:assert/strict'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { fileURLToPath } from 'node:url'
import { outcome } from '../support/child.ts'
import { temporaryDirectory } from '../support/folder.ts'
import { writeGroup } from '../support/groups.ts'
import { mounts } from './mounts.ts'

const specs = fileURLToPath(new URL('..', import.meta.url))

/** A part of the API; all of it, git and LFS with `npm run spec:hosts`. */
const PART = ['markdown', 'quota'].map((word) => `api/${word}.spec.ts`)
const STREAMS = ['git/access', 'git/fetch', 'git/push', 'lfs/protocol'].map((path) => `${path}.spec.ts`)
const all = readdirSync(`${specs}api`, { recursive: true, encoding: 'utf8' }).filter((file) =>
  file.endsWith('.spec.ts'),
)
const isWhole = process.env.ALLOT_SPEC_HOSTS === 'all'

/** The part runs in one process for each host. */
const paths = () =>
  isWhole
    ? [...all.map((file) => `api/${file}`), ...STREAMS].map((file) => specs + file)
    : [writeGroup(specs, PART, join(temporaryDirectory(), 'part.mjs'))]

/** A test that waits for ever fails by its name. */
const TEST_MS = isWhole ? 600_000 : 60_000
const HOST_MS = isWhole ? 3_600_000 : 110_000
const RUNNER = ['--import', 'tsx', '--test', `--test-timeout=${TEST_MS}`, '--test-reporter', 'spec']

const run = async (host: string): Promise<{ code: number | null; text: string }> => {
  const { NODE_TEST_CONTEXT: _, ...env } = process.env
  const { code, stdout, stderr } = await outcome(process.execPath, [...RUNNER, ...paths()], {
    // The specs themselves say which lines they run.
    env: { ...env, ALLOT_SPEC_HOST: host, NODE_V8_COVERAGE: '' },
    timeout: HOST_MS,
  })
  return { code, text: stdout + stderr }
}

describe('The API specs pass', () => {
  for (const host of Object.keys(mounts))
    it(`in ${host}`, async () => {
      const { code, text } = await run(host)
      assert.equal(code, 0, text.slice(text.indexOf('failing tests')))
      assert.match(text, /pass [1-9]/)
    })
})
