import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { chart, escapeControl, shareBar } from '../../bin/terminal.ts'

describe('A bar', () => {
  it('has the given width, grows with its share, and shows the smallest share', () => {
    const drawn = (share: number) => [...shareBar(share, 20)].indexOf('░')
    fc.assert(
      fc.property(
        fc.double({ min: 0, max: 5, noNaN: true }),
        fc.double({ min: 0, max: 1, noNaN: true }),
        (one, more) => {
          assert.equal([...shareBar(one, 20)].length, 20)
          const cells = (share: number) => (drawn(share) === -1 ? 20 : drawn(share))
          assert.ok(cells(one + more) >= cells(one))
        },
      ),
    )
    assert.deepEqual([shareBar(0, 3), shareBar(0.001, 3), shareBar(1, 3)], ['░░░', '▏░░', '███'])
  })

  it('is aligned in columns', () => {
    const lines = chart([
      { label: 'a', amount: '1 B', share: 0.5, comment: 'half' },
      { label: 'longer', amount: '1023 B', share: undefined, comment: 'no limit' },
    ])
    assert.equal(lines[0]!.indexOf('half'), lines[1]!.indexOf('no limit'))
  })
})

describe('Text of other users', () => {
  it('cannot control the terminal', () => {
    for (const text of ['\u001b[31mred', 'a\rb', 'a\nb', '\u009b0m', '\u202egnp.exe', 'a\u2028b'])
      assert.doesNotMatch(escapeControl(text), /[\p{Cc}\p{Cf}\p{Zl}]/u)
    assert.equal(escapeControl('Ünïcode 你好'), 'Ünïcode 你好')
  })
})
