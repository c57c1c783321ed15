import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { temporaryDirectory } from '../support/folder.ts'
import { allot } from './in-process.ts'

export interface Finding {
  check: string
  status: string
  message: string
}

/** Runs `allot doctor` with a configuration. */
export const diagnose = async (toml = '', ...more: string[]) => {
  const folder = temporaryDirectory()
  const file = join(folder, 'allot.toml')
  writeFileSync(file, toml)
  const data = more.includes('--data') ? [] : ['--data', join(folder, 'data')]
  const words = ['doctor', '--json', '--config', file, ...data, ...more]
  const { code, out, err } = await allot(words)
  assert.equal(err, '')
  const findings = JSON.parse(out) as Finding[]
  return { code, of: (check: string) => findings.filter((one) => one.check === check) }
}

/** A configuration whose port is of no server. */
export const UNUSED = '[server]\nport = 1\n'
