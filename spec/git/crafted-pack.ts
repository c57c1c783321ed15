import { createHash } from 'node:crypto'
import { deflateSync } from 'node:zlib'

/** An object of a pack as it is written there; a delta (type 7) names its base by its content or its id. */
export interface Entry {
  readonly type: 1 | 2 | 3 | 7
  readonly content: Buffer
  readonly base?: Buffer | string
  /** What the pack says of the size; the true size when absent. */
  readonly size?: number
}

/** Seven bits in each byte, the lowest first. */
const numberBytes = (value: number): number[] =>
  value < 128 ? [value] : [(value % 128) | 128, ...numberBytes(Math.floor(value / 128))]

const idOf = (content: Buffer): Buffer =>
  createHash('sha1').update(`blob ${content.length}\0`).update(content).digest()

const entryBytes = ({ type, content, base, size = content.length }: Entry): Buffer => {
  const rest = Math.floor(size / 16)
  const head = rest === 0 ? [(type << 4) | size] : [(type << 4) | (size % 16) | 128, ...numberBytes(rest)]
  return Buffer.concat([
    Buffer.from(head),
    base === undefined ? Buffer.alloc(0) : typeof base === 'string' ? Buffer.from(base, 'hex') : idOf(base),
    deflateSync(content),
  ])
}

/** A pack as a client could make it by hand (gitformat-pack). */
export const craftedPack = (entries: readonly Entry[]): Buffer => {
  const header = Buffer.from('PACK\0\0\0\u0002\0\0\0\0', 'latin1')
  header.writeUInt32BE(entries.length, 8)
  const pack = Buffer.concat([header, ...entries.map(entryBytes)])
  return Buffer.concat([pack, createHash('sha1').update(pack).digest()])
}

/** A delta that makes so many copies of its base, which has fewer than 64 KiB. */
export const copies = ({ length }: Buffer, count: number): Buffer => {
  const copy = [0b1011_0000 | 1, 0, length % 256, Math.floor(length / 256)]
  return Buffer.from([
    ...numberBytes(length),
    ...numberBytes(length * count),
    ...Array.from({ length: count }, () => copy).flat(),
  ])
}

/** A delta that makes one content of another, whose beginning it copies. */
export const deltaTo = (base: Buffer, target: Buffer): Buffer => {
  let same = 0
  while (same < Math.min(base.length, target.length, 255) && base[same] === target[same]) same++
  const added = Array.from({ length: Math.ceil((target.length - same) / 127) }, (_, at) =>
    target.subarray(same + at * 127, same + (at + 1) * 127),
  )
  return Buffer.concat([
    Buffer.from([...numberBytes(base.length), ...numberBytes(target.length), 0b1001_0000, same]),
    ...added.flatMap((part) => [Buffer.from([part.length]), part]),
  ])
}
