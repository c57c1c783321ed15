import { AllotError } from '../errors.ts'

/**
 * git's framing: four hex digits that count themselves and what follows. `0000` ends a section, and has no payload.
 */
export interface PktLine {
  /** As it came. */
  readonly bytes: Buffer
  /** Undefined where a section ends. */
  readonly payload: Buffer | undefined
}

const HEAD = 4
const MAX_LENGTH = 65_520

export const FLUSH = Buffer.from('0000')

export const pktLine = (payload: Buffer | string): Buffer => {
  const bytes = Buffer.from(payload)
  return Buffer.concat([Buffer.from((bytes.length + HEAD).toString(16).padStart(HEAD, '0')), bytes])
}

/**
 * The line that the bytes begin with; undefined while it is not whole.
 * @param marks whether `0001` and `0002` of protocol version 2 end sections, too
 * @throws AllotError bad_request
 */
export const firstPktLine = (bytes: Buffer, marks = false): PktLine | undefined => {
  if (bytes.length < HEAD) return undefined
  const head = bytes.toString('latin1', 0, HEAD)
  const length = /^[0-9a-fA-F]{4}$/.test(head) ? Number.parseInt(head, 16) : Number.NaN
  if (length === 0 || (marks && length <= 2)) return { bytes: bytes.subarray(0, HEAD), payload: undefined }
  if (!(length >= HEAD && length <= MAX_LENGTH))
    throw new AllotError('bad_request', 'this is not what git sends')
  return bytes.length < length
    ? undefined
    : { bytes: bytes.subarray(0, length), payload: bytes.subarray(HEAD, length) }
}

/** Cuts bytes that come in any pieces into lines. @param options.marks as {@link firstPktLine} has it */
export const createPktLines = ({ marks = false } = {}) => {
  let rest: Buffer = Buffer.alloc(0)
  return {
    /** What is not a whole line yet. */
    rest: () => rest,
    *add(chunk: Buffer): Generator<PktLine> {
      rest = rest.length === 0 ? chunk : Buffer.concat([rest, chunk])
      for (let line = firstPktLine(rest, marks); line !== undefined; line = firstPktLine(rest, marks)) {
        rest = rest.subarray(line.bytes.length)
        yield line
      }
    },
  }
}
