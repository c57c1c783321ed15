import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { countPackets } from '../../lib/keys/openpgp.ts'

const ALL = 1_000_000

const header = (tag: number) => Buffer.of(0xc0 | tag)
const bytes = (length: number) => Buffer.alloc(length, 0xfc)

/** A length in its shortest form, or in five octets. */
const lengthOf = (length: number, isLong: boolean): Buffer => {
  if (isLong || length >= 8384) {
    const long = Buffer.of(255, 0, 0, 0, 0)
    long.writeUInt32BE(length, 1)
    return long
  }
  if (length < 192) return Buffer.of(length)
  return Buffer.of(192 + ((length - 192) >> 8), (length - 192) & 0xff)
}

const body = fc.record({ length: fc.nat({ max: 9000 }), isLong: fc.boolean() })
const written = ({ length, isLong }: { length: number; isLong: boolean }) =>
  Buffer.concat([lengthOf(length, isLong), bytes(length)])
const tag = fc.integer({ min: 1, max: 63 })

/** Packets with their number of parts. */
const whole = fc
  .tuple(tag, body)
  .map(([tag, last]) => [Buffer.concat([header(tag), written(last)]), 1] as const)
const inParts = fc
  .tuple(tag, fc.array(fc.nat({ max: 12 }), { minLength: 1, maxLength: 5 }), body)
  .map(([tag, powers, last]) => {
    const parts = powers.flatMap((power) => [Buffer.of(0xe0 | power), bytes(2 ** power)])
    return [Buffer.concat([header(tag), ...parts, written(last)]), powers.length + 1] as const
  })
const legacy = fc
  .tuple(fc.integer({ min: 1, max: 15 }), fc.nat({ max: 2 }), fc.nat({ max: 255 }))
  .map(([tag, lengthType, length]) => {
    const size = Buffer.alloc(2 ** lengthType)
    size.writeUIntBE(length, 0, size.length)
    return [Buffer.concat([Buffer.of(0x80 | (tag << 2) | lengthType), size, bytes(length)]), 1] as const
  })

describe('countPackets', () => {
  it('counts every packet, and every part of a packet with partial lengths', () => {
    fc.assert(
      fc.property(fc.array(fc.oneof(whole, inParts, legacy), { maxLength: 20 }), (packets) => {
        const data = Buffer.concat(packets.map(([packet]) => packet))
        const expected = packets.reduce((sum, [, parts]) => sum + parts, 0)
        assert.equal(countPackets(data, ALL), expected)
      }),
    )
  })

  it('stops after the limit, and at the end of arbitrary bytes', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 400 }), fc.nat({ max: 50 }), (data, limit) => {
        const count = countPackets(data, limit)
        assert.ok(count <= limit + 1)
        assert.ok(count <= data.length)
      }),
    )
  })
})
