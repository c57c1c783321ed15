import { createHash } from 'node:crypto'
import * as v from 'valibot'
import { invalid } from '../errors.ts'
import { FileArea } from '../records/schema/index.ts'

/**
 * An export is NDJSON. The first line identifies the format. The last line has the number of lines between them and the
 * SHA-256 of all bytes before it, so that a truncated or changed file is detected. The lines between, in this order: the next
 * number of each sequence; the records of each collection, without indexes; the git data of each repository, as the parts
 * of a bundle in base64 (none for an empty repository), then its HEAD; the content of each file, as parts in base64 (none
 * for an empty file), then a line that completes it.
 */
export const FORMAT = 'allot-export'
export const VERSION = 1

const count = v.pipe(v.number(), v.safeInteger(), v.minValue(0))
const id = v.pipe(v.number(), v.safeInteger(), v.minValue(1))

export const FirstLine = v.object({
  format: v.literal(FORMAT),
  version: id,
  /** Layout version of the exported store. */
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

const part = v.pipe(v.string(), v.base64())
export const PartLine = v.strictObject({ repository: id, part })
export const HeadLine = v.strictObject({
  repository: id,
  head: v.pipe(
    v.string(),
    v.regex(/^(?:refs\/heads\/\S+|[0-9a-f]{40}|[0-9a-f]{64})$/, 'expected a branch or a commit'),
  ),
})

const file = v.strictTuple([
  FileArea,
  id,
  v.pipe(v.string(), v.regex(/^[0-9a-f][0-9a-f-]{3,99}$/, 'expected the name of a file')),
])
export const FilePartLine = v.strictObject({ file, part })
export const FileWholeLine = v.strictObject({ file, whole: v.literal(true) })

/** Bytes of a bundle or a file in one line. */
export const PART_BYTES = 48 * 1024

/** The largest record that the API accepts is far smaller. */
const MAX_LINE_BYTES = 16 * 1024 * 1024

/** RFC 3339 in UTC, with whole seconds. */
export const currentTime = (): string => `${new Date().toISOString().slice(0, 19)}Z`

/** Resolves when the next bytes may be written. */
export type Write = (bytes: Uint8Array) => Promise<void>

export type OnProgress = (progress: { records: number; bytes: number }) => void

/** Bytes that are collected for one write. */
const WRITE_BYTES = 64 * 1024

export interface LineWriter {
  line(...pieces: (Uint8Array | string)[]): Promise<void>
  end(): Promise<LastLine>
}

/** Writes lines, and at the end their number and checksum. */
export const createLineWriter = (write: Write, onProgress: OnProgress = () => undefined): LineWriter => {
  const hash = createHash('sha256')
  let pieces: Uint8Array[] = []
  let [size, lines, bytes] = [0, 0, 0]

  const flush = async () => {
    const chunk = Buffer.concat(pieces)
    pieces = []
    size = 0
    bytes += chunk.length
    hash.update(chunk)
    await write(chunk)
    onProgress({ records: Math.max(0, lines - 1), bytes })
  }

  return {
    async line(...texts) {
      for (const text of [...texts, '\n']) {
        const piece = typeof text === 'string' ? Buffer.from(text) : text
        pieces.push(piece)
        size += piece.length
      }
      lines++
      if (size >= WRITE_BYTES) await flush()
    },
    async end() {
      await flush()
      const last: LastLine = { end: true, records: lines - 1, sha256: hash.digest('hex') }
      await write(Buffer.from(`${JSON.stringify(last)}\n`))
      return last
    },
  }
}

/** A line between the first and the last, with its number in the file. */
export interface Line {
  number: number
  text: Buffer
}

interface ExportReader {
  /** @returns the lines that are known not to be the last one. @throws AllotError invalid, with the number of the line */
  push(chunk: Uint8Array): Line[]
  /** @throws AllotError invalid when the file is incomplete, or its checksum is wrong */
  end(): LastLine
}

/**
 * Reads an export as a stream. Its content is verified only after `end`.
 * @param checkFirst called with the first line before anything else is read
 */
export const createExportReader = (
  checkFirst: (first: FirstLine) => void = () => undefined,
): ExportReader => {
  const splitter = createSplitter()
  const hash = createHash('sha256')
  let number = 0
  let pending: Line | undefined

  /** @returns the line before, which is now known not to be the last one; nothing for the first line of the file */
  const advance = (text: Buffer): Line[] => {
    number++
    if (number === 1) checkFirst(parseFirst(text))
    const previous = pending
    pending = { number, text }
    if (previous === undefined) return []
    hash.update(previous.text).update('\n')
    return previous.number === 1 ? [] : [previous]
  }

  return {
    push: (chunk) => splitter.push(chunk, number).flatMap(advance),
    end() {
      if (pending === undefined) throw notAnExport()
      const last = v.safeParse(LastLine, parseJson(pending.text))
      if (splitter.hasRest() || number === 1 || !last.success)
        throw invalid(
          `the file is cut short: it has ${number} whole lines, and the last one of an export is missing`,
        )
      if (last.output.records !== number - 2 || last.output.sha256 !== hash.digest('hex'))
        throw invalid('the file was changed since it was written: its checksum is wrong')
      return last.output
    },
  }
}

/** Splits a stream of bytes into lines. */
const createSplitter = () => {
  let rest: Buffer[] = []
  let length = 0
  return {
    /** @returns the lines that a chunk completes. @param linesBefore for the number in the error message */
    push(chunk: Uint8Array, linesBefore: number): Buffer[] {
      const lines: Buffer[] = []
      let start = 0
      for (let end = chunk.indexOf(10); end !== -1; end = chunk.indexOf(10, start)) {
        lines.push(Buffer.concat([...rest, chunk.subarray(start, end)]))
        rest = []
        length = 0
        start = end + 1
      }
      length += chunk.length - start
      if (length > MAX_LINE_BYTES)
        throw invalid(`line ${linesBefore + lines.length + 1}: is longer than ${MAX_LINE_BYTES} bytes`)
      if (start < chunk.length) rest.push(Buffer.from(chunk.subarray(start)))
      return lines
    },
    /** Whether there are bytes after the last line end. */
    hasRest: () => length > 0,
  }
}

const parseFirst = (text: Buffer): FirstLine => {
  const first = v.safeParse(FirstLine, parseJson(text))
  if (!first.success) throw notAnExport()
  if (first.output.version > VERSION)
    throw invalid(
      `the file has version ${first.output.version} of the format, and this Allot reads up to ${VERSION}: use a newer Allot`,
    )
  return first.output
}

const notAnExport = () =>
  invalid(`the file is not an export of Allot: its first line must be {"format":"${FORMAT}",…}`)

/** Undefined for malformed JSON. */
const parseJson = (text: Buffer): unknown => {
  try {
    return JSON.parse(text.toString('utf8'))
  } catch {
    return undefined
  }
}

/** Verifies a whole export without keeping its content. @throws AllotError invalid */
export const checkExport = async (source: AsyncIterable<Uint8Array>): Promise<LastLine> => {
  const reader = createExportReader()
  for await (const chunk of source) reader.push(chunk)
  return reader.end()
}
