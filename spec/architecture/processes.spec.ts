import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { filesIn, sourceOf } from './source.ts'

/** Where processes are started with a deadline, and tools that no test runs. */
const ALLOWED = /^spec\/(?:support\/child\.ts$|(?:tools|pack)\/)/

/** Files that start processes themselves, since they need what spec/support/child.ts does not have. */
const EXCEPTIONS = [
  'spec/api/client-types.ts',
  'spec/cover.ts',
  'spec/driver-spec/durability.ts',
  'spec/support/group-runs.ts',
]

const IMPORT = /^import (?!type\b)([^']*?) from '(?:node:)?child_process'/gm

/** What a file imports from `node:child_process` besides types. */
const importedBy = (file: string): string[] =>
  [...sourceOf(file).matchAll(IMPORT)].flatMap(([, names = '']) =>
    names
      .replace(/[{}]/g, '')
      .split(',')
      .map((name) => name.trim())
      .filter((name) => name !== '' && !name.startsWith('type ')),
  )

describe('The specs', () => {
  const starting = filesIn('spec')
    .filter((file) => !ALLOWED.test(file) && importedBy(file).length > 0)
    .sort()

  it('start processes through spec/support/child.ts, which have a deadline and end with their file', () => {
    assert.deepEqual(
      starting.filter((file) => !EXCEPTIONS.includes(file)),
      [],
    )
  })

  it('have a message for each assertion that fails, which Node need not make of their source', () => {
    assert.throws(() => assert.ok(starting.length < 0), { message: 'the value is not true' })
  })

  it('have no exception from this that is not needed', () => {
    assert.deepEqual(
      EXCEPTIONS.filter((file) => !starting.includes(file)),
      [],
    )
  })
})
