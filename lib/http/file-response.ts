import type { IncomingHttpHeaders } from 'node:http'
import type { Readable } from 'node:stream'
import type { StreamReply } from './route.ts'
import { matchesETag } from './send.ts'

/** A file to send. Invariant: two files with the same tag have the same content. */
interface FileContent {
  /** Bytes */
  readonly size: number
  /** Entity tag of the content, without quotes. */
  readonly tag: string
  /** Content type; `application/octet-stream` when absent. */
  readonly type?: string
  /** File name that browsers suggest when saving. */
  readonly name?: string
  /** @param range first and last byte, both inclusive; the whole file when absent */
  read(range?: { start: number; end: number }): Promise<Readable>
}

/**
 * Replies with a file: 200, 206 with the requested range, 416, or 304 when the client has the content already. The headers
 * keep browsers from rendering it as a page of this origin.
 */
export const fileReply = async (headers: IncomingHttpHeaders, file: FileContent): Promise<StreamReply> => {
  const { size } = file
  const tag = `"${file.tag}"`
  const headersOfFile = { ...COMMON_HEADERS, ETag: tag, ...contentHeaders(file) }
  if (matchesETag(headers['if-none-match'], tag)) return { status: 304, headers: headersOfFile, body: '' }
  const range = headers['if-range'] === undefined || headers['if-range'] === tag ? headers.range : undefined
  const requested = parseRange(range, size)
  if (requested === undefined)
    return {
      status: 200,
      headers: { ...headersOfFile, ...NO_SNIFF, 'Content-Length': String(size) },
      body: await file.read(),
    }
  if (requested === 'unsatisfiable')
    return { status: 416, headers: { ...headersOfFile, 'Content-Range': `bytes */${size}` }, body: '' }
  const { start, end } = requested
  const rangeHeaders = {
    'Content-Range': `bytes ${start}-${end}/${size}`,
    'Content-Length': String(end - start + 1),
    ...NO_SNIFF,
  }
  return { status: 206, headers: { ...headersOfFile, ...rangeHeaders }, body: await file.read(requested) }
}

const COMMON_HEADERS = {
  'Accept-Ranges': 'bytes',
  'Cache-Control': 'private, no-cache',
  'Content-Security-Policy': "default-src 'none'; sandbox",
}

const NO_SNIFF = { 'X-Content-Type-Options': 'nosniff' }

/** RFC 6266: an ASCII name for old clients, and the exact name. */
const contentHeaders = ({ type, name }: FileContent): Record<string, string> => ({
  'Content-Type': type ?? 'application/octet-stream',
  'Content-Disposition':
    name === undefined
      ? 'attachment'
      : `attachment; filename="${name.replace(/[^\w.-]/g, '_')}"; filename*=UTF-8''${encodeName(name)}`,
})

/** RFC 8187 §3.2.1 allows fewer characters than `encodeURIComponent` keeps. */
const encodeName = (name: string): string =>
  encodeURIComponent(name).replace(
    /['()*]/g,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  )

/** RFC 9110 §14.2: a header that is malformed, or names several ranges, is ignored. */
const parseRange = (
  range: string | undefined,
  size: number,
): { start: number; end: number } | 'unsatisfiable' | undefined => {
  const [, first, last] = /^bytes=(\d*)-(\d*)$/.exec(range?.trim() ?? '') ?? []
  if (first === undefined || last === undefined || first + last === '') return undefined
  const start = first === '' ? Math.max(0, size - Number(last)) : Number(first)
  const end = first === '' || last === '' ? size - 1 : Math.min(Number(last), size - 1)
  if (first !== '' && last !== '' && Number(last) < start) return undefined
  return start > end ? 'unsatisfiable' : { start, end }
}
