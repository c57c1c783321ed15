import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { escapeControl } from '../../bin/terminal.ts'

describe('Text of other users', () => {
  it('cannot control the terminal', () => {
    for (const text of ['\u001b[31mred', 'a\rb', 'a\nb', '\u009b0m', '\u202egnp.exe', 'a\u2028b'])
      assert.doesNotMatch(escapeControl(text), /[\p{Cc}\p{Cf}\p{Zl}]/u)
    assert.equal(escapeControl('Ünïcode 你好'), 'Ünïcode 你好')
  })
})
