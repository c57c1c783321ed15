/**
 * How many packets there are by their headers (RFC 9580, section 4.2), at most one more than a limit; a packet in several
 * parts counts once for each part. The library takes so long over each that a text of nothing else, which it passes over,
 * would keep a processor busy for seconds. Invariant: every length that the library reads is followed here in the same way.
 */
export const countPackets = (data: Uint8Array, limit: number): number => {
  let count = 0
  for (let index = 0; index < data.length && count <= limit; ) {
    const isLegacy = (data[index]! & 0x40) === 0
    let part = isLegacy ? legacyPart(data, index + 1, data[index]! & 3) : partAt(data, index + 1)
    count++
    for (; part.isPartial && part.end < data.length && count <= limit; count++) part = partAt(data, part.end)
    index = part.end
  }
  return count
}

interface Part {
  end: number
  /** Whether another part of the same packet follows, with a length of its own. */
  isPartial: boolean
}

const partAt = (data: Uint8Array, start: number): Part => {
  const first = data[start] ?? 0
  const whole = (end: number) => ({ end, isPartial: false })
  if (first < 192) return whole(start + 1 + first)
  if (first < 224) return whole(start + 2 + ((first - 192) << 8) + (data[start + 1] ?? 0) + 192)
  if (first === 255) return whole(start + 5 + numberAt(data, start + 1, 4))
  return { end: start + 1 + 2 ** (first & 0x1f), isPartial: true }
}

const legacyPart = (data: Uint8Array, start: number, lengthType: number): Part => {
  if (lengthType === 3) return { end: data.length, isPartial: false }
  const size = 2 ** lengthType
  return { end: start + size + numberAt(data, start, size), isPartial: false }
}

const numberAt = (data: Uint8Array, index: number, size: number): number =>
  data.subarray(index, index + size).reduce((number, byte) => number * 256 + byte, 0)
