import { invalid } from '../errors.ts'

/** Reads the strings of an SSH wire format blob (RFC 4251, section 5) one after another. */
export class WireReader {
  readonly #blob: Buffer
  #at = 0

  constructor(blob: Buffer) {
    this.#blob = blob
  }

  string(): Buffer {
    const start = this.#at + 4
    if (start > this.#blob.length) throw damaged()
    const end = start + this.#blob.readUInt32BE(this.#at)
    if (end > this.#blob.length) throw damaged()
    this.#at = end
    return this.#blob.subarray(start, end)
  }

  end(): void {
    if (this.#at !== this.#blob.length) throw invalid('key: there are bytes after the end of the key')
  }
}

/** The strings in wire format, one after another. */
export const blobOf = (strings: readonly Buffer[]): Buffer =>
  Buffer.concat(
    strings.flatMap((string) => {
      const length = Buffer.alloc(4)
      length.writeUInt32BE(string.length)
      return [length, string]
    }),
  )

const damaged = () => invalid('key: its content ends too early')
