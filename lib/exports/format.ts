import { createHash } from 'node:crypto'
import * as v from 'valibot'
import { describeIssue, invalid } from '../errors.ts'
import { count, id, storedName } from '../records/fields.ts'
import { FileArea } from '../records/schema/index.ts'

/**
 * An export is NDJSON. The first line identifies the format. The last line has the number of lines between
 * them and the SHA-256 of all bytes before it, so that a truncated or changed file is detected. The lines
 * between, in this order: the next number of each sequence; the records of each collection, without indexes;
 * the git data of each repository, as the parts of a bundle in base64 (none for an empty repository), then
 * its HEAD; the content of each file, as parts in base64 (none for an empty file), then a line that completes
 * it.
 */
export const FORMAT = 'allot-export'
/**
 * Raised when files can have lines that an older Allot cannot read. Files of every version up to this one can
 * be read.
 */
export const FORMAT_VERSION = 1

export const FirstLine = v.object({
  format: v.literal(FORMAT),
  version: id,
  /** Number of the layout of the exported store: only stores of the same layout can import the file. */
  layout: count,
  time: v.string(),
})
export type FirstLine = v.InferOutput<typeof FirstLine>

export const LastLine = v.strictObject({
  /** Marks the line. */
  end: v.literal(true),
  /** Number of lines between the first and this one. */
  lines: count,
  /**
   * Number of repositories and files without their data: it was not on the disk, since another server had
   * deleted it meanwhile, or the disk is damaged.
   */
  missing: count,
  /** SHA-256 of all bytes before this line, in hex. */
  sha256: v.string(),
})
/** Last line of an export. */
export type LastLine = v.InferOutput<typeof LastLine>

const SequenceLine = v.strictObject({
  sequence: v.pipe(v.string(), v.regex(/^[A-Za-z]{1,40}$/, 'expected the name of a sequence')),
  next: id,
})
export type SequenceLine = v.InferOutput<typeof SequenceLine>

const RecordLine = v.strictObject({ collection: v.string(), record: v.unknown() })
export type RecordLine = v.InferOutput<typeof RecordLine>

const part = v.pipe(
  v.string(),
  v.base64(),
  v.transform((text) => Buffer.from(text, 'base64')),
)
const head = v.pipe(
  v.string(),
  v.regex(/^(?:refs\/heads\/\S+|[0-9a-f]{40}|[0-9a-f]{64})$/, 'expected a branch or a commit'),
)
const file = v.pipe(
  v.strictTuple([FileArea, id, storedName]),
  v.transform(([area, ownerId, name]) => ({ area, ownerId, name })),
)
const RepositoryPart = v.strictObject({ repository: id, part })
const RepositoryEnd = v.strictObject({ repository: id, head })
const FilePart = v.strictObject({ file, part })
const FileEnd = v.strictObject({ file, whole: v.literal(true) })

/** A part of the git data of a repository or of a file, or the line that completes it. */
export type ContentLine = v.InferOutput<
  typeof RepositoryPart | typeof RepositoryEnd | typeof FilePart | typeof FileEnd
>

const schemaOf = (line: object) => {
  if ('collection' in line) return RecordLine
  if ('sequence' in line) return SequenceLine
  if ('file' in line) return 'whole' in line ? FileEnd : FilePart
  return 'head' in line ? RepositoryEnd : RepositoryPart
}

/**
 * Parses a line between the first and the last.
 * @throws AllotError invalid
 */
export const parseLine = (text: Buffer): RecordLine | SequenceLine | ContentLine => {
  const value = parseExactJson(text)
  if (typeof value !== 'object' || value === null) throw invalid('expected a JSON object')
  const result = v.safeParse(schemaOf(value), value, { abortEarly: true })
  if (!result.success) throw invalid(describeIssue(result.issues[0]))
  return result.output
}

const parseExactJson = (text: Buffer): unknown => {
  try {
    return JSON.parse(text.toString('utf8'))
  } catch (cause) {
    throw invalid(`is not valid JSON: ${(cause as Error).message}`)
  }
}

/** The largest record that the API accepts is far smaller. */
const MAX_LINE_BYTES = 16 * 1024 * 1024

/** RFC 3339 in UTC, with whole seconds. */
export const currentTime = (): string => `${new Date().toISOString().slice(0, 19)}Z`

/** Resolves when the next bytes may be written. */
export type Write = (bytes: Uint8Array) => Promise<void>

/** Called while an export, an import or a check goes on, with what is done so far. */
export type OnProgress = (progress: {
  /** Number of lines so far. */
  lines: number
  /** Bytes that were written or read so far. */
  bytes: number
}) => void

/** A line between the first and the last, with its number in the file. */
export interface Line {
  number: number
  text: Buffer
}

interface Reading {
  /** Called with the first line before anything else is read. */
  readonly checkFirst?: (first: FirstLine) => void
  readonly onProgress?: OnProgress | undefined
}

/**
 * Reads a whole export, whose content is verified only at the end.
 * @param add called with the lines of each chunk, but for the first and the last one of the file
 * @throws AllotError invalid, with the number of the line
 */
export const readExport = async (
  source: AsyncIterable<Uint8Array>,
  add: (lines: readonly Line[]) => Promise<void>,
  { checkFirst, onProgress }: Reading = {},
): Promise<LastLine> => {
  const hash = createHash('sha256')
  const progress = { lines: 0, bytes: 0 }
  /** The last whole line, which may be the last one of the export. */
  let pending: Line | undefined
  let isCut = false
  for await (const chunk of linesOf(source)) {
    const known: Line[] = []
    for (const line of chunk.lines) {
      if (pending === undefined) checkFirst?.(parseFirst(line.text))
      else {
        if (pending.text.subarray(0, LAST_LINE_START.length).equals(LAST_LINE_START))
          throw textAfterEnd(pending.number)
        hash.update(pending.text).update('\n')
        if (pending.number > 1) known.push(pending)
      }
      pending = line
    }
    await add(known)
    isCut = chunk.isCut
    progress.lines += known.length
    progress.bytes += chunk.bytes
    onProgress?.(progress)
  }
  return checkLast(pending, isCut, hash.digest('hex'))
}

/** The whole lines of each chunk, and whether it ends within a line. */
async function* linesOf(source: AsyncIterable<Uint8Array>) {
  let rest: Uint8Array[] = []
  let [length, count] = [0, 0]
  for await (const chunk of source) {
    const lines: Line[] = []
    let start = 0
    for (let end = chunk.indexOf(10); end !== -1; end = chunk.indexOf(10, start)) {
      lines.push({ number: ++count, text: Buffer.concat([...rest, chunk.subarray(start, end)]) })
      rest = []
      length = 0
      start = end + 1
    }
    length += chunk.length - start
    if (length > MAX_LINE_BYTES) throw invalid(`line ${count + 1}: is longer than ${MAX_LINE_BYTES} bytes`)
    if (start < chunk.length) rest.push(Buffer.from(chunk.subarray(start)))
    yield { lines, bytes: chunk.length, isCut: length > 0 }
  }
}

/** @throws AllotError invalid when the file is incomplete, or its checksum is wrong */
const checkLast = (pending: Line | undefined, isCut: boolean, sha256: string): LastLine => {
  if (pending === undefined) throw notAnExport()
  const { number, text } = pending
  const last = v.safeParse(LastLine, parseJson(text))
  if (!last.success)
    throw invalid(
      `the file is cut short: it has ${number} whole lines, and the last one of an export is missing`,
    )
  if (isCut) throw textAfterEnd(number)
  if (last.output.lines !== number - 2 || last.output.sha256 !== sha256)
    throw invalid('the file was changed since it was written: its checksum is wrong')
  return last.output
}

const parseFirst = (text: Buffer): FirstLine => {
  const first = v.safeParse(FirstLine, parseJson(text))
  if (!first.success) throw notAnExport()
  if (first.output.version > FORMAT_VERSION)
    throw invalid(
      `the file has version ${first.output.version} of the format, and this Allot reads up to ${FORMAT_VERSION}: use a newer Allot`,
    )
  return first.output
}

/** Only the last line of an export begins so. */
const LAST_LINE_START = Buffer.from('{"end":')

/** @param last number of the last line of the export */
const textAfterEnd = (last: number) =>
  invalid(`line ${last + 1}: there is text after the last line of the export: remove it`)

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

/**
 * Verifies a whole export without keeping its content.
 * @throws AllotError invalid
 */
export const checkExport = (source: AsyncIterable<Uint8Array>): Promise<LastLine> =>
  readExport(source, async () => undefined)
