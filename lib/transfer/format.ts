import * as v from 'valibot'

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
