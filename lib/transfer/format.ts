import { createHash } from 'node:crypto'
import * as v from 'valibot'
import { invalid } from '../errors.ts'

/**
 * An export is NDJSON. The first line says what it is, the last one how many lines lie between them and the SHA-256 of
 * every byte before it, so that a file that was cut short or changed is noticed. Between them, in this order:
 * where each sequence goes on; the records of each collection, without indexes; the git data of each repository, as
 * parts of a bundle in base64 (none for an empty one) and then what its HEAD is; the content of each file, as parts in
 * base64 (none for an empty one) and then that it is whole.
 */
export const FORMAT = 'allot-export'
export const VERSION = 1

const count = v.pipe(v.number(), v.safeInteger(), v.minValue(0))
const id = v.pipe(v.number(), v.safeInteger(), v.minValue(1))

export const FirstLine = v.object({
  format: v.literal(FORMAT),
  version: id,
  /** The layout of the store that it was written from. */
  schema: count,
  time: v.string(),
})
export type FirstLine = v.InferOutput<typeof FirstLine>

export const LastLine = v.strictObject({ end: v.literal(true), records: count, sha256: v.string() })
export type LastLine = v.InferOutput<typeof LastLine>

export const SequenceLine = v.strictObject({
  sequence: v.pipe(v.string(), v.regex(/^[A-Za-z]{1,40}$/, 'expected the name of a sequence')),
  next: id,
})
export const RecordLine = v.strictObject({ collection: v.string(), record: v.unknown() })
export const PartLine = v.strictObject({ repository: id, part: v.pipe(v.string(), v.base64()) })
export const HeadLine = v.strictObject({
  repository: id,
  head: v.pipe(
    v.string(),
    v.regex(/^(?:refs\/heads\/\S+|[0-9a-f]{40}|[0-9a-f]{64})$/, 'expected a branch or a commit'),
  ),
})

const file = v.strictTuple([
  v.picklist(['lfs', 'packages', 'attachments']),
  id,
  v.pipe(v.string(), v.regex(/^[0-9a-f][0-9a-f-]{3,99}$/, 'expected the name of a file')),
])
export const FilePartLine = v.strictObject({ file, part: v.pipe(v.string(), v.base64()) })
export const FileWholeLine = v.strictObject({ file, whole: v.literal(true) })

/** Bytes of a bundle or a file in one line. */
export const PART_BYTES = 48 * 1024

/** Bytes that no line needs: the largest record that the API takes is far below this. */
export const MAX_LINE_BYTES = 16 * 1024 * 1024

/** RFC 3339 in UTC with whole seconds. */
export const timeNow = (): string => `${new Date().toISOString().slice(0, 19)}Z`

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

/** A line between the first and the last, with its number in the file. */
export interface Line {
  number: number
  text: Buffer
}

export interface ExportReader {
  /** The lines that are known by this chunk not to be the last one. @throws AllotError invalid naming the line. */
  push(chunk: Uint8Array): Line[]
  /** To be called after the last chunk. @throws AllotError invalid when the file is not whole, or not as it was written. */
  end(): LastLine
}

/**
 * Reads an export as it comes; what was read is to be trusted when the end has been.
 * @param accept looks at the first line before anything else is read
 */
export const exportReader = (accept: (first: FirstLine) => void = () => undefined): ExportReader => {
  const splitter = lineSplitter()
  const hash = createHash('sha256')
  let number = 0
  let held: Line | undefined

  /** A line is known not to be the last one when another follows it. */
  const advance = (text: Buffer): Line | undefined => {
    number++
    if (number === 1) accept(checkedFirst(text))
    const before = held
    held = { number, text }
    if (before !== undefined) hash.update(before.text).update('\n')
    return before === undefined || before.number === 1 ? undefined : before
  }

  return {
    push: (chunk) =>
      split(splitter.push, chunk, number).flatMap((text) => {
        const line = advance(text)
        return line === undefined ? [] : [line]
      }),
    end() {
      if (held === undefined) throw notOurs()
      const last = v.safeParse(LastLine, jsonOf(held.text))
      if (splitter.isOpen() || number === 1 || !last.success)
        throw invalid(
          `the file is cut short: it has ${number} whole lines, and the last one of an export is missing`,
        )
      if (last.output.records !== number - 2 || last.output.sha256 !== hash.digest('hex'))
        throw invalid('the file was changed since it was written: its checksum is wrong')
      return last.output
    },
  }
}

const split = (push: (chunk: Uint8Array) => Buffer[], chunk: Uint8Array, lines: number): Buffer[] => {
  try {
    return push(chunk)
  } catch (cause) {
    throw invalid(`line ${lines + 1}: ${(cause as Error).message}`)
  }
}

const checkedFirst = (text: Buffer): FirstLine => {
  const first = v.safeParse(FirstLine, jsonOf(text))
  if (!first.success) throw notOurs()
  if (first.output.version > VERSION)
    throw invalid(
      `this file has version ${first.output.version} of the format, and this Allot reads up to ${VERSION}: use a newer one`,
    )
  return first.output
}

const notOurs = () =>
  invalid(`this is no export of Allot: its first line does not say {"format":"${FORMAT}",…}`)

/** Undefined for what is no JSON. */
const jsonOf = (text: Buffer): unknown => {
  try {
    return JSON.parse(text.toString('utf8'))
  } catch {
    return undefined
  }
}

/** Goes through a whole export without keeping any of it. @throws AllotError invalid when it is not whole. */
export const checkExport = async (source: AsyncIterable<Uint8Array>): Promise<LastLine> => {
  const reader = exportReader()
  for await (const chunk of source) reader.push(chunk)
  return reader.end()
}
