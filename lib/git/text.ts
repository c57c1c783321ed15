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
 * Latin-1, which can be read for most histories that are older than UTF-8.
 */
export const decodeText = (bytes: Buffer, { isCut = false, encoding }: TextOptions = {}): string => {
  const mark = utf16Of(bytes)
  if (mark !== undefined) return new TextDecoder(mark).decode(bytes)
  const text = decodeUtf8(bytes, isCut)
  if (text !== undefined) return text
  const decoder = decoderOf(encoding?.())
  // Without `stream`, Node 20 decodes windows-1252 as ISO 8859-1, which has no quotes and no euro sign.
  return decoder.decode(bytes, { stream: true }) + (isCut ? '' : decoder.decode())
}

/** The lines of a diff, whose files can have different encodings. */
export const decodeLines = (bytes: Buffer, isCut: boolean): string[] =>
  decodeUtf8(bytes, isCut)?.split('\n') ??
  bytes
    .toString('latin1')
    .split('\n')
    .map((line, index, { length }) =>
      decodeText(Buffer.from(line, 'latin1'), { isCut: isCut && index === length - 1 }),
    )

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
    return (isCut ? utf8() : UTF8).decode(bytes, { stream: isCut })
  } catch {
    return undefined
  }
}
const utf8 = () => new TextDecoder('utf-8', { fatal: true })
const UTF8 = utf8()

/** A decoder for bytes that are not UTF-8, in which headers stay ASCII: not one of UTF-16. */
const decoderOf = (label = LATIN1): TextDecoder => {
  try {
    const decoder = new TextDecoder(label)
    return decoder.encoding.startsWith('utf-') ? new TextDecoder(LATIN1) : decoder
  } catch {
    return new TextDecoder(LATIN1)
  }
}
const LATIN1 = 'windows-1252'
