/**
 * Names and text in git, which are bytes. Invariants: {@link pathBytes} reverses {@link pathText} for all
 * bytes, so different names are shown differently, and each leads to its file; a name that is UTF-8 is shown
 * as it is, unless it looks like one that is not.
 */
import { isUtf8 } from 'node:buffer'

const escaped = (byte: number): string => `\ufffd${byte.toString(16).toUpperCase()}`

/** What a byte is written as where the name is not UTF-8: `caf\xe9` as `caf�E9`. Only such bytes are. */
const ESCAPE = /\ufffd([89A-F][\dA-F])/
const MARK_OF_ESCAPE = /\ufffd(?=[89A-F][\dA-F])/g
const ESCAPED_MARK = [...Buffer.from('\ufffd')].map(escaped).join('')

const nameText = (bytes: Buffer): string =>
  isUtf8(bytes)
    ? bytes.toString('utf8').replace(MARK_OF_ESCAPE, ESCAPED_MARK)
    : bytes.toString('latin1').replace(/[\x80-\xff]/g, (byte) => escaped(byte.charCodeAt(0)))

/** Names with slashes between them, each as text. */
export const pathText = (bytes: Buffer): string =>
  isUtf8(bytes)
    ? nameText(bytes)
    : bytes
        .toString('latin1')
        .split('/')
        .map((name) => nameText(Buffer.from(name, 'latin1')))
        .join('/')

/** The bytes that {@link pathText} has written. */
export const pathBytes = (text: string): Buffer =>
  Buffer.concat(text.split(ESCAPE).map((part, index) => Buffer.from(part, index % 2 === 0 ? 'utf8' : 'hex')))

/** The last character, if it may be incomplete. */
const LAST_CHARACTER = /[\xc2-\xf4][\x80-\xbf]{0,2}$/

/** The beginning of a text, of which the last character may be left out. */
export const beginningOf = (bytes: Buffer, length: number): Buffer =>
  Buffer.from(bytes.toString('latin1', 0, length).replace(LAST_CHARACTER, ''), 'latin1')

/**
 * Arguments of git of which those after `--` are paths. Arguments of a process are UTF-8, so other paths are
 * lines of the input, which all commands read that take paths.
 */
export const pathArguments = (args: readonly string[]): { args: readonly string[]; input: Buffer } => {
  const end = args.indexOf('--') + 1 || args.length
  const paths = args.slice(end).map(pathBytes)
  if (paths.every((path) => isUtf8(path)))
    return { args: [...args.slice(0, end), ...paths.map(String)], input: Buffer.alloc(0) }
  const lines = paths.flatMap((path) => [path, Buffer.from('\n')])
  return {
    args: [...args.slice(0, end - 1), '--stdin'],
    input: Buffer.concat([Buffer.from('--\n'), ...lines]),
  }
}

interface TextOptions {
  /** Whether the bytes are a beginning, of which an incomplete last character is left out. */
  readonly isCut?: boolean
  /** The name of an encoding that is not UTF-8, when it is known. */
  readonly encoding?: () => string | undefined
}

/**
 * A text by its byte order mark, else as UTF-8 when it is valid, else in the encoding that is named, else as
 * GB18030 (GBK) when {@link isChinese}, else as Latin-1, which can be read for most histories that are older
 * than UTF-8.
 */
export const decodeText = (bytes: Buffer, { isCut = false, encoding }: TextOptions = {}): string => {
  const mark = utf16Of(bytes)
  if (mark !== undefined) return new TextDecoder(mark).decode(bytes)
  const text = decodeUtf8(bytes, isCut)
  if (text !== undefined) return text
  const decoder = decoderOf(encoding?.()) ?? new TextDecoder(isChinese(bytes) ? GB18030 : 'windows-1252')
  // Without `stream`, Node 20 decodes windows-1252 as ISO 8859-1, which has no quotes and no euro sign.
  return decoder.decode(bytes, { stream: true }) + (isCut ? '' : decoder.decode())
}

/** The lines of a diff, whose files can have different encodings. */
export const decodeLines = (bytes: Buffer, isCut: boolean): string[] => {
  const text = decodeUtf8(bytes, isCut)
  if (text !== undefined) return text.split('\n')
  const lines = bytes
    .toString('latin1')
    .split('\n')
    .map((line) => Buffer.from(line, 'latin1'))
  const others = lines.filter((line) => !isUtf8(line)).map((line) => line.toString('latin1'))
  // One line is often too short to tell.
  const encoding = isChinese(Buffer.from(others.join('\n'), 'latin1')) ? GB18030 : undefined
  return lines.map((line, index) =>
    decodeText(line, { isCut: isCut && index === lines.length - 1, encoding: () => encoding }),
  )
}

/** UTF-16, when a text begins with its byte order mark. */
export const utf16Of = (bytes: Buffer): 'utf-16le' | 'utf-16be' | undefined => {
  const mark = bytes.toString('hex', 0, 2)
  if (mark === 'fffe') return 'utf-16le'
  return mark === 'feff' ? 'utf-16be' : undefined
}

/** @returns undefined when it is not valid */
const decodeUtf8 = (bytes: Buffer, isCut: boolean): string | undefined => {
  try {
    // A decoder that waits for the rest of a character is used once.
    return (isCut ? strict('utf-8') : UTF8).decode(bytes, { stream: isCut })
  } catch {
    return undefined
  }
}
const strict = (encoding: string) => new TextDecoder(encoding, { fatal: true })
const UTF8 = strict('utf-8')

/** @returns undefined unless there is such an encoding, in which headers stay ASCII: not one of UTF-16 */
const decoderOf = (label: string | undefined): TextDecoder | undefined => {
  try {
    const decoder = label === undefined ? undefined : new TextDecoder(label)
    return decoder?.encoding.startsWith('utf-') ? undefined : decoder
  } catch {
    return undefined
  }
}

const GB18030 = 'gb18030'

/** Bytes that tell the encoding of a text. */
const SAMPLE = 64 * 1024

/** Punctuation, and the 3,755 common characters, which are more than 99% of those of Chinese texts. */
const COMMON = /^[\xa1-\xa3\xb0-\xd7][\xa1-\xfe]/

/**
 * Whether a text that is not UTF-8 is Chinese in GB18030. EUC-JP has other characters in most texts, EUC-KR
 * none from `c9` on, and nearly all letters of KOI8 are from `c0` to `df`.
 */
const isChinese = (bytes: Buffer): boolean => {
  const sample = bytes.subarray(0, SAMPLE)
  try {
    strict(GB18030).decode(sample, { stream: true })
  } catch {
    return false
  }
  const pairs = sample.toString('latin1').match(/[\x80-\xff]./gs) ?? []
  const shareOf = (pattern: RegExp) => pairs.filter((pair) => pattern.test(pair)).length / pairs.length
  return shareOf(COMMON) > 0.8 && shareOf(/^[\xc9-\xd7]/) > 0.1 && shareOf(/[^\xc0-\xdf]/) > 0.3
}
