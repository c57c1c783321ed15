import assert from 'node:assert/strict'
import { existsSync, readFileSync } from 'node:fs'
import { it } from 'node:test'
import { runSync } from '../support/child.ts'
import { inRoot } from './source.ts'

it('The files of the repository have no markers of a conflict', () => {
  const tracked = runSync('git', ['ls-files', '-z'], { cwd: inRoot('') })
    .split('\0')
    .filter((file) => file !== '' && existsSync(inRoot(file)))
  assert.ok(tracked.length > 1000, `only ${tracked.length} are found`)
  const marked = tracked.filter((file) => /^(?:<{7}|>{7}) /m.test(readFileSync(inRoot(file), 'latin1')))
  assert.deepEqual(marked, [])
})
