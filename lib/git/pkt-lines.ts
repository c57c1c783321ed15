import { AllotError } from '../errors.ts'

/**
 * A packet of git's protocol (gitprotocol-common, "pkt-line Format"): four hexadecimal digits with the length
 * of the whole packet, then its payload. `0000` is a flush packet, which ends a section.
 */
export interface PktLine {
  /** The whole packet, with its length. */
  readonly bytes: Buffer
  /** Undefined for a packet that ends a section. */
  readonly payload: Buffer | undefined
}

const HEADER_LENGTH = 4
const MAX_LENGTH = 65_520

export const FLUSH = Buffer.from('0000')

export const pktLine = (payload: Buffer | string): Buffer => {
  const bytes = Buffer.from(payload)
  const length = (bytes.length + HEADER_LENGTH).toString(16).padStart(HEADER_LENGTH, '0')
  return Buffer.concat([Buffer.from(length), bytes])
}

/**
 * @param lastSpecial the last length that stands for a packet which separates: 2 in version 2 of the protocol
 */
export const createPktLineParser = (lastSpecial: 0 | 2 = 0) => {
  let rest: Buffer = Buffer.alloc(0)

  /** The first packet of `rest`; undefined while it is incomplete. */
  const firstLine = (): PktLine | undefined => {
    if (rest.length < HEADER_LENGTH) return undefined
    const header = rest.toString('latin1', 0, HEADER_LENGTH)
    const length = /^[0-9a-fA-F]{4}$/.test(header) ? Number.parseInt(header, 16) : Number.NaN
    if (length <= lastSpecial) return { bytes: rest.subarray(0, HEADER_LENGTH), payload: undefined }
    if (!(length >= HEADER_LENGTH && length <= MAX_LENGTH))
      throw new AllotError(
        'bad_request',
        'the request is not well-formed: it has a packet without a valid length',
      )
    if (rest.length < length) return undefined
    return { bytes: rest.subarray(0, length), payload: rest.subarray(HEADER_LENGTH, length) }
  }

  return {
    /** The bytes of an incomplete packet. */
    rest: () => rest,
    /**
     * The packets that a chunk completes.
     * @throws AllotError bad_request
     */
    *add(chunk: Buffer): Generator<PktLine> {
      rest = rest.length === 0 ? chunk : Buffer.concat([rest, chunk])
      for (let line = firstLine(); line !== undefined; line = firstLine()) {
        rest = rest.subarray(line.bytes.length)
        yield line
      }
    },
  }
}

/**
 * What a client sends for a fetch on a connection that stays open, for which version 2 of the protocol has
 * any number of commands.
 * @param check called before the first packet and before each command is passed on; its error ends the input
 */
export async function* checkedRequests(
  input: AsyncIterable<Buffer>,
  check: () => Promise<void>,
): AsyncGenerator<Buffer> {
  const parser = createPktLineParser(2)
  let isFirst = true
  for await (const chunk of input) {
    let checked: Buffer[] = []
    for (const { bytes, payload } of parser.add(chunk)) {
      if (isFirst || payload?.toString('latin1', 0, COMMAND.length) === COMMAND) {
        isFirst = false
        if (checked.length > 0) yield Buffer.concat(checked)
        checked = []
        await check()
      }
      checked.push(bytes)
    }
    if (checked.length > 0) yield Buffer.concat(checked)
  }
  if (parser.rest().length > 0) yield parser.rest()
}

const COMMAND = 'command='
