import type { IncomingHttpHeaders } from 'node:http'
import type { Readable } from 'node:stream'
import type { StreamReply } from './route.ts'

/** A file as it is sent: its content never changes while it has this tag. */
export interface FileContent {
  /** Bytes */
  readonly size: number
  /** Of its content, without quotes. */
  readonly tag: string
  readonly type?: string
  /** What it is to be called by whoever saves it. */
  readonly name?: string
  /** From the first byte to the last one, both included; all of them when absent. */
  read(range?: { start: number; end: number }): Promise<Readable>
}

/**
 * Answers with a file: whole, the one range that is asked for, or 304 for whoever has it. It is never shown by a browser as
 * a page of this service.
 */
export const fileReply = async (headers: IncomingHttpHeaders, file: FileContent): Promise<StreamReply> => {
  const { size } = file
  const tag = `"${file.tag}"`
  const about = { ...ABOUT, ETag: tag, ...describing(file) }
  if (isHeld(headers['if-none-match'], tag)) return { status: 304, headers: about, body: '' }
  const range = headers['if-range'] === undefined || headers['if-range'] === tag ? headers.range : undefined
  const asked = rangeIn(range, size)
  if (asked === undefined)
    return {
      status: 200,
      headers: { ...about, ...SNIFFED, 'Content-Length': String(size) },
      body: await file.read(),
    }
  if (asked === 'none')
    return { status: 416, headers: { ...about, 'Content-Range': `bytes */${size}` }, body: '' }
  const { start, end } = asked
  const part = {
    'Content-Range': `bytes ${start}-${end}/${size}`,
    'Content-Length': String(end - start + 1),
    ...SNIFFED,
  }
  return { status: 206, headers: { ...about, ...part }, body: await file.read(asked) }
}

const ABOUT = {
  'Accept-Ranges': 'bytes',
  'Cache-Control': 'private, no-cache',
  'Content-Security-Policy': "default-src 'none'; sandbox",
}

const SNIFFED = { 'X-Content-Type-Options': 'nosniff' }

/** RFC 6266: a name that every client can read, and the one that it has. */
const describing = ({ type, name }: FileContent): Record<string, string> => ({
  'Content-Type': type ?? 'application/octet-stream',
  'Content-Disposition':
    name === undefined
      ? 'attachment'
      : `attachment; filename="${name.replace(/[^\w.-]/g, '_')}"; filename*=UTF-8''${encoded(name)}`,
})

const encoded = (name: string): string =>
  encodeURIComponent(name).replace(/['()*]/g, (one) => `%${one.charCodeAt(0).toString(16).toUpperCase()}`)

const isHeld = (held: string | undefined, tag: string): boolean =>
  held?.split(',').some((one) => one.trim().replace(/^W\//, '') === tag || one.trim() === '*') === true

/** RFC 9110, 14.2: what is no range of bytes, or several, is as if it had not been asked for. */
const rangeIn = (
  range: string | undefined,
  size: number,
): { start: number; end: number } | 'none' | undefined => {
  const [, first, last] = /^bytes=(\d*)-(\d*)$/.exec(range?.trim() ?? '') ?? []
  if (first === undefined || last === undefined || first + last === '') return undefined
  const start = first === '' ? Math.max(0, size - Number(last)) : Number(first)
  const end = first === '' || last === '' ? size - 1 : Math.min(Number(last), size - 1)
  if (first !== '' && last !== '' && Number(last) < start) return undefined
  return start > end ? 'none' : { start, end }
}
