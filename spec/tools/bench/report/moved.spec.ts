import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { temporaryDirectory } from '../../../support/folder.ts'
import type { Measurement } from './measure.ts'
import { movedSince } from './moved.ts'

const read = (value: number): Measurement => ({
  ...{ name: 'a read', value, reference: 20, unit: 'µs', against: 'a bare server' },
})
const memory = (value: number): Measurement => ({ name: 'memory', value, unit: 'MiB' })

describe('The table of what has moved', () => {
  const file = join(temporaryDirectory(), 'folder', 'bench.json')

  it('says that the first figures are the first', () => {
    assert.match(movedSince(file, [read(25), memory(100)]), /^These are the first figures in .*bench\.json/)
  })

  it('says that nothing has moved when all rows are within a tenth', () => {
    assert.match(movedSince(file, [read(26), memory(109)]), /^Nothing has moved by more than a tenth/)
  })

  it('has the rows that moved by more than a tenth: by the ratio, or by the value without one', () => {
    const rows = movedSince(file, [read(40), memory(50)])
      .split('\n')
      .slice(2)
    assert.match(rows[0]!, /^\| a read, ratio \| 0\.77, \d{4}-\d\d-\d\d \| 0\.50 \| -35 % \|$/)
    assert.match(rows[1]!, /^\| memory \| 109 MiB, .* \| 50 MiB \| -54 % \|$/)
  })

  it('compares with the last run that measured a row, however many runs ago', () => {
    movedSince(file, [memory(50)])
    assert.match(movedSince(file, [read(20)]), /\| 0\.50, .* \| 1\.00 \| \+100 % \|/)
  })

  it('begins anew when the file is not JSON', () => {
    writeFileSync(file, 'x')
    assert.match(movedSince(file, [read(25)]), /^These are the first figures/)
  })
})
