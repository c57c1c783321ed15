import { createHash } from 'node:crypto'
import { type LastLine, MAX_LINE_BYTES } from './format.ts'

/** Takes bytes, and resolves when it wants more. */
export type Write = (bytes: Uint8Array) => Promise<void>

/** How much has gone through, for whoever wants to show it. */
export type OnProgress = (progress: { records: number; bytes: number }) => void

/** Bytes that are gathered before they are handed on. */
const GATHERED = 64 * 1024

export interface LineWriter {
  line(...pieces: (Uint8Array | string)[]): Promise<void>
  end(): Promise<LastLine>
}

/** Writes lines and counts them; what it holds is bounded, whatever a line brings. */
export const lineWriter = (write: Write, told: OnProgress): LineWriter => {
  const hash = createHash('sha256')
  let gathered: Uint8Array[] = []
  let [size, lines, bytes] = [0, 0, 0]

  const flush = async () => {
    const chunk = Buffer.concat(gathered)
    gathered = []
    size = 0
    bytes += chunk.length
    hash.update(chunk)
    await write(chunk)
    told({ records: Math.max(0, lines - 1), bytes })
  }
  const add = (piece: Uint8Array | string) => {
    const piece8 = typeof piece === 'string' ? Buffer.from(piece) : piece
    gathered.push(piece8)
    size += piece8.length
  }

  return {
    async line(...pieces) {
      for (const piece of pieces) add(piece)
      add('\n')
      lines++
      if (size >= GATHERED) await flush()
    },
    async end() {
      await flush()
      const last: LastLine = { end: true, records: lines - 1, sha256: hash.digest('hex') }
      await write(Buffer.from(`${JSON.stringify(last)}\n`))
      return last
    },
  }
}

/** The lines of a stream of bytes, without what ends them. */
export const lineSplitter = () => {
  let rest: Buffer[] = []
  let length = 0
  return {
    /** The lines that this chunk brings to their end. @throws RangeError when one is longer than any may be. */
    push(chunk: Uint8Array): Buffer[] {
      const lines: Buffer[] = []
      let start = 0
      for (let end = chunk.indexOf(10); end !== -1; end = chunk.indexOf(10, start)) {
        lines.push(Buffer.concat([...rest, chunk.subarray(start, end)]))
        rest = []
        length = 0
        start = end + 1
      }
      length += chunk.length - start
      if (length > MAX_LINE_BYTES) throw new RangeError(`a line of more than ${MAX_LINE_BYTES} bytes`)
      if (start < chunk.length) rest.push(Buffer.from(chunk.subarray(start)))
      return lines
    },
    /** Whether something follows the last end of a line. */
    isOpen: () => length > 0,
  }
}
