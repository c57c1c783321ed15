/**
 * How many packets there are by their headers (RFC 9580, section 4.2), at most one more than a limit. The library takes
 * so long over each that a text of nothing else, which it passes over, would hold a server for seconds.
 */
export const countPackets = (data: Uint8Array, limit: number): number => {
  let count = 0
  for (let at = 0; at < data.length && count <= limit; count++) at = endOfPacket(data, at)
  return count
}

const endOfPacket = (data: Uint8Array, at: number): number => {
  const tag = data[at]!
  const start = at + 1
  if ((tag & 0x40) === 0) return endOfLegacy(data, start, tag & 3)
  const first = data[start] ?? 0
  if (first < 192) return start + 1 + first
  // Partial lengths (224 to 254) are for messages: the library refuses them in a key.
  if (first < 224) return start + 2 + ((first - 192) << 8) + (data[start + 1] ?? 0) + 192
  return first === 255 ? start + 5 + numberAt(data, start + 1, 4) : data.length
}

const endOfLegacy = (data: Uint8Array, start: number, lengthType: number): number => {
  if (lengthType === 3) return data.length
  const size = 2 ** lengthType
  return start + size + numberAt(data, start, size)
}

const numberAt = (data: Uint8Array, at: number, size: number): number =>
  data.subarray(at, at + size).reduce((number, byte) => number * 256 + byte, 0)
