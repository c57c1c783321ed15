import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import {
  formatBytes,
  formatExactLimit,
  formatLimit,
  formatSize,
  formatSizeFixed,
  limitFault,
  parseLimit,
  parseSize,
} from '../lib/byte-sizes.ts'

const UNITS = ['KiB', 'MiB', 'GiB', 'TiB', 'PiB', 'EiB']

describe('Formatting bytes', () => {
  const SIZES: [bytes: number, fixed: string, significant: string][] = [
    [0, '0 B', '0 B'],
    [1023, '1023 B', '1,023 B'],
    [1024, '1.0 KiB', '1 KiB'],
    [1280, '1.3 KiB', '1.25 KiB'],
    [1024 ** 2 - 1, '1.0 MiB', '1 MiB'],
    [125.4 * 1024 ** 2, '125.4 MiB', '125 MiB'],
    [1.5 * 1024 ** 3, '1.5 GiB', '1.5 GiB'],
    [-2 * 1024 ** 2, '-2.0 MiB', '−2 MiB'],
    [Number.MAX_SAFE_INTEGER, '8.0 PiB', '8 PiB'],
    [3 * 1024 ** 6, '3.0 EiB', '3 EiB'],
  ]
  it('uses binary units, with one decimal or three significant digits', () => {
    for (const [bytes, fixed, significant] of SIZES)
      assert.deepEqual([formatSizeFixed(bytes), formatSize(bytes)], [fixed, significant])
    assert.deepEqual([formatBytes(1), formatBytes(1_234_567)], ['1 byte', '1,234,567 bytes'])
    assert.deepEqual([formatLimit(-1), formatLimit(null), formatLimit(0)], ['unlimited', 'unlimited', '0 B'])
  })

  it('never prints 1024 of a unit, and is exact to a twentieth of it', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1024, max: Number.MAX_SAFE_INTEGER }), (bytes) => {
        const [, number, unit] = /^([\d.]+) (\w+)$/.exec(formatSizeFixed(bytes))!
        const size = 1024 ** (UNITS.indexOf(unit!) + 1)
        assert.ok(Number(number) < 1024 && Math.abs(Number(number) - bytes / size) <= 0.0501)
      }),
    )
  })
})

describe('Parsing bytes', () => {
  it('accepts binary units only, and limits down to -1', () => {
    assert.deepEqual(['2 PiB', '1 EiB'].map(parseSize), [2 * 1024 ** 5, 1024 ** 6])
    assert.deepEqual(['8 PiB', '1 EiB'].map(parseLimit), [undefined, undefined])
    assert.equal(formatExactLimit(2 * 1024 ** 5), '2 PiB')
    assert.deepEqual(['2 GiB', '1.5KiB', '7 B', '2 GB', '2 gib', '5', '-1 B', ''].map(parseSize), [
      2 * 1024 ** 3,
      1536,
      7,
      undefined,
      undefined,
      undefined,
      undefined,
      undefined,
    ])
    assert.deepEqual(['5', '-1', '2 KiB', '-2', '9007199254740992', '1.5'].map(parseLimit), [
      5,
      -1,
      2048,
      undefined,
      undefined,
      undefined,
    ])
  })

  it('says which unit is unknown, and which number is too large', () => {
    const unknown = (unit: string) =>
      `; "${unit}" is not a unit: use B, KiB, MiB, GiB, TiB, PiB or EiB, such as 10 GiB`
    const large = '; the largest number is 9007199254740991, one byte less than 8 PiB'
    for (const [text, fault] of [
      ...(['GB', 'gib', 'G', 'ГБ', 'ZiB'] as const).map((unit) => [`2 ${unit}`, unknown(unit)] as const),
      ...(['8 PiB', '2 EiB', '9007199254740992'] as const).map((text) => [text, large] as const),
      ...['', 'much', '1,5 GiB', '2 GiB', '9007199254740991', '-2'].map((text) => [text, ''] as const),
    ])
      assert.equal(limitFault(text), fault, text)
  })

  it('reads back the bytes of every limit that was formatted exactly', () => {
    const limit = fc.oneof(
      fc.integer({ min: -1, max: Number.MAX_SAFE_INTEGER }),
      fc
        .tuple(fc.integer({ min: 0, max: 5 }), fc.integer({ min: 1, max: 8191 }))
        .map(([power, n]) => n * 1024 ** power)
        .filter(Number.isSafeInteger),
    )
    fc.assert(
      fc.property(limit, (bytes) => {
        const text = formatExactLimit(bytes).replace(/ bytes?$|,/g, '')
        assert.equal(text === 'unlimited' ? -1 : parseLimit(text), bytes)
      }),
    )
    assert.equal(formatExactLimit(3 * 1024 ** 2), '3 MiB')
  })
})
