import { deflateSync } from 'node:zlib'

/** A PNG of one color. */
export const png = (width: number, height: number, gray = 0x6b): Buffer =>
  pngOf([width, height, 8, 2], Buffer.alloc(1 + width * 3, gray).fill(0, 0, 1))

const pngOf = (
  [width, height, depth, type]: readonly [number, number, number, number],
  row: Buffer,
): Buffer => {
  const head = Buffer.from([0, 0, 0, 0, 0, 0, 0, 0, depth, type, 0, 0, 0])
  head.writeUInt32BE(width, 0)
  head.writeUInt32BE(height, 4)
  return Buffer.concat([
    Buffer.from('89504e470d0a1a0a', 'hex'),
    chunk('IHDR', head),
    chunk('IDAT', deflateSync(Buffer.concat(Array.from({ length: height }, () => row)))),
    chunk('IEND', Buffer.alloc(0)),
  ])
}

const chunk = (type: string, data: Buffer): Buffer => {
  const body = Buffer.concat([Buffer.from(type), data])
  const length = Buffer.alloc(4)
  length.writeUInt32BE(data.length)
  const sum = Buffer.alloc(4)
  sum.writeUInt32BE(crc(body))
  return Buffer.concat([length, body, sum])
}

const crc = (bytes: Buffer): number => {
  let value = 0xffffffff
  for (const byte of bytes) {
    value ^= byte
    for (let bit = 0; bit < 8; bit++) value = value & 1 ? (value >>> 1) ^ 0xedb88320 : value >>> 1
  }
  return (value ^ 0xffffffff) >>> 0
}
