import { deflateSync } from 'node:zlib'

/** A PNG of one color. */
export const png = (width: number, height: number, gray = 0x6b): Buffer =>
  pngOf([width, height, 8, 2], Buffer.alloc(1 + width * 3, gray).fill(0, 0, 1))

/** A square PNG whose palette has two colors, as the images are that a Gitea generates. */
export const paletted = (width: number): Buffer => {
  const palette = chunk('PLTE', Buffer.from([255, 255, 255, 0x20, 0x40, 0x60]))
  return pngOf([width, width, 8, 3], Buffer.alloc(1 + width, 1).fill(0, 0, 1), palette)
}

const pngOf = (
  [width, height, depth, type]: readonly [number, number, number, number],
  row: Buffer,
  palette: Buffer = Buffer.alloc(0),
): Buffer => {
  const head = Buffer.from([0, 0, 0, 0, 0, 0, 0, 0, depth, type, 0, 0, 0])
  head.writeUInt32BE(width, 0)
  head.writeUInt32BE(height, 4)
  return Buffer.concat([
    Buffer.from('89504e470d0a1a0a', 'hex'),
    chunk('IHDR', head),
    palette,
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

/** Images of one pixel, by their content type. */
export const PIXELS: Readonly<Record<string, Buffer>> = {
  'image/png': png(1, 1),
  'image/jpeg': Buffer.from(
    '/9j/4AAQSkZJRgABAQAAAQABAAD/2wBDAAgGBgcGBQgHBwcJCQgKDBQNDAsLDBkSEw8UHRofHh0aHBwgJC4nICIsIxwcKDcpLDAxNDQ0Hyc5PTgyPC4zNDL/wAALCAABAAEBAREA/8QAFAABAAAAAAAAAAAAAAAAAAAACf/EABQQAQAAAAAAAAAAAAAAAAAAAAD/2gAIAQEAAD8AVN//2Q==',
    'base64',
  ),
  'image/gif': Buffer.from('R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7', 'base64'),
  'image/webp': Buffer.from('UklGRiIAAABXRUJQVlA4IBYAAAAwAQCdASoBAAEADsD+JaQAA3AAAAAA', 'base64'),
}
